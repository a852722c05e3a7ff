"""A store that records rows that are read one by one although they could have been read ahead."""

from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.sqlite import Database
from gossamer.store import Partition, Row, Sort, keys_of
from gossamer.store.sqlite import SqliteStore


class ReadAheadStore(SqliteStore):
    """*alone* has the rows that were read without being read ahead or put before."""

    def __init__(self) -> None:
        super().__init__(Database(":memory:"))
        self.cached_keys = set[tuple[type[Row], Partition, Sort]]()
        self.alone = list[tuple[str, Partition, Sort]]()

    def table(self, row: type[Any]) -> Any:
        """Return the table of *row*, which records its reads."""
        return _RecordingTable(super().table(row), row, self)

    def flush(self) -> None:
        """Flush the store, which clears the rows that were read ahead."""
        super().flush()
        self.cached_keys.clear()


class _RecordingTable:
    def __init__(self, table: Any, row: type[Row], store: ReadAheadStore) -> None:
        self._table, self._row, self._store = table, row, store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def read_ahead(self, keys: Iterable[tuple[Partition, Sort]]) -> None:
        self._store.cached_keys |= {(self._row, *key) for key in keys}

    def get(self, partition: Partition, sort: Sort = "") -> Any:
        self._note([(partition, sort)])
        return self._table.get(partition, sort)

    def get_all(self, keys: Sequence[tuple[Partition, Sort]]) -> Any:
        self._note(keys)
        return self._table.get_all(keys)

    def put(self, row: Row, last: bool = False) -> None:
        self._store.cached_keys.add(_key(row))
        self._table.put(row, last)

    def put_if_absent(self, row: Row) -> Any:
        return self.put_all_if_absent([row])[0]

    def put_all_if_absent(self, rows: Sequence[Row]) -> Any:
        self._store.cached_keys |= {_key(row) for row in rows}
        return self._table.put_all_if_absent(rows)

    def _note(self, keys: Iterable[tuple[Partition, Sort]]) -> None:
        unknown = (key for key in keys if (self._row, *key) not in self._store.cached_keys)
        self._store.alone += [(self._row.table, *key) for key in unknown]


def _key(row: Row) -> tuple[type[Row], Partition, Sort]:
    return type(row), *keys_of(row)
