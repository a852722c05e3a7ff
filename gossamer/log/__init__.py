"""The log port: what Kafka promises and this crawler needs, no more.

A topic has partitions; a partition is a sequence of records with growing offsets. A *group* is the
name under which the log remembers how far it has been read; its members share the partitions. Only
:meth:`Reader.advance` moves a group. A *tail* reads without a group: all partitions, from the
oldest record kept.

Every producer chooses a record's partition by :func:`partition_of`, so that what belongs to a site
has one partition number on all topics. Orders alone may be sent elsewhere, to a fetcher that has
less to do.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias

from gossamer.store import Store

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, in order."""

At: TypeAlias = tuple[str, int]
"""A topic and a partition."""
Ends: TypeAlias = Mapping[At, int]
"""The offset of the last message appended to a partition. It is left out where the log cannot
say."""

BATCH = 500
"""Most records of one poll, unless less is asked for."""
NO_PARTITIONS: Set[int] = frozenset()
KEY_GROUPS = 96
"""The most partitions that there can be, and a multiple of any number that there may be."""
REMEMBERED = 1 << 16
"""Keys whose partition is remembered: to hash one costs as much as all else that is done by it."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record on the log. An empty value is a tombstone."""

    topic: str
    partition: int
    offset: int
    key: str
    value: bytes
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Message:
    """Something to append. *partition_key*, mostly a site, decides the partition, unless it is for
    a certain *partition*.

    *headers* are for what has no value to say it in: a tombstone.
    """

    topic: str
    key: str
    value: bytes
    partition_key: str
    headers: Headers = ()
    partition: int | None = None

    def partition_among(self, partitions: int) -> int:
        """Return the partition that it goes to, where the topic has so many."""
        if self.partition is not None:
            return self.partition
        return partition_of(self.partition_key, partitions)


class Standing(NamedTuple):
    """Where a group stands in a partition, and what that has."""

    committed: int
    """The offset of the first record that the group has not moved past."""
    start: int
    """The offset of the first record that is kept …"""
    end: int
    """… and that of the next one to come."""


class Reader(Protocol):
    """One member of a group."""

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that are this member's now, the same of every topic it reads.

        They change only inside :meth:`poll`.
        """

    def poll(
        self, timeout: float, most: int = BATCH, paused: Set[int] = NO_PARTITIONS
    ) -> Sequence[Record]:
        """Return the next records, at most *most*, oldest first within a partition; maybe none.

        No record of a *paused* partition is returned; it comes once the partition is not paused.
        None is skipped: a group that has never advanced begins with the oldest record kept, and
        GossamerError is raised where records that it has not moved past are missing.

        A record is returned once to this reader; after a crash, or when its partition was another
        member's meanwhile, again from the last advance on. With *most* = 0 it only keeps the
        membership alive: a member that has no room must still poll, or its group takes it for dead.
        """

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        """Flush the store's writes, append *messages*, move past *records*: in this order.

        After a crash in between, the next reader does it again, so that nothing is lost; where log
        and store share a transaction, it is one step. Return False if this member was fenced: what
        it polled belongs to others now, and the log has not moved.
        """

    def close(self) -> None:
        """Leave the group. What was polled and not advanced past comes to other members."""


class Tail(Protocol):
    """A reader without a group."""

    def poll(self, timeout: float) -> Sequence[Record]:
        """Return the next records of all partitions.

        It returns nothing only at the end of the topics as they were when it was called, after
        waiting there for *timeout*: so whatever is on the log now can be read to its end.
        """

    def close(self) -> None:
        """Stop reading."""


class Log(Protocol):
    """A log that several processes can use at once."""

    @property
    def partitions(self) -> int:
        """How many partitions every topic has that is keyed by site."""

    def append(self, messages: Iterable[Message]) -> Ends:
        """Return, once every message is durable, where the last one lies in each partition."""

    def reader(self, group: str, topics: Sequence[str], store: Store) -> Reader:
        """Join *group*; *store* holds the writes that `advance` flushes."""

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> Tail:
        """Read *topics* from the oldest record kept.

        With *starts*, partition → offset, read only these partitions, each from this offset; where
        the log does not have that offset, from the oldest record kept.
        """

    def lag(self, group: str, topic: str) -> int:
        """Return how many records *group* has not moved past."""

    def lag_by_partition(self, group: str, topic: str) -> Mapping[int, int]:
        """Return the same of each partition that has any records."""

    def standing(self, group: str, topics: Sequence[str]) -> Mapping[At, Standing]:
        """Return where *group* stands in each partition of *topics* in which it has ever moved."""

    def move(self, group: str, offsets: Mapping[At, int]) -> None:
        """Have *group* go on from *offsets*, wherever it stands.

        Raise GossamerError if a member of it runs.
        """

    def lag_by_group(self, topic: str) -> Mapping[str, Mapping[int, int]]:
        """Return the same of each group without which no record of *topic* is deleted, by name."""


@lru_cache(maxsize=REMEMBERED)
def partition_of(partition_key: str, partitions: int) -> int:
    """Return the partition as Java's default partitioner, Faust and librdkafka's murmur2 do."""
    return (murmur2(partition_key.encode()) & 0x7FFFFFFF) % partitions


def key_group_of(site: str) -> int:
    """Return the key group of *site*: a part of its partition, whatever number of these there is.

    Rows that would be in the way when the number changes name the group, not the partition.
    """
    return partition_of(site, KEY_GROUPS)


def key_groups_of(partition: int, partitions: int) -> range:
    """Return the key groups of one of so many partitions; these divide KEY_GROUPS."""
    return range(partition, KEY_GROUPS, partitions)


def murmur2(data: bytes) -> int:
    """Hash *data* as Kafka's Java client does (org.apache.kafka.common.utils.Utils.murmur2)."""
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
