"""Deletes consumed records from Kafka, and detects records that were lost unconsumed.

Kafka itself deletes records by time or size, whether consumed or not. Topics whose records are
retained until consumed therefore have no such limit. Each member of a group deletes records of its
own partitions, up to the smallest offset that any of the consuming groups has committed
(`Trimmer`). It deletes nothing until each of these groups has committed an offset.

Records that a frontier has consumed are retained for `kafka.replay_window`, so that it can consume
them again after its store was restored from a backup.

A *gap* is a range of records that are missing although a group has not consumed them. The deletions
of a `Trimmer` never cause a gap. An operator can cause one (by a limit on time or size,
DeleteRecords, or an altered offset of the group), and so can a broker that has lost a disk.
librdkafka and aiokafka silently skip a gap. Readers therefore check (`GapCheck`) when partitions
are assigned, when offsets jump, and periodically while no records arrive.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.events.topics import TOPICS, Retention
from gossamer.log import At, Record
from gossamer.log.kafka.client import (
    PERMANENT_ERRORS,
    ConnectionErrors,
    OffsetQueries,
    client_config,
    consumer_config,
    error_of,
    groups_of,
)
from gossamer.settings.servers import KafkaSettings

if TYPE_CHECKING:
    from gossamer.volumes import Volume

TRIM_INTERVAL = 60.0
"""Seconds between two deletions."""
REQUEST_TIMEOUT = 5.0
"""Maximum seconds of a request, since it delays the caller's loop."""
logger = structlog.get_logger()
CHECK_INTERVAL = 60.0
"""Seconds between two checks of a reader that gets no records."""


class Trimmer:
    """Deletes records that all consumers of a partition have moved past, and their *blobs*."""

    def __init__(self, settings: KafkaSettings, blobs: "Volume | None" = None) -> None:
        self._blobs = blobs
        self._noted: dict[At, dict[int, str]] = defaultdict(dict)
        """Partition → offset → the blob of a record that was read and may not be deleted yet."""
        # Requests to a store of objects must not delay the caller's loop.
        self._removing: ThreadPoolExecutor | None = None
        self._settings, self._errors = settings, ConnectionErrors(settings.servers)
        self._due = clock.steady() + TRIM_INTERVAL
        self._admin: Any = None
        self._consumers: dict[str, Any] = {}
        """Group → a consumer that queries the group's offsets without being a member. An admin
        client would end the process if the group's coordinator is unavailable for long
        (librdkafka, issue 4605)."""
        self._deleted: dict[At, int] = {}
        self._warned = False

    def note(self, record: Record) -> None:
        """Note the blob of *record*, which is deleted together with the record."""
        if self._blobs and (blob := record.blob):
            self._noted[record.topic, record.partition][record.offset] = blob

    def trim(self, partitions: Iterable[At]) -> None:
        """Delete consumed records of *partitions*, topics and numbers, if that is due.

        A failure is retried in a minute, and the first refusal is logged as a warning.
        """
        if clock.steady() < self._due:
            return
        self._due = clock.steady() + TRIM_INTERVAL
        kept = [at for at in partitions if TOPICS[at[0]].retention is Retention.UNTIL_CONSUMED]
        try:
            self._delete(kept)
            self._warned = False
        except KafkaException as failure:
            self._log_failure(failure)

    def _delete(self, partitions: list[At]) -> None:
        by_group: dict[str, list[At]] = defaultdict(list)
        for at in partitions:
            for group in groups_of(self._settings, at[0]):
                by_group[group].append(at)
        ends: dict[At, int] = {}
        for group, asked in by_group.items():
            # A missing offset is negative, and so the smallest.
            for at, offset in zip(asked, self._query_committed(group, asked), strict=True):
                ends[at] = min(offset, ends.get(at, offset))
        self._remove_blobs(ends)
        fresh = {at: end for at, end in ends.items() if end > self._deleted.get(at, 0)}
        for at, offset in self._replay_starts([at for at in fresh if TOPICS[at[0]].replayed]):
            if (end := min(offset, fresh[at])) > self._deleted.get(at, 0):
                fresh[at] = end
            else:
                del fresh[at]
        if not fresh:
            return
        prefix = self._settings.prefix
        self._admin = self._admin or AdminClient(client_config(self._settings, self._errors))
        done = self._admin.delete_records(
            [TopicPartition(prefix + topic, number, end) for (topic, number), end in fresh.items()],
            request_timeout=REQUEST_TIMEOUT,
        )
        for at, deletion in done.items():
            deletion.result()
            self._deleted[at.topic.removeprefix(prefix), at.partition] = at.offset

    def _remove_blobs(self, ends: Mapping[At, int]) -> None:
        """Remove the noted blobs of records before *ends*, which all groups have consumed.

        The blobs of records that a former process read are left, and are removed as leftovers
        (`gossamer.log.blobs`).
        """
        for at in [at for at in self._noted if at not in ends]:
            del self._noted[at]
        removed: list[str] = []
        for at, noted in self._noted.items():
            removed += [noted.pop(offset) for offset in sorted(noted) if offset < ends[at]]
        if removed and self._blobs:
            self._removing = self._removing or ThreadPoolExecutor(1, "blobs")
            self._removing.submit(self._blobs.remove_all, removed)

    def close(self) -> None:
        """Wait until the blobs are removed."""
        if self._removing:
            self._removing.shutdown()
            self._removing = None

    def _replay_starts(self, partitions: list[At]) -> Iterator[tuple[At, int]]:
        """Yield the first offset of the replay window in each of *partitions* that has one."""
        window = self._settings.replay_window
        if not (partitions and window):
            return
        prefix, since = self._settings.prefix, int((clock.now() - window) * 1000)
        asked = [TopicPartition(prefix + topic, number, since) for topic, number in partitions]
        (asking, *_) = self._consumers.values()
        found = asking.offsets_for_times(asked, REQUEST_TIMEOUT)
        for at, one in zip(partitions, found, strict=True):
            if one.error:
                raise KafkaException(one.error)
            # The offset is negative if all records are older.
            if one.offset >= 0:
                yield at, one.offset

    def _query_committed(self, group: str, partitions: list[At]) -> list[int]:
        if group not in self._consumers:
            common = client_config(self._settings, self._errors)
            self._consumers[group] = Consumer({**common, **consumer_config(group)})
        prefix = self._settings.prefix
        asked = [TopicPartition(prefix + topic, number) for topic, number in partitions]
        return [one.offset for one in self._consumers[group].committed(asked, REQUEST_TIMEOUT)]

    def _log_failure(self, failure: KafkaException) -> None:
        error = error_of(failure)
        if error.code() not in PERMANENT_ERRORS:
            logger.info("consumed records not deleted yet", reason=error.str())
        elif not self._warned:
            self._warned = True
            logger.warning(
                "consumed records cannot be deleted, and will fill Kafka's disks: the user lacks "
                "the permission to delete records, or to read the offsets of consumer groups",
                reason=error.str(),
            )


