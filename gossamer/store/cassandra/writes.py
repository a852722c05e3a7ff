"""Many writes in flight at once: in batches, a bounded number, all of them awaited."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Semaphore

from cassandra.cluster import Session
from cassandra.io.libevreactor import LibevConnection
from cassandra.query import BatchStatement, BatchType, BoundStatement, Statement

IN_FLIGHT = 64
BATCH_ROWS, BATCH_BYTES = 100, 40 << 10
"""Nodes may refuse a batch above 50 KiB; a row that is larger goes alone."""


class Connection(LibevConnection):  # type: ignore[misc]
    """A connection that accepts requests however slow the network is.

    The driver's own refuses them while the last one is still being sent, as if the node were down.
    """

    _socket_writable = property(lambda self: True, lambda self, writable: None)


def batches(rows: Iterable[BoundStatement]) -> Iterator[Statement]:
    """Yield *rows*, which are of one partition, in batches of bounded size."""
    batch, size = list[BoundStatement](), 0
    for row in rows:
        weight = sum(map(len, row.values))
        if batch and (len(batch) >= BATCH_ROWS or size + weight > BATCH_BYTES):
            yield _statement(batch)
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield _statement(batch)


def _statement(rows: list[BoundStatement]) -> Statement:
    if len(rows) == 1:
        return rows[0]
    # A logged batch costs another round trip, and one partition is atomic without.
    batch = BatchStatement(BatchType.UNLOGGED)
    for row in rows:
        batch.add(row)
    return batch


@contextmanager
def concurrent_writes(session: Session) -> Iterator[Callable[[Statement], None]]:
    """Yield a function that sends a write without waiting for its answer.

    Leaving the block waits for all answers, and raises the first error among them.
    """
    room, errors = Semaphore(IN_FLIGHT), list[Exception]()

    def failed(error: Exception) -> None:
        errors.append(error)
        room.release()

    def send(batch: Statement) -> None:
        room.acquire()
        try:
            sent = session.execute_async(batch)
        except BaseException:
            room.release()
            raise
        sent.add_callbacks(lambda _: room.release(), failed)

    try:
        yield send
    finally:
        for _ in range(IN_FLIGHT):
            room.acquire()
    if errors:
        raise errors[0]
