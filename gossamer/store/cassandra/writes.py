"""Writes: their timestamps, and how they are sent: batched, bounded in number, and all awaited.

Cassandra keeps the write with the largest timestamp. Ours follow the clock. Those of an owner stay
inside its leased window (`gossamer.store.claims`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from threading import Semaphore
from typing import TypeVar

from cassandra.cluster import Session
from cassandra.io.libevreactor import LibevConnection
from cassandra.query import BatchStatement, BatchType, BoundStatement, Statement

from gossamer import clock
from gossamer.errors import Unavailable

IN_FLIGHT = 64
BATCH_ROWS, BATCH_BYTES = 100, 40 << 10
"""Maximum rows and bytes of a batch. Nodes may refuse more than 50 KiB. A larger row is sent
alone."""
SHARED_PARTITIONS, SHARED_BYTES = 10, 4 << 10
"""Maximum partitions and bytes of a batch with several partitions. Nodes warn about more than 10
partitions and about more than 5 KiB including overhead."""
To = TypeVar("To", bound=Hashable)
NODE_RESOLUTION = 0.002
"""Seconds after which a timestamp of a node is certainly later than ours. Nodes count whole
milliseconds."""
RESERVED_MICROSECONDS = 1000
"""Microseconds at the end of a window that are issued one after another, and not by the clock. They
are for a flush after a pause in which the clock has passed the end of the window."""


class Connection(LibevConnection):  # type: ignore[misc]
    """A connection that accepts requests on slow networks.

    The driver's own connection refuses requests while the last one is being sent, as if the node
    were down.
    """

    _socket_writable = property(lambda self: True, lambda self, writable: None)


def by_partition_key(
    writes: Iterable[tuple[int, Iterator[BoundStatement]]],
) -> Iterator[tuple[int, bytes, Iterable[BoundStatement]]]:
    """Yield each timestamp and partition key of *writes* with its rows, of all tables.

    A batch of them is one mutation: nodes group the rows of a batch by keyspace and key. *writes*:
    timestamps, each with the rows of one partition of a table.
    """
    grouped = defaultdict[tuple[int, bytes], list[Iterable[BoundStatement]]](list)
    for timestamp, rows in writes:
        for first in islice(rows, 1):
            grouped[timestamp, first.routing_key].append(chain([first], rows))
    for (timestamp, key), parts in grouped.items():
        yield timestamp, key, chain.from_iterable(parts)


def batches(
    parts: Iterable[tuple[To, Iterable[BoundStatement]]],
) -> Iterator[tuple[To, list[BoundStatement]]]:
    """Yield batches of bounded size, each with its destination.

    Each of *parts* is a destination with rows of one partition. Small parts with the same
    destination share a batch, because a request costs more than a row.
    """
    waiting: dict[To, list[list[BoundStatement]]] = {}
    sizes = Counter[To]()
    for to, rows in parts:
        for batch, size in _of_partition(rows):
            if size > SHARED_BYTES:
                yield to, batch
                continue
            if len(waiting.get(to, ())) >= SHARED_PARTITIONS or sizes[to] + size > SHARED_BYTES:
                yield to, [*chain.from_iterable(waiting.pop(to))]
                sizes[to] = 0
            waiting.setdefault(to, []).append(batch)
            sizes[to] += size
    for to, some in waiting.items():
        yield to, [*chain.from_iterable(some)]


def _of_partition(rows: Iterable[BoundStatement]) -> Iterator[tuple[list[BoundStatement], int]]:
    batch, size = list[BoundStatement](), 0
    for row in rows:
        weight = sum(len(value) for value in row.values if value)
        if batch and (len(batch) >= BATCH_ROWS or size + weight > BATCH_BYTES):
            yield batch, size
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch, size


def statement(rows: Sequence[BoundStatement]) -> Statement:
    """Return the statement that writes *rows* with one request."""
    if len(rows) == 1:
        return rows[0]
    # A logged batch costs another round trip. Writes to one partition are atomic without it.
    batch = BatchStatement(BatchType.UNLOGGED)
    for row in rows:
        batch.add(row)
    return batch


@contextmanager
def concurrent_writes(session: Session) -> Iterator[Callable[[Statement], None]]:
    """Yield a function that sends a write without waiting for its acknowledgement.

    Leaving the block waits for all acknowledgements and raises the first error.
    """
    room, errors = Semaphore(IN_FLIGHT), list[Exception]()

    def on_error(error: Exception) -> None:
        errors.append(error)
        room.release()

    def send(batch: Statement) -> None:
        room.acquire()
        try:
            sent = session.execute_async(batch)
        except BaseException:
            room.release()
            raise
        sent.add_callbacks(lambda _: room.release(), on_error)

    try:
        yield send
    finally:
        for _ in range(IN_FLIGHT):
            room.acquire()
    if errors:
        raise errors[0]


class Timestamps:
    """Issues increasing timestamps of writes, in microseconds."""

    def __init__(self) -> None:
        self._last = 0
        self._end: int | None = None
        self._issued_at = 0.0

    def next(self) -> int:
        """Return a timestamp larger than all before. Raise Unavailable if the window is used up."""
        self._issued_at = clock.steady()
        now = int(clock.now() * 1e6)
        issued = max(
            self._last + 1,
            now if self._end is None else min(now, self._end - RESERVED_MICROSECONDS),
        )
        if self._end is not None and issued >= self._end:
            raise Unavailable("the leased window of write timestamps is used up")
        self._last = issued
        return issued

    def stamp(self, first: int, end: int) -> None:
        """Issue timestamps from *first* to below *end*."""
        self._last, self._end = max(self._last, first - 1), end

    def wait_to_pass(self) -> None:
        """Wait until timestamps of nodes, in whole milliseconds, are later than ours.

        It uses the steady clock, because a clock that is set back by minutes must not stop us for
        minutes.
        """
        while clock.steady() <= self._issued_at + NODE_RESOLUTION:
            clock.pause(0.0005)
