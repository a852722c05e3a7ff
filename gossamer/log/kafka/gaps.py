"""Detects gaps: records that Kafka has lost and that a group has not consumed.

Gossamer itself never causes a gap: records are deleted only after every group has committed an
offset behind them. An operator can cause one (by a limit on time or size, DeleteRecords, or an
altered offset of the group), and so can a broker that has lost a disk. librdkafka and aiokafka
silently skip a gap. Readers therefore check when partitions are assigned, when offsets jump, and
periodically while no records arrive.
"""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, TopicPartition

from gossamer.errors import GossamerError
from gossamer.log.kafka.client import (
    ATTEMPTS_PER_TIMEOUT,
    EARLIEST,
    LATEST,
    ConnectionErrors,
    fetch_offsets,
    retry,
)
from gossamer.settings.servers import KafkaSettings

CHECK_INTERVAL = 60.0
"""Seconds between two checks of a reader that gets no records."""


class Gap(GossamerError):
    """Kafka has lost records that a group has not consumed."""


class GapCheck:
    """Detects gaps ahead of *group*, a full name. *asking* is any consumer of the group.

    librdkafka ends the process if a member sends these requests inside its own rebalance callback.
    """

    def __init__(
        self, settings: KafkaSettings, group: str, asking: Any, trouble: ConnectionErrors
    ) -> None:
        self._settings, self._group = settings, group
        self._consumer, self._trouble = asking, trouble

    def start_offsets(self, partitions: list[TopicPartition]) -> dict[tuple[str, int], int]:
        """Return the offsets at which the group continues, by topic and partition.

        In a partition without a committed offset, it starts with the oldest retained record. Raise
        Gap if records from the committed offset on are missing.
        """
        committed = self._committed(partitions)
        self.check(committed)
        fresh = [one for one in partitions if (one.topic, one.partition) not in committed]
        return committed | self._starts(fresh)

    def check(self, positions: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """Return the end offsets of the partitions. Raise Gap unless Kafka has all records from
        *positions*.

        A member that was suspended may have lost a partition without noticing. Records that its
        successor has committed since may be deleted, and are not a gap.
        """
        if not positions:
            return {}
        partitions = [TopicPartition(*at) for at in positions]

        def ask(timeout: float) -> tuple[list[TopicPartition], list[TopicPartition]]:
            starts = fetch_offsets(self._consumer, EARLIEST, partitions, timeout)
            return starts, fetch_offsets(self._consumer, LATEST, partitions, timeout)

        starts, ends = self._query(ask)
        for position, start, end in zip(positions.values(), starts, ends, strict=True):
            at = start.topic, start.partition
            if position > end.offset:
                raise self._gap(at, end.offset, position, "were lost at the end of the partition")
            # The committed offset is read after the start, since deletion follows the commit.
            if position < start.offset and self._now_committed(at) < start.offset:
                raise self._gap(at, position, start.offset, "were deleted")
        return {(end.topic, end.partition): end.offset for end in ends}

    def _now_committed(self, at: tuple[str, int]) -> int:
        return self._committed([TopicPartition(*at)]).get(at, 0)

    def _committed(self, partitions: list[TopicPartition]) -> dict[tuple[str, int], int]:
        def ask(timeout: float) -> list[TopicPartition]:
            found: list[TopicPartition] = self._consumer.committed(partitions, timeout)
            return found

        found = self._query(ask) if partitions else []
        return {(one.topic, one.partition): one.offset for one in found if one.offset >= 0}

    def _starts(self, partitions: list[TopicPartition]) -> dict[tuple[str, int], int]:
        def ask(timeout: float) -> list[TopicPartition]:
            return fetch_offsets(self._consumer, EARLIEST, partitions, timeout)

        found = self._query(ask) if partitions else []
        return {(one.topic, one.partition): one.offset for one in found}

    def _query(self, ask: Any) -> Any:
        timeout = self._settings.timeout / ATTEMPTS_PER_TIMEOUT

        def attempt() -> Any:
            try:
                return ask(timeout)
            except KafkaException:
                # Without new metadata, the client uses the old leaders for a quarter of an hour.
                self._consumer.list_topics(timeout=timeout)
                raise

        return retry(attempt, self._trouble, self._settings.timeout)

    def _gap(self, at: tuple[str, int], first: int, end: int, how: str) -> Gap:
        topic, partition = at
        return Gap(
            f"Kafka at {self._settings.servers} lacks records that {self._group} has not consumed: "
            f"{topic}, partition {partition}, offsets {first} to {end - 1} {how}. To continue "
            "without them, stop all services and run gossamer restore --align"
        )
