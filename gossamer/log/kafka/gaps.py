"""Gaps: records that Kafka no longer has, and that a group has not read.

Nothing of ours makes one: records are deleted once every group has committed an offset behind them.
An operator can (a limit by time or size, DeleteRecords, another offset for the group), and so can a
broker that has lost a disk. librdkafka and aiokafka go on behind a gap without a word, so whoever
reads asks here when partitions are assigned, when offsets jump, and now and then while none come.
"""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from gossamer.errors import GossamerError
from gossamer.log.kafka.client import EARLIEST, LATEST, SHARE, Trouble, offsets_at, retry
from gossamer.settings.servers import KafkaSettings

CHECK_EVERY = 60.0
"""Seconds between two checks of a reader to which no record shows that there is a gap."""


class Gap(GossamerError):
    """Records that a group has not read are not on Kafka any more."""


class GapCheck:
    """Looks for gaps ahead of *group*, a full name, by asking *asking*: any consumer of the group.

    librdkafka ends the process if a member asks inside of its own rebalance callback.
    """

    def __init__(self, settings: KafkaSettings, group: str, asking: Any, trouble: Trouble) -> None:
        self._settings, self._group = settings, group
        self._asking, self._trouble = asking, trouble

    def standing(self, partitions: list[TopicPartition]) -> dict[tuple[str, int], int]:
        """Return the offsets that the group goes on from, by topic and partition.

        Where it has committed none, that is the oldest record that is kept. Raise Gap if the
        records from a committed one on are missing.
        """
        known = self._committed(partitions)
        self.check(known)
        fresh = [one for one in partitions if (one.topic, one.partition) not in known]
        return known | self._starts(fresh)

    def check(self, positions: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """Return where their partitions end; raise Gap unless Kafka has all from *positions* on.

        A member that was stopped for a while may have lost a partition without knowing: what its
        successor has committed since may be deleted, and is no gap.
        """
        if not positions:
            return {}
        partitions = [TopicPartition(*at) for at in positions]

        def ask(timeout: float) -> tuple[list[TopicPartition], list[TopicPartition]]:
            starts = offsets_at(self._asking, EARLIEST, partitions, timeout)
            return starts, offsets_at(self._asking, LATEST, partitions, timeout)

        starts, ends = self._asked(ask)
        for position, start, end in zip(positions.values(), starts, ends, strict=True):
            at = start.topic, start.partition
            if position > end.offset:
                how = "are lost with the end of the partition"
                raise self._gap(at, end.offset, position, how)
            # Asked now, since nothing is deleted before it is committed.
            if position < start.offset and self._now_committed(at) < start.offset:
                raise self._gap(at, position, start.offset, "were deleted")
        return {(end.topic, end.partition): end.offset for end in ends}

    def _now_committed(self, at: tuple[str, int]) -> int:
        return self._committed([TopicPartition(*at)]).get(at, 0)

    def _committed(self, partitions: list[TopicPartition]) -> dict[tuple[str, int], int]:
        def ask(timeout: float) -> list[TopicPartition]:
            found: list[TopicPartition] = self._asking.committed(partitions, timeout)
            return found

        found = self._asked(ask) if partitions else []
        return {(one.topic, one.partition): one.offset for one in found if one.offset >= 0}

    def _starts(self, partitions: list[TopicPartition]) -> dict[tuple[str, int], int]:
        def ask(timeout: float) -> list[TopicPartition]:
            return offsets_at(self._asking, EARLIEST, partitions, timeout)

        found = self._asked(ask) if partitions else []
        return {(one.topic, one.partition): one.offset for one in found}

    def _asked(self, ask: Any) -> Any:
        timeout = self._settings.timeout / SHARE

        def attempt() -> Any:
            try:
                return ask(timeout)
            except KafkaException:
                # It would ask for a quarter of an hour whoever led when it last looked.
                self._asking.list_topics(timeout=timeout)
                raise

        return retry(attempt, self._trouble, self._settings.timeout)

    def _gap(self, at: tuple[str, int], first: int, end: int, how: str) -> Gap:
        topic, partition = at
        return Gap(
            f"Kafka at {self._settings.servers} lacks records that {self._group} has not read: "
            f"{topic}, partition {partition}, offsets {first} to {end - 1} {how}. To go on "
            "without them, stop all services, and run gossamer restore --align"
        )
