"""Buffered writes over stored rows, so that reads include both, for every store."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Generic

from gossamer.store import Partition, R, Sort, partition_fields


class Overlay(Generic[R]):
    """The buffered rows, drops and erasures of one table since the last flush."""

    def __init__(self, row: type[R]) -> None:
        self._newest_first = row.newest_first
        self._partition = attrgetter(*partition_fields(row))
        self._sort = attrgetter(row.sort_key) if row.sort_key else None
        self.rows: dict[Partition, dict[Sort, R]] = {}
        """The buffered rows by partition key and sort key."""
        self.dropped: set[Partition] = set()
        """The dropped partitions. Their rows in `rows` were put afterwards."""
        self.erased: set[tuple[Partition, Sort]] = set()
        """The keys of erased rows. Such rows in `rows` were put afterwards."""
        self.last: set[tuple[Partition, Sort]] = set()
        """Keys of the rows that are flushed after the drops."""

    def keys(self, row: R) -> tuple[Partition, Sort]:
        """Return the partition key and the sort key of *row*. The sort key may be ""."""
        return self._partition(row), self.sort_of(row)

    def sort_of(self, row: R) -> Sort:
        """Return the sort key of *row*, or "" if it has none."""
        return self._sort(row) if self._sort else ""

    def put(self, row: R, last: bool = False) -> None:
        """Buffer *row*."""
        keys = partition, sort = self.keys(row)
        self.rows.setdefault(partition, {})[sort] = row
        if last:
            self.last.add(keys)
        elif self.last:
            self.last.discard(keys)

    def drop(self, partition: Partition) -> None:
        """Hide the stored rows of *partition*, and forget its buffered rows."""
        self.rows.pop(partition, None)
        self.dropped.add(partition)

    def erase(self, partition: Partition, sort: Sort) -> None:
        """Hide the stored row with these keys, and forget the buffered one."""
        self.rows.get(partition, {}).pop(sort, None)
        self.last.discard((partition, sort))
        self.erased.add((partition, sort))

    def get(self, partition: Partition, sort: Sort) -> R | None:
        """Return the row if it is buffered."""
        return self.rows.get(partition, {}).get(sort)

    def covers(self, partition: Partition, sort: Sort) -> bool:
        """Return whether the buffer, and not the stored table, decides about these keys."""
        return (
            partition in self.dropped
            or sort in self.rows.get(partition, ())
            or (partition, sort) in self.erased
        )

    def scan(
        self,
        partition: Partition,
        after: Sort | None,
        limit: int,
        stored: Callable[[Partition, Sort | None, int], Sequence[R]],
    ) -> list[R]:
        """Return the rows beyond *after* in order: buffered rows override those that *stored*
        returns."""
        erased = sum(at == partition for at, _ in self.erased)
        found = () if partition in self.dropped else stored(partition, after, limit + erased)
        below = [row for row in found if self.keys(row) not in self.erased] if erased else found
        buffered = self.rows.get(partition)
        if not buffered and erased:
            return list(below)[:limit]
        if not buffered:
            return list(below)
        rows = {self.keys(row)[1]: row for row in below}
        rows.update((sort, row) for sort, row in buffered.items() if self.is_beyond(row, after))
        return [rows[sort] for sort in sorted(rows, reverse=self._newest_first)][:limit]

    def is_beyond(self, row: R, after: Sort | None) -> bool:
        """Return whether *row* comes after the sort key *after*; None stands for the start."""
        if after is None:
            return True
        sort = self.sort_of(row)
        return sort < after if self._newest_first else sort > after  # type: ignore[operator]

    def __bool__(self) -> bool:
        """Return whether there is anything to flush."""
        return bool(self.rows or self.dropped or self.erased)

    def clear(self) -> None:
        """Forget everything after a flush."""
        self.rows.clear()
        self.dropped.clear()
        self.erased.clear()
        self.last.clear()
