"""Writes that are not flushed yet, laid over what is stored: the same for every store."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Generic

from gossamer.store import R, Sort


class Overlay(Generic[R]):
    """What was put into one table, and dropped, since the last flush."""

    def __init__(self, row: type[R]) -> None:
        self._newest_first = row.newest_first
        self._partition = attrgetter(row.partition_key)
        self._sort = attrgetter(row.sort_key) if row.sort_key else None
        self.rows: dict[str, dict[Sort, R]] = {}
        """By partition key and sort key."""
        self.dropped: set[str] = set()
        """Partitions; what is in `rows` was put afterwards."""
        self.last: set[tuple[str, Sort]] = set()
        """Keys of the rows that are to be written with the drops."""

    def keys(self, row: R) -> tuple[str, Sort]:
        """Return the partition key and the sort key of *row*, "" if it has none."""
        return self._partition(row), self._sort(row) if self._sort else ""

    def put(self, row: R, last: bool = False) -> None:
        """Lay *row* over what is there."""
        keys = partition, sort = self.keys(row)
        self.rows.setdefault(partition, {})[sort] = row
        if last:
            self.last.add(keys)
        elif self.last:
            self.last.discard(keys)

    def drop(self, partition: str) -> None:
        """Cover the whole partition."""
        self.rows.pop(partition, None)
        self.dropped.add(partition)

    def get(self, partition: str, sort: Sort) -> R | None:
        """Return the row if it was put."""
        return self.rows.get(partition, {}).get(sort)

    def covers(self, partition: str, sort: Sort) -> bool:
        """Return whether what is stored under these keys no longer counts."""
        return partition in self.dropped or sort in self.rows.get(partition, ())

    def scan(
        self,
        partition: str,
        after: Sort | None,
        limit: int,
        stored: Callable[[str, Sort | None, int], Sequence[R]],
    ) -> list[R]:
        """Return the rows beyond *after* in order, with those that *stored* returns beneath."""
        beneath = () if partition in self.dropped else stored(partition, after, limit)
        put = self.rows.get(partition)
        if not put:
            return list(beneath)
        rows = {self.keys(row)[1]: row for row in beneath}
        rows.update((sort, row) for sort, row in put.items() if self._beyond(sort, after))
        return [rows[sort] for sort in sorted(rows, reverse=self._newest_first)][:limit]

    def _beyond(self, sort: Sort, after: Sort | None) -> bool:
        if after is None:
            return True
        return sort < after if self._newest_first else sort > after  # type: ignore[operator]

    def __bool__(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.rows or self.dropped)

    def clear(self) -> None:
        """Forget everything: it is stored."""
        self.rows.clear()
        self.dropped.clear()
        self.last.clear()
