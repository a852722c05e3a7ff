"""The store on Cassandra: real and typed columns, for `cqlsh` too.

Every write says when it is to count, so that writes that are repeated, overtaken or late change
nothing: before a claim, the present time; after it, the epoch and a counter. So whatever somebody
writes under an older epoch, however late, lies below what the owner has written.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Generic

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.servers import CassandraSettings
from gossamer.store import R, Row, Sort
from gossamer.store.cql import Columns, Statements
from gossamer.store.driver import Cassandra, Write
from gossamer.store.overlay import Overlay
from gossamer.store.tables import found_tables, wants

MILLISECOND = 1000


class CassandraStore:
    """The tables of one service in a keyspace; see `gossamer.store.Store`. For one thread."""

    def __init__(self, settings: CassandraSettings) -> None:
        self._nodes = Cassandra(settings)
        self._keyspace = settings.keyspace
        self._stamps = Stamps()
        self._tables: dict[type[Row], Any] = {}
        try:
            self._found = found_tables(self._nodes, settings.keyspace)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the nodes."""
        self._nodes.close()

    def table(self, row: type[R]) -> "CassandraTable[R]":
        """Return the table of *row*; raise GossamerError if it is missing, or is another one."""
        if row not in self._tables:
            self._check(row)
            self._tables[row] = CassandraTable(self._nodes, self._keyspace, row, self._stamps)
        table: CassandraTable[R] = self._tables[row]
        return table

    def _check(self, row: type[Row]) -> None:
        if wants(row, self._found):
            self._found = found_tables(self._nodes, self._keyspace)
        if lacks := wants(row, self._found):
            raise GossamerError(
                f"{self._nodes.where}, keyspace {self._keyspace}: {'; '.join(lacks)}: "
                "run gossamer store apply"
            )

    def flush(self) -> None:
        """Write out what was put and dropped; all of it is kept here until all of it is there.

        What is dropped is dropped last, and counts as dropped first: what was put afterwards stays.
        """
        tables = [table for table in self._tables.values() if table.overlay]
        if not tables:
            return
        dropped, put = self._stamps.next(), self._stamps.next()
        for decides in (False, True):
            stage = [table for table in tables if table.row.decides is decides]
            self._nodes.write(chain.from_iterable(table.puts(put, last=False) for table in stage))
        self._nodes.write(
            chain.from_iterable(
                chain(table.puts(put, last=True), table.drops(dropped)) for table in tables
            )
        )
        for table in tables:
            table.overlay.clear()

    def claim(self, epoch: int) -> None:
        """From now on write as the owner of *epoch*."""
        self._stamps.claim(epoch)


class Stamps:
    """When writes count, in microseconds: they only grow."""

    def __init__(self) -> None:
        self._last, self._claimed = 0, False

    def next(self) -> int:
        """Return a larger one than ever before."""
        self._last = max(self._last + 1, 0 if self._claimed else _now())
        return self._last

    def claim(self, epoch: int) -> None:
        """Count from *epoch* on."""
        self._last, self._claimed = max(self._last, epoch), True

    def let_pass(self) -> None:
        """Wait until what the nodes stamp themselves, in whole milliseconds, is later than ours."""
        while not self._claimed and _now() <= self._last + MILLISECOND:
            clock.pause(0.0005)


def _now() -> int:
    return int(clock.now() * 1e6)


class CassandraTable(Generic[R]):
    """All rows of one class; see `gossamer.store.Table`."""

    def __init__(self, nodes: Cassandra, keyspace: str, row: type[R], stamps: Stamps) -> None:
        self._nodes, self._stamps = nodes, stamps
        self.row, self.overlay = row, Overlay(row)
        self._statements, self._columns = Statements(keyspace, row), Columns(row)

    def get(self, partition: str, sort: Sort = "") -> R | None:
        """Return the row, or None."""
        if self.overlay.covers(partition, sort):
            return self.overlay.get(partition, sort)
        found = self._ask(self._statements.get, *self._keys(partition, sort))
        return found[0] if found else None

    def put(self, row: R, last: bool = False) -> None:
        """Write the row whole, over what is there; *last*: with the drops."""
        self.overlay.put(row, last)

    def some(self, partition: str, sorts: Sequence[Sort]) -> list[R]:
        """Return those rows of *partition* that are there, in any order, in one read."""
        put = [self.overlay.get(partition, sort) for sort in sorts]
        beneath = [sort for sort in sorts if not self.overlay.covers(partition, sort)]
        found = self._beneath(partition, beneath) if beneath else []
        return [*found, *(row for row in put if row is not None)]

    def _beneath(self, partition: str, sorts: list[Sort]) -> list[R]:
        if not self.row.sort_key:
            return self._ask(self._statements.get, partition)
        return self._ask(self._statements.some, partition, sorts)

    def first(self, row: R) -> R:
        """Write *row* unless one with its keys is there; return the one that stands.

        At once, unless it is we who have just put or dropped what was there.
        """
        keys = self.overlay.keys(row)
        if self.overlay.covers(*keys):
            standing = self.overlay.get(*keys)
            if standing is None:
                self.overlay.put(row)
            return standing or row
        self._stamps.let_pass()
        statements, values = self._statements, self._columns.written(row)
        found = self._nodes.first(statements.first, values, statements.get, self._keys(*keys))
        return self._columns.named(found) if found else row

    def scan(self, partition: str, after: Sort | None = None, limit: int = 1000) -> list[R]:
        """Return rows of *partition* in the order of their sort keys, beyond *after*."""
        return self.overlay.scan(partition, after, limit, self._scan_beneath)

    def _scan_beneath(self, partition: str, after: Sort | None, limit: int) -> list[R]:
        if limit < 1:
            return []
        if after is None:
            return self._ask(self._statements.scan, partition, limit)
        return self._ask(self._statements.scan_beyond, partition, after, limit)

    def drop(self, partition: str) -> None:
        """Remove the whole partition."""
        self.overlay.drop(partition)

    def puts(self, stamp: int, last: bool) -> Iterator[Write]:
        """Yield what is to be written: the rows put *last*, or the others."""
        late = self.overlay.last
        if last and not late:
            return
        for partition, rows in self.overlay.rows.items():
            chosen = (
                [row for sort, row in rows.items() if ((partition, sort) in late) is last]
                if late
                else rows.values()
            )
            yield Write(stamp, self._statements.put, map(self._columns.written, chosen))

    def drops(self, stamp: int) -> Iterator[Write]:
        """Yield what removes the dropped partitions."""
        for partition in self.overlay.dropped:
            yield Write(stamp, self._statements.drop, [[partition]])

    def _ask(self, cql: str, *values: Any) -> list[R]:
        return [self._columns.read(found) for found in self._nodes.ask(cql, values)]

    def _keys(self, partition: str, sort: Sort) -> tuple[Sort, ...]:
        return (partition, sort) if self.row.sort_key else (partition,)
