"""The log port: the guarantees of Kafka that this crawler needs, and no more.

A topic has partitions. A partition is a sequence of records with growing offsets. A *group* is the
name under which the log stores committed offsets, and its members share the partitions. Only
:meth:`Reader.advance` moves a group forward. A *tail* reads without a group: all partitions, from
the oldest retained record.

Every producer chooses a record's partition by :func:`partition_of`, so that a site has the same
partition number on all topics. Only orders may be sent to another partition, for a fetcher that has
less work.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from gossamer.store import Store
from gossamer.web.url import Site

if TYPE_CHECKING:
    # A process without blobs does not import the clients of volumes.
    from gossamer.volumes import Volume

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, in order."""

At: TypeAlias = tuple[str, int]
"""A topic and a partition number."""
Ends: TypeAlias = Mapping[At, int]
"""The offset of the last appended message by partition. A partition is missing if the log does not
know the offset."""

BLOB, BLOB_SIZE = "blob", "blob-size"
"""The headers of a record that refers to a blob: its name and its number of bytes. The log deletes
the blob together with the record."""
BLOB_NAME = re.compile(r"\d{4}-\d\d-\d\d/[A-Z2-7]{32}-[0-9a-f]{16}\Z", re.ASCII)
"""The names of blobs: day, digest and a hash of the visit."""
BLOB_SIZES = re.compile(r"\d{1,12}\Z", re.ASCII)
MAX_POLL_RECORDS = 500
"""Default for the maximum number of records of one poll."""
FOLLOW_TIMEOUT = 1.0
"""Seconds of one poll for further records."""
NO_PARTITIONS: Set[int] = frozenset()
KEY_GROUPS = 96
"""Maximum number of partitions. Every allowed number of partitions divides it."""
PARTITION_CACHE_SIZE = 1 << 16
"""Keys in the cache of `partition_of`. Hashing a key costs as much as the rest of its
processing."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record on the log. An empty value is a tombstone."""

    topic: str
    partition: int
    offset: int
    key: str
    value: bytes
    headers: Headers = ()

    @property
    def blob(self) -> str:
        """The name of the blob that the record refers to, or ""."""
        return blob_in(self.headers)

    @property
    def size(self) -> int:
        """Number of bytes of the value and of its blob, which a reader loads into memory."""
        return len(self.value) + (_blob_size_in(self.headers) if self.headers else 0)


def blob_in(headers: Headers) -> str:
    """Return the name of the blob in the *headers* of a record, or "".

    Any program may produce records, so another name is ignored: another file might have it.
    """
    return next((value for name, value in headers if name == BLOB and BLOB_NAME.match(value)), "")


def _blob_size_in(headers: Headers) -> int:
    sizes = (value for name, value in headers if name == BLOB_SIZE and BLOB_SIZES.match(value))
    return int(next(sizes, "0"))


@dataclass(frozen=True, slots=True)
class Message:
    """A message to append. *partition_key*, usually a site, determines the partition, unless
    *partition* is set.

    Consumers filter pages by *headers*. A tombstone, which has no value, has all its data in them.
    """

    topic: str
    key: str
    value: bytes
    partition_key: str
    headers: Headers = ()
    partition: int | None = None

    @property
    def size(self) -> int:
        """Number of bytes of the record on Kafka, before compression."""
        headers = sum([len(name) + len(value.encode()) for name, value in self.headers])
        return len(self.key.encode()) + len(self.value) + headers

    def partition_among(self, partitions: int) -> int:
        """Return the partition of the message on a topic with this number of *partitions*."""
        if self.partition is not None:
            return self.partition
        return partition_of(self.partition_key, partitions)


class GroupOffsets(NamedTuple):
    """The committed offset of a group in a partition, and the offsets that the partition
    contains."""

    committed: int
    """The offset of the first record that the group has not moved past."""
    start: int
    """The offset of the oldest retained record."""
    end: int
    """The offset of the next record to be appended."""


