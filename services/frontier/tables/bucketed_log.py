"""Rows in numbered buckets of a table: appended, read by a cursor, and dropped a bucket at a time.

Rows are not deleted from a bucket one by one, unless their crawl is removed, because Cassandra pays
for deleted rows at every later read. Host queues, parked URLs, calendars and the directory are
stored in this way.

**Which buckets exist** is stored in another row, so nothing searches for buckets. Queues and parked
URLs are appended to: their rows have positions, and another row has the ends (`BucketEnds`). A
flush that a crash interrupted may leave rows after the end, which do not count. Calendars choose
the bucket by time, and another row has the range (`BucketRange`). The directory has a list of its
buckets.

A range or a list still names a dropped bucket at its next write, and no longer at the write after
that. It is written before the rows of the hosts and URLs that left the bucket: after a crash
between the two writes, the bucket must still be found.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated, Any, Generic, TypeVar

from msgspec.structs import replace

from gossamer.log import key_group_of
from gossamer.services.frontier.tables.totals import MAX, Portion, Rule
from gossamer.store import ColumnGroup, Partition, R, Row, Sort, Table
from gossamer.web.url import Site

PAGE_SIZE = 500
"""Rows of one read. The calendar's rows have two nulls each, and Cassandra warns at a read of more
than 1,000 nulls."""
BUCKETS_PER_READ = 50
"""Buckets of a range whose rows are read together."""


class BucketEnds(ColumnGroup, frozen=True):
    """The first and the last bucket of rows that are appended."""

    head: int = 0
    """The first bucket with rows."""
    tail: int = 0
    """The bucket that rows are appended to."""
    tail_size: int = 0
    """Rows that were appended to the tail bucket."""

    @property
    def buckets(self) -> range:
        """The numbers of all buckets, in order."""
        return range(self.head, self.tail + 1)


def _merge_numbers(numbers: Iterable[Iterable[int]]) -> tuple[int, ...]:
    return tuple(sorted({one for some in numbers for one in some}))


def _divide_groups(groups: Iterable[int], nothing: object, part: Portion) -> tuple[int, ...]:
    return tuple(group for group in groups if group in part.groups)


GROUPS = Rule(_merge_numbers, _divide_groups)
"""The rule of the key groups of rows. The rows do not name a partition."""
BUCKETS = Rule(_merge_numbers, MAX.divide)


class BucketList(ColumnGroup, frozen=True):
    """The buckets that may have rows."""

    buckets: Annotated[tuple[int, ...], BUCKETS] = ()
    groups: Annotated[tuple[int, ...], GROUPS] = ()
    """The key groups of the rows' sites."""


class BucketRange(ColumnGroup, frozen=True):
    """The first and the last bucket that may have rows; null without one."""

    first: int | None = None
    last: int | None = None
    groups: tuple[int, ...] = ()
    """The key groups of the rows' sites."""


NO_BUCKETS = BucketRange()


def merge_ranges(ranges: Iterable[BucketRange]) -> BucketRange:
    """Return the smallest range that includes all *ranges*."""
    found = [one for one in ranges if one != NO_BUCKETS]
    if not found:
        return NO_BUCKETS
    return BucketRange(
        min(one.first or 0 for one in found),
        max(one.last or 0 for one in found),
        _merge_numbers(one.groups for one in found),
    )


def _divide_range(found: BucketRange, nothing: BucketRange, part: Portion) -> BucketRange:
    groups = _divide_groups(found.groups, (), part)
    return replace(found, groups=groups) if groups else nothing


RANGE = Rule(merge_ranges, _divide_range)


E = TypeVar("E", bound=BucketEnds)


class BucketedLog(Generic[R]):
    """The rows of *table* in the buckets `<name>/<number>`."""

    def __init__(self, table: Table[R], name: str, crawl: str = "") -> None:
        """*crawl*: the first field of the partition key, if the table's key has one."""
        self._table, self._name, self._crawl = table, name, crawl
        self._dropped = set[int]()

    def bucket(self, number: int) -> str:
        """Return the value of the column `bucket` in the rows of a bucket."""
        return f"{self._name}/{number}"

    def key(self, number: int) -> Partition:
        """Return the partition key of a bucket's rows."""
        return (self._crawl, self.bucket(number)) if self._crawl else self.bucket(number)

    def put(self, number: int, row: R, **changes: Any) -> R:
        """Write *row*, with *changes*, into the bucket *number*; return it as written."""
        row = replace(row, bucket=self.bucket(number), **changes)
        self._table.put(row)
        return row

    def append(self, ends: E, row: R, size: int) -> tuple[R, E]:
        """Write *row* at the end; a bucket has *size* rows. Return the written row and the new
        ends."""
        if ends.tail_size >= size:
            ends = next_bucket(ends)
        row = self.put(ends.tail, row, bucket_index=ends.tail_size)
        return row, replace(ends, tail_size=ends.tail_size + 1)

    def page(self, number: int, after: Sort | None = None, limit: int = PAGE_SIZE) -> list[R]:
        """Return at most *limit* rows of a bucket, after the sort key *after*."""
        return self._table.scan(self.key(number), after, limit)

    def rows(
        self, first: int, last: int, after: Sort | None = None, end: int | None = None
    ) -> Iterator[R]:
        """Yield the rows of the buckets *first* to *last*, after the sort key *after* in the first
        bucket, and before the position *end* in the last."""
        for number in range(first, last + 1):
            has_more = True
            while has_more:
                page = self.page(number, after)
                for row in page:
                    after = key = getattr(row, row.sort_key)
                    if end is not None and number == last and key >= end:
                        return
                    yield row
                has_more = len(page) == PAGE_SIZE
            after = None

    def all_rows(self, ends: BucketEnds) -> Iterator[R]:
        """Yield the rows of all buckets. Rows after the end do not count."""
        return self.rows(ends.head, ends.tail, end=ends.tail_size)

    def drop(self, number: int) -> None:
        """Remove all rows of a bucket."""
        self._table.drop(self.key(number))
        self._dropped.add(number)

    def drop_all(self, ends: BucketEnds) -> None:
        """Remove all rows of all buckets."""
        for number in ends.buckets:
            self.drop(number)

    @property
    def has_dropped(self) -> bool:
        """Whether buckets were dropped since the last call of `pop_dropped`."""
        return bool(self._dropped)

    def pop_dropped(self) -> set[int]:
        """Return the buckets that were dropped since the last call: the next write still names
        them."""
        dropped, self._dropped = self._dropped, set()
        return dropped


