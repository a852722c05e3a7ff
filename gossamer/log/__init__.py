"""The log port: what Kafka promises and this crawler needs, no more.

A topic has partitions; a partition is a sequence of records with growing offsets. A *group* is a
reader's name, under which the log remembers how far it has read; members of a group share the
partitions out between them. The one verb that moves it is :meth:`Reader.advance`. A *tail* reads
without a group: all partitions, from the oldest record kept, remembering nothing.

Every producer places a record by :func:`partition_of`, so that what belongs to a site meets in one
partition number over all topics, whoever wrote it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gossamer.store import Store

BATCH = 500
"""Most records of one poll, unless less is asked for."""


@dataclass(frozen=True, slots=True)
class Record:
    """What lies on the log. An empty value is a tombstone."""

    topic: str
    partition: int
    offset: int
    key: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """Something to append: not yet anywhere. *place* decides the partition (mostly a site)."""

    topic: str
    key: str
    value: bytes
    place: str


class Reader(Protocol):
    """One member of a group."""

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that are this member's now, the same of every topic it reads.

        They change only inside :meth:`poll`.
        """

    def poll(self, timeout: float, most: int = BATCH) -> Sequence[Record]:
        """Return the next records, at most *most*, oldest first within a partition; maybe none.

        A record is returned once to this reader; after a crash, or when its partition was somebody
        else's meanwhile, again from the last advance on. With *most* = 0 it only keeps in touch
        with its group: whoever has no room must say so, or is taken for dead.
        """

    def advance(self, records: Iterable[Record], outcome: Iterable[Message]) -> bool:
        """Flush the store's writes, append *outcome*, move past *records*: in this order.

        What dies in between is done again by the next reader, so that nothing is lost; where log
        and store share a transaction, it is one step. Return False if the group has put this
        member out: nothing of what it polled is its own any more, and the log has not moved.
        """

    def close(self) -> None:
        """Leave the group. What was polled and not advanced past is somebody else's now."""


class Tail(Protocol):
    """A reader without a group."""

    def poll(self, timeout: float) -> Sequence[Record]:
        """Return the next records of all partitions.

        None is returned only at the end of the topics as they were when it was called, after
        waiting there for *timeout*: so what is on the log now can be read to its end.
        """


class Log(Protocol):
    """A log that several processes can use at once."""

    @property
    def partitions(self) -> int:
        """How many partitions every topic has that is keyed by site."""

    def append(self, messages: Iterable[Message]) -> None:
        """Return once every message is durable."""

    def reader(self, group: str, topics: Sequence[str], store: Store) -> Reader:
        """Join *group*; *store* holds the writes that `advance` flushes."""

    def tail(self, topics: Sequence[str]) -> Tail:
        """Read *topics* from the oldest record kept."""

    def backlog(self, group: str, topic: str) -> int:
        """Return how many records *group* has not moved past."""


def partition_of(place: str, partitions: int) -> int:
    """Return the partition as Java's default partitioner, Faust and librdkafka's murmur2 do."""
    return (murmur2(place.encode()) & 0x7FFFFFFF) % partitions


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
