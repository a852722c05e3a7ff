"""Many writes on their way at once: in batches, a bounded number, all of them awaited."""

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
    """Takes requests, however slow the network is.

    The driver's own refuses them while the last one is still going out, as if the node was down.
    """

    _socket_writable = property(lambda self: True, lambda self, writable: None)


def batches(rows: Iterable[BoundStatement]) -> Iterator[Statement]:
    """Yield *rows*, which are of one partition, in batches of bounded size."""
    held, size = list[BoundStatement](), 0
    for row in rows:
        weight = sum(map(len, row.values))
        if held and (len(held) >= BATCH_ROWS or size + weight > BATCH_BYTES):
            yield _together(held)
            held, size = [], 0
        held.append(row)
        size += weight
    if held:
        yield _together(held)


def _together(rows: list[BoundStatement]) -> Statement:
    if len(rows) == 1:
        return rows[0]
    batch = BatchStatement(BatchType.UNLOGGED)
    for row in rows:
        batch.add(row)
    return batch


@contextmanager
def flight(session: Session) -> Iterator[Callable[[Statement], None]]:
    """Give what sends a write; in the end wait for all of them, and raise what went wrong."""
    room, wrongs = Semaphore(IN_FLIGHT), list[Exception]()

    def failed(error: Exception) -> None:
        wrongs.append(error)
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
    if wrongs:
        raise wrongs[0]
