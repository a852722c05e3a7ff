"""A log that reports to health: heartbeats of its readers, their partitions and their lag.

Every service's loop polls a reader in each step. Health is therefore observed here, and loops need
not report it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager

import structlog

from gossamer.errors import Unavailable
from gossamer.log import (
    MAX_POLL_RECORDS,
    NO_PARTITIONS,
    At,
    Ends,
    GroupPosition,
    Log,
    Message,
    Reader,
    Record,
    Tail,
)
from gossamer.runtime.health import Health
from gossamer.store import Store
from gossamer.store.claims import ClaimRow
from gossamer.telemetry import set_gauge

logger = structlog.get_logger()


class ObservedLog:
    """A *log* whose readers report to *health*. See `gossamer.log.Log`."""

    def __init__(self, log: Log, health: Health) -> None:
        self._log, self._health = log, health

    @property
    def partitions(self) -> int:
        """Number of partitions of every topic that is keyed by site."""
        return self._log.partitions

    def append(self, messages: Iterable[Message]) -> Ends:
        """Return once every message is durable, with the offset of the last message in each
        partition."""
        return self._log.append(messages)

    def reader(self, group: str, topics: Sequence[str], store: Store) -> Reader:
        """Join *group*, and show its lag from now on."""
        self.watch(group, topics, store)
        return ObservedReader(self._log.reader(group, topics, store), self._health)

    def watch(self, group: str, topics: Sequence[str], store: Store) -> None:
        """Show the lag of *group* from now on, and whether log and store answer."""
        claims = store.table(ClaimRow)

        def ask() -> dict[str, int]:
            claims.get("0")
            return {topic: self._log.lag(group, topic) for topic in topics}

        self._health.watch(ask)

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> Tail:
        """Read *topics* without a group."""
        return self._log.tail(topics, starts)

    def lag(self, group: str, topic: str) -> int:
        """Return the number of records that *group* has not moved past."""
        with _reporting(self._health):
            return self._log.lag(group, topic)

    def lag_by_partition(self, group: str, topic: str) -> Mapping[int, int]:
        """Return the lag of *group* in each partition that has any records."""
        with _reporting(self._health):
            return self._log.lag_by_partition(group, topic)

    def group_positions(self, group: str, topics: Sequence[str]) -> Mapping[At, GroupPosition]:
        """Return the position of *group* in each partition of *topics* in which it has committed an
        offset."""
        with _reporting(self._health):
            return self._log.group_positions(group, topics)

    def move(self, group: str, offsets: Mapping[At, int]) -> None:
        """Set the committed offsets of *group* to *offsets*."""
        self._log.move(group, offsets)

    def lag_by_group(self, topic: str) -> Mapping[str, Mapping[int, int]]:
        """Return the lag by partition of each group that must consume the records of *topic*."""
        with _reporting(self._health):
            return self._log.lag_by_group(topic)


class ObservedReader:
    """A *reader* whose polls are heartbeats. See `gossamer.log.Reader`.

    Each change of its partitions is logged and updates a metric.
    """

    def __init__(self, reader: Reader, health: Health) -> None:
        self._reader, self._health = reader, health
        self._partitions = frozenset[int]()

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions assigned to this member."""
        return self._reader.partitions

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> Sequence[Record]:
        """Return the next records."""
        with _reporting(self._health):
            records = self._reader.poll(timeout, most, paused)
        self._health.ready()
        self._note_partitions()
        return records

    def _note_partitions(self) -> None:
        before, self._partitions = self._partitions, self._reader.partitions
        set_gauge("gossamer_partitions", len(self._partitions))
        if before != self._partitions:
            gained, lost = self._partitions - before, before - self._partitions
            logger.info(
                "rebalance",
                partitions=len(self._partitions),
                gained=sorted(gained),
                lost=sorted(lost),
            )

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        """Flush the store's writes, append *messages*, and commit past *records*."""
        with _reporting(self._health):
            return self._reader.advance(records, messages)

    def close(self) -> None:
        """Leave the group."""
        self._reader.close()


@contextmanager
def _reporting(health: Health) -> Iterator[None]:
    # A loop that waits for a server is still running.
    try:
        yield
    except Unavailable as error:
        health.waiting(str(error))
        raise