class GroupedLog(BucketedLog[R]):
    """The rows of a partition in the buckets `<name>/<key group>/<number>`, read as one log.

    The key group is that of the row's site. It does not change with the number of partitions, so
    rows need not move.
    """

    def __init__(self, table: Table[R], name: str, groups: Iterable[int]) -> None:
        """*groups*: the key groups that may have rows. Others are added with their first row."""
        super().__init__(table, name)
        self.logs = {group: self._log(group) for group in groups}

    def _log(self, group: int) -> BucketedLog[R]:
        return BucketedLog(self._table, f"{self._name}/{group}")

    def put(self, number: int, row: R, **changes: Any) -> R:
        """Write *row*, with *changes*, into the bucket *number* of its site's group."""
        site: Site = row.site  # type: ignore[attr-defined]
        if (group := key_group_of(site)) not in self.logs:
            self.logs[group] = self._log(group)
        return self.logs[group].put(number, row, **changes)

    def page(self, number: int, after: Sort | None = None, limit: int = PAGE_SIZE) -> list[R]:
        """Return at most *limit* rows of a bucket, after the sort key *after*."""
        found = self._table.scan_all(self.keys(number), after, limit)
        return sorted(found, key=_sort_key)[:limit]

    def keys(self, number: int) -> list[Partition]:
        """Return the partition keys of a bucket's rows, of all groups."""
        return [log.key(number) for log in self.logs.values()]

    def read_ahead(self, first: int, last: int) -> None:
        """Read the first rows of the buckets *first* to *last* together."""
        keys = [key for number in range(first, last + 1) for key in self.keys(number)]
        self._table.scan_ahead(keys, PAGE_SIZE)

    def erase(self, row: R) -> None:
        """Remove *row*, which was read from its bucket, because its crawl is removed."""
        self._table.erase(_bucket_of(row), _sort_key(row))

    def drop(self, number: int) -> None:
        """Remove all rows of a bucket."""
        for log in self.logs.values():
            log.drop(number)
        self._dropped.add(number)


def _bucket_of(row: Row) -> Partition:
    """Return the partition key of a row of a grouped log."""
    bucket: str = row.bucket  # type: ignore[attr-defined]
    return bucket


def _sort_key(row: Row) -> Any:
    return getattr(row, row.sort_key)


class RangedLog(GroupedLog[R]):
    """A grouped log in a range of buckets."""

    def __init__(
        self, table: Table[R], name: str, found: BucketRange = NO_BUCKETS, start: int = 0
    ) -> None:
        """*found*: the stored range; an empty range begins at *start*."""
        super().__init__(table, name, found.groups)
        self.first = start if found.first is None else found.first
        self.last = self.first - 1 if found.last is None else found.last

    def put(self, number: int, row: R, **changes: Any) -> R:
        """Write *row*, with *changes*, into the bucket *number*, which may be before the first: a
        clock may have been ahead."""
        self.first, self.last = min(self.first, number), max(self.last, number)
        return super().put(number, row, **changes)

    def __iter__(self) -> Iterator[R]:
        """Yield all rows in the order of their buckets. Many buckets are read together, because
        most of a long range are empty."""
        for first in range(self.first, self.last + 1, BUCKETS_PER_READ):
            numbers = range(first, min(first + BUCKETS_PER_READ, self.last + 1))
            keys = [key for number in numbers for key in self.keys(number)]
            by_key = defaultdict[Partition, list[R]](list)
            for row in self._table.scan_all(keys, limit=PAGE_SIZE):
                by_key[_bucket_of(row)].append(row)
            for number in numbers:
                found = [by_key[key] for key in self.keys(number)]
                if max(map(len, found), default=0) < PAGE_SIZE:
                    yield from sorted(chain(*found), key=_sort_key)
                else:
                    yield from self.rows(number, number)

    def skip_to(self, following: int) -> None:
        """Make *following* the first bucket. The buckets before it were dropped or are empty."""
        self.first = max(self.first, following)

    def range_to_write(self) -> BucketRange:
        """Return the range, including the buckets that were dropped since the last call."""
        first = min({self.first, *self.pop_dropped()})
        if first > self.last:
            self.logs.clear()
            return NO_BUCKETS
        return BucketRange(first, self.last, tuple(sorted(self.logs)))


def next_bucket(ends: E) -> E:
    """Return *ends* with a new tail bucket."""
    return replace(ends, tail=ends.tail + 1, tail_size=0)
