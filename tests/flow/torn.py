"""A log and a store without a common transaction, which may crash between any two writes.

Kafka and Cassandra behave like this: a flush writes row by row, in the stages that `Store.flush`
promises and in any order within a stage. The messages follow one by one; the offsets come last.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from random import Random
from typing import Any, Generic

from gossamer.log import MAX_POLL_RECORDS, NO_PARTITIONS, Message, Record
from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.store import Partition, R, Row, Sort, holder_of, keys_of
from gossamer.store.sqlite import SqliteStore

Disk = dict[tuple[str, Partition], dict[Sort, Row]]
"""Table and partition → sort key → row."""
DECIDES, DROPS, ERASES, LAST = 1, 2, 3, 4
ALL = "all rows"


class Died(Exception):
    """All processes crash before this write."""


class Fate:
    """The number of writes until all processes crash; None: they never crash."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.left: int | None = None

    def spend(self) -> None:
        """Count one write, or crash before it."""
        if self.left is None:
            return
        if self.left == 0:
            raise Died
        self.left -= 1


class TornStore:
    """The tables of one service on a disk that all services share. See `gossamer.store.Store`."""

    def __init__(self, disk: Disk, fate: Fate) -> None:
        self.disk, self._fate = disk, fate
        self._tables: dict[type[Row], Any] = {}

    def table(self, row: type[R]) -> "TornTable[R]":
        found: TornTable[R] = self._tables.setdefault(row, TornTable(self.disk, row))
        return found

    def write(self, rows: Sequence[Row], timestamp: int) -> None:
        for row in rows:
            self._fate.spend()
            partition, sort = self.table(type(row)).keys(row)
            self.disk.setdefault((row.table, partition), {})[sort] = row

    def stamp(self, first: int, end: int) -> None:
        pass

    def guard(self, check: Any) -> None:
        pass

    def discard(self) -> None:
        for table in self._tables.values():
            table.forget()

    def flush(self) -> None:
        writes = [write for table in self._tables.values() for write in table.writes()]
        self._fate.random.shuffle(writes)
        for _, at, sort, row in sorted(writes, key=lambda write: int(write[0])):
            self._fate.spend()
            if row is None and sort is not ALL:
                kept = self._tables_of(at[0]).pending.get(at[1], {})
                if sort not in kept:
                    self.disk.get(at, {}).pop(sort, None)
            elif row is None:
                kept = self._tables_of(at[0]).pending.get(at[1], {})
                self.disk[at] = {s: r for s, r in self.disk.get(at, {}).items() if s in kept}
            else:
                self.disk.setdefault(at, {})[sort] = row
        for table in self._tables.values():
            table.forget()

    def _tables_of(self, name: str) -> "TornTable[Any]":
        table: TornTable[Any] = next(t for r, t in self._tables.items() if r.table == name)
        return table