class Gap(GossamerError):
    """Kafka has lost records that a group has not consumed."""


class GapCheck:
    """Detects gaps ahead of *group*, a full name. *asking* is any consumer of the group."""

    def __init__(
        self, settings: KafkaSettings, group: str, asking: Any, errors: ConnectionErrors
    ) -> None:
        self._servers, self._group = settings.servers, group
        self._queries = OffsetQueries(asking, settings, errors)

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[At, int]:
        """Return the offsets at which the group continues, by topic and partition.

        In a partition without a committed offset, it starts with the oldest retained record. Raise
        Gap if records from the committed offset on are missing.
        """
        places = [(one.topic, one.partition) for one in partitions]
        committed = self._queries.committed(places)
        self.check(committed)
        return committed | self._queries.starts([at for at in places if at not in committed])

    def check(self, positions: Mapping[At, int]) -> dict[At, int]:
        """Return the end offsets of the partitions. Raise Gap unless Kafka has all records from
        *positions*.

        A member that was suspended may have lost a partition without noticing. Records that its
        successor has committed since may be deleted, and are not a gap.
        """
        starts, ends = self._queries.starts(positions), self._queries.ends(positions)
        for at, position in positions.items():
            if position > ends[at]:
                raise self._gap(at, ends[at], position, "were lost at the end of the partition")
            # The committed offset is read after the start, since deletion follows the commit.
            if position < starts[at] and self._queries.committed([at]).get(at, 0) < starts[at]:
                raise self._gap(at, position, starts[at], "were deleted")
        return ends

    def _gap(self, at: At, first: int, end: int, how: str) -> Gap:
        topic, partition = at
        return Gap(
            f"Kafka at {self._servers} lacks records that {self._group} has not consumed: "
            f"{topic}, partition {partition}, offsets {first} to {end - 1} {how}. To continue "
            "without them, stop all services and run gossamer restore --align"
        )