class Reader(Protocol):
    """A member of a group."""

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions assigned to this member, with the same numbers for every topic that it
        reads.

        They change only inside :meth:`poll`.
        """

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> Sequence[Record]:
        """Return the next records, at most *most*, oldest first within a partition, or none.

        Those of topics that are read first (`Topic.read_first`) precede all others, however many
        records of other topics wait.

        Records of a *paused* partition are not returned until the partition is not paused any more.
        No record is skipped: a group that has never advanced starts with the oldest retained
        record, and GossamerError is raised if records that the group has not moved past are
        missing.

        A record is returned once to this reader. After a crash, or after its partition was assigned
        to another member for a time, records are returned again from the last advance on. *most* =
        0 only keeps the membership alive: a member without capacity must still poll, or its group
        considers it crashed.
        """

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        """Flush the store's writes, append *messages*, and commit past *records*, in this order.

        After a crash in between, the next reader repeats the step, so that nothing is lost. If log
        and store share a transaction, the step is atomic. Return False if this member was fenced:
        no offset was committed. The next polls return all records from the last advance on of the
        partitions that are still this member's.
        """

    def close(self) -> None:
        """Leave the group. Records that were polled and not advanced past go to other members."""


class Tail(Protocol):
    """A reader without a group."""

    def poll(self, timeout: float) -> Sequence[Record]:
        """Return the next records of all partitions.

        The result is empty only if all records that existed when the tail was created, or at the
        last call of :meth:`find_end`, have been returned, and no other record has arrived within
        *timeout* seconds. A caller with a new tail can therefore read the current log to its end.
        Later records may arrive with a delay, so that a poll without a timeout may miss them.
        """

    def find_end(self) -> None:
        """Note the current end of the log, which the following polls read before one is empty."""

    def close(self) -> None:
        """Stop reading."""


LagByGroup = Mapping[str, Mapping[str, Mapping[int, int]]]
"""Topic → group → partition → number of records that the group has not moved past."""


class Log(Protocol):
    """A log that several processes can use at the same time."""

    @property
    def partitions(self) -> int:
        """Number of partitions of every topic that is keyed by site."""

    @property
    def blobs(self) -> "Volume | None":
        """The volume with the blobs of records, which the log deletes together with the records.
        None if the process has no access to it."""

    def create_topic(self, topic: str) -> None:
        """Create *topic*, one of a single crawl, if it does not exist."""

    def append(self, messages: Iterable[Message]) -> Ends:
        """Return once every message is durable, with the offset of the last message in each
        partition.

        After a kill, any of them may be missing. But those of topics that are appended last
        (`Topic.appended_last`) are durable only if all others are.
        """

    def reader(self, group: str, topics: Sequence[str], store: Store) -> Reader:
        """Join *group*. *store* holds the writes that `advance` flushes."""

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> Tail:
        """Read *topics* from the oldest retained record.

        *starts* maps partitions to offsets: only these partitions are read, each from its offset,
        or from the oldest retained record if the log does not have that offset.
        """

    def lag(self, group: str, topic: str) -> int:
        """Return the number of records that *group* has not moved past."""

    def lag_by_partition(self, group: str, topic: str) -> Mapping[int, int]:
        """Return the lag of *group* in each partition that has any records."""

    def offsets(self, topic: str) -> Mapping[int, range]:
        """Return partition → the offsets from the oldest retained record of *topic* to its end. A
        partition without any record may be missing."""

    def group_offsets(self, group: str, topics: Sequence[str]) -> Mapping[At, GroupOffsets]:
        """Return the offsets of *group* in each partition of *topics* in which it has committed an
        offset."""

    def move(self, group: str, offsets: Mapping[At, int]) -> None:
        """Set the committed offsets of *group* to *offsets*, forward or backward.

        Raise GossamerError if a member of the group is running.
        """

    def lags(self, group: str, topics: Sequence[str]) -> Mapping[str, int]:
        """Return the lag of *group* on each of *topics*, which are queried together."""

    def lag_by_group(self, topics: Sequence[str]) -> LagByGroup:
        """Return the lag of each group that must consume a record of one of *topics* before its
        deletion. All are queried together."""


@lru_cache(maxsize=PARTITION_CACHE_SIZE)
def partition_of(partition_key: str, partitions: int) -> int:
    """Return the partition, as Java's default partitioner, Faust and librdkafka's murmur2 compute
    it."""
    return (murmur2(partition_key.encode()) & 0x7FFFFFFF) % partitions


def read_topic(log: Log, topic: str, follow: bool = False) -> Iterator[Record]:
    """Yield the records of *topic*, the oldest retained one first; with *follow*, wait for further
    ones without end."""
    with closing(log.tail([topic])) as tail:
        while (records := tail.poll(FOLLOW_TIMEOUT if follow else 0)) or follow:
            yield from records


class NewestRecords(NamedTuple):
    """The newest records of a topic."""

    records: list[Record]
    """The oldest of each partition first."""
    before: dict[int, int]
    """Partition → the offset of the first of `records`, if older ones may be retained."""


def read_newest(
    log: Log, topic: str, most: int, before: Mapping[int, int] | None = None
) -> NewestRecords:
    """Return the newest records of each partition of *topic*, at most *most* of each.

    *before* maps partitions to offsets: only these partitions are read, each below its offset.
    """
    offsets = log.offsets(topic)
    ends = {
        number: found.stop if before is None else min(found.stop, before[number])
        for number, found in offsets.items()
        if before is None or number in before
    }
    starts = {number: max(offsets[number].start, end - most) for number, end in ends.items()}
    unread = {number for number, end in ends.items() if starts[number] < end}
    older = {number: at for number, at in starts.items() if at > offsets[number].start}
    found = list[Record]()
    if unread:
        with closing(log.tail([topic], {number: starts[number] for number in unread})) as tail:
            while unread and (records := tail.poll(0)):
                for record in records:
                    if record.offset < ends[record.partition]:
                        found.append(record)
                    if record.offset >= ends[record.partition] - 1:
                        unread.discard(record.partition)
    return NewestRecords(found, older)


def key_group_of(site: Site) -> int:
    """Return the key group of *site*, which does not depend on the number of partitions.

    Rows that must survive a change of that number contain the key group and not the partition.
    """
    return partition_of(site, KEY_GROUPS)


def key_groups_of(partition: int, partitions: int) -> range:
    """Return the key groups of *partition* among this number of *partitions*, which divides
    KEY_GROUPS."""
    return range(partition, KEY_GROUPS, partitions)


def murmur2(data: bytes) -> int:
    """Hash *data* like Kafka's Java client (org.apache.kafka.common.utils.Utils.murmur2)."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15