class TornTable(Generic[R]):
    """All rows of one class. See `gossamer.store.Table`."""

    def __init__(self, disk: Disk, row: type[R]) -> None:
        self._disk, self._row = disk, row
        self.pending: dict[Partition, dict[Sort, R]] = {}
        self._late: set[tuple[Partition, Sort]] = set()
        self._dropped: set[Partition] = set()
        self._erased: set[tuple[Partition, Sort]] = set()

    def keys(self, row: R) -> tuple[Partition, Sort]:
        return keys_of(row)

    def _rows(self, partition: Partition) -> dict[Sort, Any]:
        stored = {} if partition in self._dropped else self._disk.get(self._at(partition), {})
        stored = {s: row for s, row in stored.items() if (partition, s) not in self._erased}
        return {**stored, **self.pending.get(partition, {})}

    def _at(self, partition: Partition) -> tuple[str, Partition]:
        return self._row.table, partition

    def get(self, partition: Partition, sort: Sort = "") -> R | None:
        return self._rows(partition).get(sort)

    def get_many(self, partition: Partition, sorts: Sequence[Sort]) -> list[R]:
        rows = self._rows(partition)
        return [rows[sort] for sort in sorts if sort in rows]

    def get_all(self, keys: Sequence[tuple[Partition, Sort]]) -> list[R]:
        return [row for each in keys if (row := self.get(*each)) is not None]

    def read_ahead(self, keys: Iterable[tuple[Partition, Sort]]) -> None:
        pass

    def put(self, row: R, last: bool = False) -> None:
        partition, sort = self.keys(row)
        self.pending.setdefault(partition, {})[sort] = row
        (self._late.add if last else self._late.discard)((partition, sort))

    def put_if_absent(self, row: R) -> R:
        partition, sort = self.keys(row)
        stands = self._rows(partition).get(sort)
        if stands is None:
            self._disk.setdefault(self._at(partition), {})[sort] = row
        return row if stands is None else stands

    def put_all_if_absent(self, rows: Sequence[R]) -> list[R]:
        return [self.put_if_absent(row) for row in rows]

    def replace(self, row: R, old: R) -> None:
        partition, sort = self.keys(row)
        stands = self._rows(partition).get(sort)
        if stands and holder_of(stands) == holder_of(old):
            self._disk.setdefault(self._at(partition), {})[sort] = row

    def scan(self, partition: Partition, after: Sort | None = None, limit: int = 1000) -> list[R]:
        rows, down = self._rows(partition), self._row.newest_first
        beyond = [
            sort
            for sort in rows
            if after is None or (sort < after if down else sort > after)  # type: ignore[operator]
        ]
        return [rows[sort] for sort in sorted(beyond, reverse=down)][:limit]

    def scan_all(
        self, partitions: Sequence[Partition], after: Sort | None = None, limit: int = 1000
    ) -> list[R]:
        return [row for partition in partitions for row in self.scan(partition, after, limit)]

    def scan_ahead(self, partitions: Iterable[Partition], limit: int = 1000) -> None:
        pass

    def everything(self) -> Iterator[R]:
        # A copy, because services go on writing while they read the rows.
        rows: list[Any] = [
            row
            for (name, _), rows in self._disk.items()
            if name == self._row.table
            for row in rows.values()
        ]
        return iter(rows)

    def drop(self, partition: Partition) -> None:
        self.pending.pop(partition, None)
        self._dropped.add(partition)

    def erase(self, partition: Partition, sort: Sort = "") -> None:
        self.pending.get(partition, {}).pop(sort, None)
        self._late.discard((partition, sort))
        self._erased.add((partition, sort))

    def writes(self) -> list[tuple[int, tuple[str, Partition], Sort, R | None]]:
        """Yield stage, key and row of each write. The row None drops the partition."""
        own = DECIDES if self._row.decides else 0
        puts: list[tuple[int, tuple[str, Partition], Sort, R | None]] = [
            (LAST if (partition, sort) in self._late else own, self._at(partition), sort, row)
            for partition, rows in self.pending.items()
            for sort, row in rows.items()
        ]
        drops = [(DROPS, self._at(p), ALL, None) for p in self._dropped]
        erased = [(ERASES, self._at(p), sort, None) for p, sort in self._erased]
        return [*puts, *drops, *erased]

    def forget(self) -> None:
        """Clear the buffer after all of it is written."""
        self.pending.clear()
        self._late.clear()
        self._dropped.clear()
        self._erased.clear()


class TornReader:
    """A member of a group whose advance may crash at any point."""

    def __init__(self, log: SqliteLog, inner: SqliteReader, store: TornStore, fate: Fate) -> None:
        self._log, self._inner, self._store, self._fate = log, inner, store, fate
        self.partitions = inner.partitions

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> list[Record]:
        return self._inner.poll(timeout, most, paused)

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        self._store.flush()
        for message in messages:
            self._fate.spend()
            self._log.append([message])
        self._fate.spend()
        return self._inner.advance(records, ())

    def close(self) -> None:
        pass


class TornLog(SqliteLog):
    """A log whose readers may crash while they advance."""

    fate: Fate

    def reader(self, group: str, topics: Sequence[str], store: Any) -> Any:
        inner = SqliteReader(self, self._database, group, topics, SqliteStore(self._database))
        return TornReader(self, inner, store, self.fate)
