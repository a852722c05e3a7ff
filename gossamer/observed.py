"""A log that shows how its readers get on: whether they still poll, what is theirs, how far behind.

Every service stands on a reader and polls it in every turn of its loop, whatever that looks like:
so this is where its health is felt, and no loop need know of it.
"""

from collections.abc import Iterable, Sequence

from gossamer.claims import ClaimRow
from gossamer.health import Health
from gossamer.log import BATCH, Log, Message, Reader, Record, Tail
from gossamer.store import Store
from gossamer.telemetry import gauge


class ObservedLog:
    """*log*, whose readers tell *health*; see `gossamer.log.Log`."""

    def __init__(self, log: Log, health: Health) -> None:
        self._log, self._health = log, health

    @property
    def partitions(self) -> int:
        """How many partitions every topic has that is keyed by site."""
        return self._log.partitions

    def append(self, messages: Iterable[Message]) -> None:
        """Return once every message is durable."""
        self._log.append(messages)

    def reader(self, group: str, topics: Sequence[str], store: Store) -> Reader:
        """Join *group*; from now on it is watched."""
        self.watch(group, topics, store)
        return ObservedReader(self._log.reader(group, topics, store), self._health)

    def watch(self, group: str, topics: Sequence[str], store: Store) -> None:
        """From now on show the lag of *group*, and whether log and store answer."""
        claims = store.table(ClaimRow)

        def ask() -> dict[str, int]:
            claims.get("0")
            return {topic: self._log.backlog(group, topic) for topic in topics}

        self._health.watch(ask)

    def tail(self, topics: Sequence[str]) -> Tail:
        """Read *topics* from the oldest record kept."""
        return self._log.tail(topics)

    def backlog(self, group: str, topic: str) -> int:
        """Return how many records *group* has not moved past."""
        return self._log.backlog(group, topic)


class ObservedReader:
    """*reader*, of which every poll is a sign of life; see `gossamer.log.Reader`."""

    def __init__(self, reader: Reader, health: Health) -> None:
        self._reader, self._health = reader, health

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that are this member's now."""
        return self._reader.partitions

    def poll(self, timeout: float, most: int = BATCH) -> Sequence[Record]:
        """Return the next records."""
        records = self._reader.poll(timeout, most)
        gauge("gossamer_partitions", len(self._reader.partitions))
        self._health.ready()
        return records

    def advance(self, records: Iterable[Record], outcome: Iterable[Message]) -> bool:
        """Flush the store's writes, append *outcome*, move past *records*."""
        return self._reader.advance(records, outcome)

    def close(self) -> None:
        """Leave the group."""
        self._reader.close()
