"""The store in a SQLite file: a table for each row class, with typed columns for queries."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import starmap
from typing import Any

from gossamer.sqlite import Database
from gossamer.store import (
    Partition,
    R,
    Row,
    Sort,
    holder_of,
    partition_fields,
    partition_values,
)
from gossamer.store.columns import Codec, Reader, columns_of, is_word
from gossamer.store.overlay import BufferedTable
from gossamer.telemetry.timing import observe_duration

MAX_EXPIRED_ROWS = 1000
"""Maximum number of expired rows that one flush removes."""
PAGE_ROWS = 1000
"""Number of rows of one read of a whole table."""

COLUMN_TYPES: dict[Any, str] = {
    str: "TEXT",
    int: "INTEGER",
    float: "REAL",
    bool: "INTEGER",
    bytes: "BLOB",
}


class SqliteStore:
    """The tables of one service in *database*. See `gossamer.store.Store`."""

    def __init__(
        self, database: Database, lifetime: Callable[[type[Row]], float] = lambda row: 0.0
    ) -> None:
        """*lifetime* returns the retention of a class of rows in seconds, or 0 for no expiry."""
        self._database, self._lifetime = database, lifetime
        self._tables: dict[type[Row], Any] = {}

    def table(self, row: type[R]) -> "SqliteTable[R]":
        """Return the table of *row*, which is created if it is missing."""
        if row not in self._tables:
            self._tables[row] = SqliteTable(self._database, row, self._lifetime(row))
        table: SqliteTable[R] = self._tables[row]
        return table

    def flush(self) -> None:
        """Write all buffered rows and drops in one transaction."""
        changed = [table for table in self._tables.values() if table.is_changed]
        if not changed:
            return
        with observe_duration("gossamer_store_flush_seconds"), self._database.transaction() as db:
            for table in changed:
                table.flush(db)

    def discard(self) -> None:
        """Forget all writes since the last flush."""
        for table in self._tables.values():
            table.clear()

    def write(self, rows: Sequence[Row], timestamp: int) -> None:
        """Write *rows* at once. The timestamp is not needed, since there is no other writer."""
        with self._database.transaction() as db:
            for row in rows:
                self.table(type(row)).write(db, row)

    def stamp(self, first: int, end: int) -> None:
        """Do nothing, because the lock on the folder excludes other writers."""

    def guard(self, check: Callable[[], None]) -> None:
        """Do nothing, because the lock on the folder excludes other owners."""


class SqliteTable(BufferedTable[R]):
    """All rows of one class. See `gossamer.store.Table`."""

    def __init__(self, database: Database, row: type[R], lifetime: float = 0.0) -> None:
        super().__init__(row)
        self._database, self._lifetime = database, lifetime
        self._types = {column.name: _column_type(column.kind) for column in columns_of(row)}
        json = [name for name, kind in self._types.items() if kind is None]
        self._codec = Codec(row, _reader, json)
        self._columns = ", ".join(f'"{name}"' for name in self._types)
        self._name = f'"{row.table}"'
        partition = partition_fields(row)
        self._keys = [*partition, *filter(None, [row.sort_key])]
        names = ", ".join(f'"{key}"' for key in self._keys)
        self._order = f'"{row.sort_key}"' if row.sort_key else "1"
        self._direction, self._beyond = ("DESC", "<") if row.newest_first else ("ASC", ">")
        where = " AND ".join(f'"{key}" = ?' for key in self._keys)
        self._within = "WHERE " + " AND ".join(f'"{key}" = ?' for key in partition)
        self._get = f"SELECT {self._columns} FROM {self._name} WHERE {where}"
        slots = ", ".join("?" * len(self._types))
        # Not REPLACE, so that a column of a newer version keeps its value.
        given = ", ".join(f'"{one}" = excluded."{one}"' for one in self._types.keys() - self._keys)
        self._put = (
            f"INSERT INTO {self._name} ({self._columns}) VALUES ({slots}) "
            f"ON CONFLICT ({names}) DO {f'UPDATE SET {given}' if given else 'NOTHING'}"
        )
        self._erase = f"DELETE FROM {self._name} WHERE {where}"
        self._drop = f"DELETE FROM {self._name} {self._within}"
        aged = f'SELECT {names} FROM {self._name} WHERE "{row.aged_by}" < ?'
        self._expire = (
            f"DELETE FROM {self._name} WHERE ({names}) IN "
            f'({aged} ORDER BY "{row.aged_by}" LIMIT {MAX_EXPIRED_ROWS})'
        )
        self._create()

    def _create(self) -> None:
        columns = {name: kind or "TEXT" for name, kind in self._types.items()}
        with self._database.transaction() as db:
            found = {row[1] for row in db.execute(f"PRAGMA table_info({self._name})")}
            if not found:
                typed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
                key = ", ".join(f'"{k}"' for k in self._keys)
                db.execute(
                    f"CREATE TABLE {self._name} ({typed}, PRIMARY KEY ({key})) WITHOUT ROWID"
                )
            for name in columns.keys() - found if found else ():
                db.execute(f'ALTER TABLE {self._name} ADD COLUMN "{name}" {columns[name]}')
            if self._lifetime:
                index, field = f"{self.row.table}_by_age", self.row.aged_by
                db.execute(f'CREATE INDEX IF NOT EXISTS "{index}" ON {self._name} ("{field}")')

    def _read(self, partition: Partition, sort: Sort) -> R | None:
        found = self._database.read(self._get, self.key_values(partition, sort))
        return self._codec.row(found[0]) if found else None

    def get_many(self, partition: Partition, sorts: Sequence[Sort]) -> list[R]:
        """Return the existing rows of *partition* with these sort keys, in any order."""
        if not self.row.sort_key:
            return self.get_all([(partition, "")])
        covered = [sort for sort in sorts if self.covers(partition, sort)]
        asked = [sort for sort in sorts if sort not in covered] if covered else sorts
        slots = ", ".join("?" * len(asked))
        found = self._database.read(
            f"SELECT {self._columns} FROM {self._name} {self._within} "
            f"AND {self._order} IN ({slots})",
            (*partition_values(partition), *asked),
        )
        buffered = [self.buffered(partition, sort) for sort in covered]
        return [row for row in buffered if row is not None] + [
            self._codec.row(one) for one in found
        ]

    def get_all(self, keys: Sequence[tuple[Partition, Sort]]) -> list[R]:
        """Return the existing rows with these partition and sort keys, in any order."""
        with self._database.reading() if len(keys) > 1 else nullcontext():
            found = [self.get(*each) for each in keys]
        return [row for row in found if row is not None]

    def read_ahead(self, keys: Iterable[tuple[Partition, Sort]]) -> None:
        """Do nothing, because reading rows together is not cheaper."""

    def put_if_absent(self, row: R) -> R:
        """Write *row* unless a row with its keys exists. Return the row that is stored then."""
        found = self.get(*self.keys(row))
        if found is None:
            self.put(row)
        return row if found is None else found

    def put_all_if_absent(self, rows: Sequence[R]) -> list[R]:
        """Apply `put_if_absent` to each of *rows*."""
        return [self.put_if_absent(row) for row in rows]

    def replace(self, row: R, old: R) -> None:
        """Write *row* if the stored row with its keys has the `holder` fields of *old*."""
        found = self.get(*self.keys(row))
        if found and holder_of(found) == holder_of(old):
            self.put(row)

    def _read_partition(self, partition: Partition, after: Sort | None, limit: int) -> list[R]:
        beyond = f"AND {self._order} {self._beyond} ?" if after is not None else ""
        bound = () if after is None else (after,)
        found = self._database.read(
            f"SELECT {self._columns} FROM {self._name} {self._within} "
            f"{beyond} ORDER BY {self._order} {self._direction} LIMIT {limit:d}",
            (*partition_values(partition), *bound),
        )
        return [self._codec.row(values) for values in found]

    def scan_all(
        self, partitions: Sequence[Partition], after: Sort | None = None, limit: int = 1000
    ) -> list[R]:
        """Return the results of `scan` for each of *partitions*."""
        return [row for partition in partitions for row in self.scan(partition, after, limit)]

    def scan_ahead(self, partitions: Iterable[Partition], limit: int = 1000) -> None:
        """Do nothing, because reading partitions together is not cheaper."""

    def everything(self) -> Iterator[R]:
        """Yield all flushed rows, page by page, so that others can write in between."""
        keys = self._keys
        names, beyond, last = ", ".join(f'"{key}"' for key in keys), "", tuple[Any, ...]()
        while True:
            with self._database.reading() as db:
                found = db.execute(
                    f"SELECT {self._columns} FROM {self._name} {beyond} ORDER BY {names} "
                    f"LIMIT {PAGE_ROWS}",
                    last,
                ).fetchall()
            rows = [self._codec.row(values) for values in found]
            yield from rows
            if len(rows) < PAGE_ROWS:
                return
            last = tuple(getattr(rows[-1], key) for key in keys)
            beyond = f"WHERE ({names}) > ({', '.join('?' * len(keys))})"

    def write(self, db: sqlite3.Connection, row: R) -> None:
        """Write *row* in the caller's transaction."""
        db.execute(self._put, self._codec.values(row))

    def flush(self, db: sqlite3.Connection) -> None:
        """Write buffered drops and rows in the caller's transaction."""
        values = self._codec.values
        rows = [values(row) for part in self.rows.values() for row in part.values()]
        if self.dropped:
            db.executemany(self._drop, map(partition_values, self.dropped))
        if self.erased:
            db.executemany(self._erase, starmap(self.key_values, self.erased))
        if rows:
            db.executemany(self._put, rows)
        if self._lifetime and rows:
            buffered = (row for part in self.rows.values() for row in part.values())
            # The earliest time, because a clock may have been ahead for some rows.
            now = min(getattr(row, self.row.aged_by) for row in buffered)
            db.execute(self._expire, (now - self._lifetime,))
        self.clear()


def _column_type(kind: Any) -> str | None:
    """Return the column type for a *kind*, or None if it is stored as JSON."""
    return "TEXT" if is_word(kind) else COLUMN_TYPES.get(kind)


def _reader(kind: Any) -> Reader:
    # SQLite has no booleans.
    return kind if is_word(kind) or kind is bool else None
