"""Buffered writes over stored rows, so that reads include both, for the tables of every store."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Generic

from gossamer.store import Partition, R, Sort, partition_fields, partition_values


class BufferedTable(ABC, Generic[R]):
    """All rows of one class, with the rows, drops and erasures buffered since the last flush. See
    `gossamer.store.Table`."""

    def __init__(self, row: type[R]) -> None:
        self.row = row
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

    @abstractmethod
    def _read(self, partition: Partition, sort: Sort) -> R | None:
        """Return the stored row, or None."""

    @abstractmethod
    def _read_partition(self, partition: Partition, after: Sort | None, limit: int) -> Sequence[R]:
        """Return at most *limit* stored rows of *partition* beyond *after*."""

    def keys(self, row: R) -> tuple[Partition, Sort]:
        """Return the partition key and the sort key of *row*. The sort key may be ""."""
        return self._partition(row), self.sort_of(row)

    def sort_of(self, row: R) -> Sort:
        """Return the sort key of *row*, or "" if it has none."""
        return self._sort(row) if self._sort else ""

    def key_values(self, partition: Partition, sort: Sort) -> tuple[Sort, ...]:
        """Return the values of all fields of these keys."""
        values = partition_values(partition)
        return (*values, sort) if self.row.sort_key else values

    def put(self, row: R, last: bool = False) -> None:
        """Write the whole row over a row with its keys. *last*: flush it after the drops."""
        keys = partition, sort = self.keys(row)
        self.rows.setdefault(partition, {})[sort] = row
        if last:
            self.last.add(keys)
        elif self.last:
            self.last.discard(keys)

    def drop(self, partition: Partition) -> None:
        """Remove the whole partition."""
        self.rows.pop(partition, None)
        self.dropped.add(partition)

    def erase(self, partition: Partition, sort: Sort = "") -> None:
        """Remove one row, if it exists."""
        self.rows.get(partition, {}).pop(sort, None)
        self.last.discard((partition, sort))
        self.erased.add((partition, sort))

    def get(self, partition: Partition, sort: Sort = "") -> R | None:
        """Return the row, or None."""
        row = self.rows.get(partition, {}).get(sort)
        # If another thread flushes between these two lines, the row is read from the store.
        if row is not None or partition in self.dropped or (partition, sort) in self.erased:
            return row
        return self._read(partition, sort)

    def buffered(self, partition: Partition, sort: Sort) -> R | None:
        """Return the row if it is buffered."""
        return self.rows.get(partition, {}).get(sort)

    def covers(self, partition: Partition, sort: Sort) -> bool:
        """Return whether the buffer, and not the stored table, decides about these keys."""
        return (
            partition in self.dropped
            or sort in self.rows.get(partition, ())
            or (partition, sort) in self.erased
        )

    def scan(self, partition: Partition, after: Sort | None = None, limit: int = 1000) -> list[R]:
        """Return at most *limit* rows of *partition* in the order of their keys, beyond *after*."""
        return self.scan_over(self._read_partition, partition, after, limit)

    def scan_over(
        self,
        read: Callable[[Partition, Sort | None, int], Sequence[R]],
        partition: Partition,
        after: Sort | None,
        limit: int,
    ) -> list[R]:
        """Return the result of `scan` with the stored rows that *read* returns."""
        erased = sum(at == partition for at, _ in self.erased)
        found = () if partition in self.dropped else read(partition, after, limit + erased)
        below = [row for row in found if self.keys(row) not in self.erased] if erased else found
        buffered = self.rows.get(partition)
        if not buffered:
            return list(below)[:limit]
        rows = {self.keys(row)[1]: row for row in below}
        rows.update((sort, row) for sort, row in buffered.items() if self.is_beyond(row, after))
        return [rows[sort] for sort in sorted(rows, reverse=self.row.newest_first)][:limit]

    def is_beyond(self, row: R, after: Sort | None) -> bool:
        """Return whether *row* comes after the sort key *after*; None stands for the start."""
        if after is None:
            return True
        sort = self.sort_of(row)
        return sort < after if self.row.newest_first else sort > after  # type: ignore[operator]

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to flush."""
        return bool(self.rows or self.dropped or self.erased)

    def clear(self) -> None:
        """Forget all buffered writes."""
        self.rows.clear()
        self.dropped.clear()
        self.erased.clear()
        self.last.clear()
