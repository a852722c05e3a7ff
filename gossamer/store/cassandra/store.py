"""The store on Cassandra: a table for each row class, with typed columns for queries in `cqlsh`.

Every write has our timestamp, so that repeated or reordered writes change nothing. Timestamps
follow the clock. Those of an owner stay inside its leased window, so that late writes of a former
owner never replace the owner's writes.

Requests to nodes that are unavailable for a moment are retried (`errors.py`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import Any, Generic, NamedTuple

from gossamer.errors import GossamerError
from gossamer.settings.servers import CassandraSettings
from gossamer.store import Partition, R, Row, Sort, holder_of, partition_fields, partition_values
from gossamer.store.cassandra.cql import Columns, Statements, all_columns_of, bucket_of
from gossamer.store.cassandra.errors import RetryBudget
from gossamer.store.cassandra.session import Cassandra, Write
from gossamer.store.cassandra.tables import check_consistency, read_tables, table_problems
from gossamer.store.cassandra.writes import Timestamps
from gossamer.store.overlay import BufferedTable
from gossamer.telemetry.timing import observe_duration

PARTITIONS_PER_READ = 10
"""Maximum number of partitions in one read request."""
ROWS_PER_READ = 100
"""Maximum number of a partition's rows in one read request."""


class CassandraStore:
    """The tables of one service in a keyspace. See `gossamer.store.Store`."""

    def __init__(self, settings: CassandraSettings) -> None:
        self._nodes = Cassandra(settings)
        self._keyspace = settings.keyspace
        self._timestamps, self._retry_budget = Timestamps(), RetryBudget()
        self._guard: Callable[[], None] = _check_nothing
        self._tables: dict[type[Row], Any] = {}
        try:
            self._found = read_tables(self._nodes, settings.keyspace)
            check_consistency(self._nodes, settings)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the session with the nodes."""
        self._nodes.close()

    def table(self, row: type[R]) -> "CassandraTable[R]":
        """Return the table of *row*. Raise GossamerError if it is missing or differs."""
        if row not in self._tables:
            self._check(row)
            self._tables[row] = CassandraTable(
                self._nodes, self._keyspace, row, self._timestamps, self._retry_budget
            )
        table: CassandraTable[R] = self._tables[row]
        return table

    def _check(self, row: type[Row]) -> None:
        if table_problems(row, self._found):
            self._found = read_tables(self._nodes, self._keyspace)
        if problems := table_problems(row, self._found):
            raise GossamerError(
                f"{self._nodes.where}, keyspace {self._keyspace}: {'; '.join(problems)}: "
                "run gossamer store apply"
            )

    def flush(self) -> None:
        """Write all buffered rows and drops, and clear the buffers once everything is acknowledged.

        Deletes are sent last, but with an older timestamp than the puts, so that rows that were put
        after a drop survive.
        """
        self._guard()
        tables = [table for table in self._tables.values() if table.is_changed]
        if tables:
            with observe_duration("gossamer_store_flush_seconds"):
                dropped, put = self._timestamps.next(), self._timestamps.next()
                self._retry_budget.ask(partial(self._write, tables, dropped, put))
        self.discard()
        if tables:
            self._guard()

    def _write(self, tables: "list[CassandraTable[Any]]", dropped: int, put: int) -> None:
        """Write the buffers of *tables*, with separate timestamps for deletes and puts."""
        for decides in (False, True):
            stage = [table for table in tables if table.row.decides is decides]
            self._nodes.write(chain.from_iterable(table.puts(put, last=False) for table in stage))
        self._nodes.write(chain.from_iterable(table.drops(dropped) for table in tables))
        self._nodes.write(chain.from_iterable(table.erasures(dropped) for table in tables))
        self._nodes.write(chain.from_iterable(table.puts(put, last=True) for table in tables))

    def discard(self) -> None:
        """Forget all writes since the last flush."""
        self._retry_budget.renew()
        for table in self._tables.values():
            table.clear()

    def write(self, rows: Sequence[Row], timestamp: int) -> None:
        """Write *rows* at once, with *timestamp*."""
        writes = [self.table(type(row)).write(row, timestamp) for row in rows]
        self._retry_budget.ask(partial(self._nodes.write, writes))

    def stamp(self, first: int, end: int) -> None:
        """Use write timestamps from *first* to below *end* for the next flushes."""
        self._timestamps.stamp(first, end)

    def guard(self, check: Callable[[], None]) -> None:
        """Call *check* before each flush, and after each flush that writes."""
        self._guard = check


def _check_nothing() -> None:
    """Accept every flush, because nothing has been claimed yet."""


class FirstRows(NamedTuple, Generic[R]):
    """The rows that a scan of a partition returned, which was limited to a number of rows."""

    rows: Sequence[R]
    limit: int


class CassandraTable(BufferedTable[R]):
    """All rows of one class. See `gossamer.store.Table`."""

    def __init__(
        self,
        nodes: Cassandra,
        keyspace: str,
        row: type[R],
        timestamps: Timestamps,
        retry_budget: RetryBudget,
    ) -> None:
        super().__init__(row)
        self._nodes, self._timestamps, self._retry_budget = nodes, timestamps, retry_budget
        self._statements, self._columns = Statements(keyspace, row), Columns(row)
        self._ahead: dict[tuple[Partition, Sort], R | None] = {}
        """Rows read ahead by partition and sort key; None for a row that does not exist."""
        self._scanned: dict[Partition, FirstRows[R]] = {}
        """The partitions that were scanned ahead."""

    def _read(self, partition: Partition, sort: Sort) -> R | None:
        ahead = self._ahead
        if (partition, sort) in ahead:
            return ahead[partition, sort]
        found = self._query(self._statements.get, *self._keys(partition, sort))
        return found[0] if found else None

    def get_many(self, partition: Partition, sorts: Sequence[Sort]) -> list[R]:
        """Return the existing rows of *partition* with these sort keys, in any order."""
        buffered = [self.buffered(partition, sort) for sort in sorts]
        others = [sort for sort in sorts if not self.covers(partition, sort)]
        cached = self._ahead  # The same mapping for both lines: another thread may flush.
        asked = [sort for sort in others if (partition, sort) not in cached]
        ahead = [cached.get((partition, sort)) for sort in others]
        found = self._read_many(partition, asked) if asked else []
        return [*found, *(row for row in [*buffered, *ahead] if row is not None)]

    def _read_many(self, partition: Partition, sorts: list[Sort]) -> list[R]:
        if not self.row.sort_key:
            return self._query(self._statements.get, *partition_values(partition))
        values = partition_values(partition)
        if self.row.buckets == 1:
            return self._query(self._statements.get_many, *values, sorts)
        buckets = sorted({bucket_of(self.row, sort) for sort in sorts})
        return self._query(self._statements.get_many, *values, buckets, sorts)

    def get_all(self, keys: Sequence[tuple[Partition, Sort]]) -> list[R]:
        """Return the existing rows with these partition and sort keys, in any order."""
        others = [each for each in keys if not self.covers(*each)]
        cached = self._ahead  # As in `get_many`.
        asked = [self._keys(*each) for each in others if each not in cached]
        buffered = [self.buffered(*each) for each in keys]
        ahead = [cached.get(each) for each in others]
        return [*self._read_all(asked), *(row for row in [*buffered, *ahead] if row is not None)]

    def read_ahead(self, keys: Iterable[tuple[Partition, Sort]]) -> None:
        """Cache the rows with these keys for reads until the next flush."""
        asked: dict[tuple[Partition, Sort], R | None] = dict.fromkeys(
            each for each in keys if each not in self._ahead and not self.covers(*each)
        )
        found = self._read_all([self._keys(*each) for each in asked])
        self._ahead |= asked | {self.keys(row): row for row in found}

    def clear(self) -> None:
        """Forget buffered writes and cached rows."""
        super().clear()
        self._ahead, self._scanned = {}, {}

    def _forget_read(self, partition: Partition, sort: Sort) -> None:
        """Forget what was read ahead about a row that is written at once."""
        self._ahead.pop((partition, sort), None)
        self._scanned.pop(partition, None)

    def _read_all(self, keys: list[tuple[Sort, ...]]) -> Iterable[R]:
        # Grouped, because a request costs more than a row.
        ways = list[tuple[str, list[Sequence[Any]]]]()
        if self.row.sort_key:
            by_partition = _by_partition(keys, self.row.buckets > 1)
            ways.append((self._statements.get_many, [*by_partition]))
        if self.row.buckets == 1:
            ways.append((self._statements.get_several, [*_by_sort_key(keys, self.row)]))
        cql, requests = min(ways, key=lambda way: len(way[1]))
        found = self._retry_budget.ask(partial(self._nodes.query_all, cql, requests))
        return map(self._columns.row, found)

    def put_if_absent(self, row: R) -> R:
        """Write *row* unless a row with its keys exists. Return the row that is stored then.

        It is written at once, unless the row was put, dropped or erased since the last flush. Then
        the buffer decides.
        """
        return self.put_all_if_absent([row])[0]

    def put_all_if_absent(self, rows: Sequence[R]) -> list[R]:
        """Apply `put_if_absent` to each of *rows* concurrently."""
        keys = [self.keys(row) for row in rows]
        asked = [at for at, each in enumerate(keys) if not self.covers(*each)]
        existing = dict(zip(asked, self._write_if_absent([rows[at] for at in asked]), strict=True))
        return [existing.get(at) or self._put_if_absent(row) for at, row in enumerate(rows)]

    def _put_if_absent(self, row: R) -> R:
        buffered = self.buffered(*self.keys(row))
        if buffered is None:
            self.put(row)
        return buffered or row

    def _write_if_absent(self, rows: Sequence[R]) -> list[R]:
        self._timestamps.wait_to_pass()
        keys = [self.keys(row) for row in rows]
        for each in keys:
            self._forget_read(*each)
        insert = partial(
            self._nodes.insert_if_absent,
            self._statements.put_if_absent,
            [self._columns.values(row) for row in rows],
            self._statements.get,
            [self._keys(*each) for each in keys],
        )
        existing = self._retry_budget.ask(insert)
        found = zip(existing, rows, strict=True)
        return [self._columns.named_row(values) if values else row for values, row in found]

    def replace(self, row: R, old: R) -> None:
        """Write *row* if the stored row with its keys has the `holder` fields of *old*."""
        holder = holder_of(old)
        keys = self.keys(row)
        if self.covers(*keys):
            buffered = self.buffered(*keys)
            if buffered and holder_of(buffered) == holder:
                self.put(row)
            return
        self._forget_read(*keys)
        named = dict(zip(all_columns_of(self.row), self._columns.values(row), strict=True))
        values = [named[name] for name in self._statements.replaced]
        self._nodes.update_if(self._statements.replace, [*values, *holder])

    def scan_all(
        self, partitions: Sequence[Partition], after: Sort | None = None, limit: int = 1000
    ) -> list[R]:
        """Return the results of `scan` for each of *partitions*, many of which are read
        concurrently."""
        pages = self._pages(partitions, after, limit + len(self.erased))

        def first_rows(partition: Partition, _: Sort | None, most: int) -> list[R]:
            return pages.get(partition, [])[:most]

        found = (self.scan_over(first_rows, one, after, limit) for one in partitions)
        return [row for rows in found for row in rows]

    def scan_ahead(self, partitions: Iterable[Partition], limit: int = 1000) -> None:
        """Cache the first *limit* rows of each of *partitions* for scans until the next flush."""
        asked = [one for one in dict.fromkeys(partitions) if one not in self._scanned]
        pages = self._pages(asked, None, limit)
        self._scanned |= {one: FirstRows(pages.get(one, [])[:limit], limit) for one in asked}

    def _find_scanned(
        self, partition: Partition, after: Sort | None, limit: int
    ) -> Sequence[R] | None:
        """Return at most *limit* rows of *partition* beyond *after*, if they were scanned ahead;
        None if the table must be read."""
        if (scanned := self._scanned.get(partition)) is None:
            return None
        rows, is_whole = scanned.rows, len(scanned.rows) < scanned.limit
        if not is_whole and (after is not None or limit > scanned.limit):
            return None
        return [row for row in rows if self.is_beyond(row, after)][:limit]

    def _pages(
        self, partitions: Sequence[Partition], after: Sort | None, limit: int
    ) -> dict[Partition, list[R]]:
        known = {one: self._find_scanned(one, after, limit) for one in partitions}
        asked = [one for one, rows in known.items() if rows is None]
        cached = {one: [*rows] for one, rows in known.items() if rows is not None}
        return cached | (self._read_pages(asked, after, limit) if asked and limit else {})

    def _read_pages(
        self, asked: Sequence[Partition], after: Sort | None, limit: int
    ) -> dict[Partition, list[R]]:
        statement, bound = self._scan_statement(after, limit)
        keys = [(*part, *bound) for one in asked for part in self._parts(one)]
        found = self._retry_budget.ask(partial(self._nodes.query_all, statement, keys))
        pages = defaultdict[Partition, list[R]](list)
        for row in map(self._columns.row, found):
            pages[self.keys(row)[0]].append(row)
        for rows in pages.values():
            rows.sort(key=self.sort_of, reverse=self.row.newest_first)
        return pages

    def _read_partition(self, partition: Partition, after: Sort | None, limit: int) -> Sequence[R]:
        if limit < 1:
            return []
        if (scanned := self._find_scanned(partition, after, limit)) is not None:
            return scanned
        statement, bound = self._scan_statement(after, limit)
        found = (self._query(statement, *keys, *bound) for keys in self._parts(partition))
        rows = merge(*found, key=self.sort_of, reverse=self.row.newest_first)
        return list(islice(rows, limit))

    def _scan_statement(self, after: Sort | None, limit: int) -> tuple[str, tuple[Sort, ...]]:
        """Return the statement of a scan beyond *after*, and its values behind the partition's."""
        if after is None:
            return self._statements.scan, (limit,)
        return self._statements.scan_beyond, (after, limit)

    def _parts(self, partition: Partition) -> Iterator[tuple[Sort, ...]]:
        """Yield the keys of Cassandra's partitions with the rows of *partition*."""
        values: tuple[Sort, ...] = partition_values(partition)
        if self.row.buckets == 1:
            yield values
        else:
            yield from ((*values, bucket) for bucket in range(self.row.buckets))

    def everything(self) -> Iterator[R]:
        """Yield all flushed rows in any order."""
        found = self._nodes.query_whole(self._statements.everything)
        return (self._columns.row(values) for values in found)

    def write(self, row: R, timestamp: int) -> Write:
        """Return the write of *row* with *timestamp*."""
        self._forget_read(*self.keys(row))
        return Write(timestamp, self._statements.put, [self._columns.values(row)])

    def puts(self, timestamp: int, last: bool) -> Iterator[Write]:
        """Yield the writes of the rows put *last*, or of all other rows."""
        put_last = self.last
        if last and not put_last:
            return
        for partition, rows in self.rows.items():
            chosen = (
                [row for sort, row in rows.items() if ((partition, sort) in put_last) is last]
                if put_last
                else rows.values()
            )
            for part in self._by_bucket(chosen):
                yield Write(timestamp, self._statements.put, map(self._columns.values, part))

    def _by_bucket(self, rows: Iterable[R]) -> Iterable[Iterable[R]]:
        if self.row.buckets == 1:
            return (rows,)
        buckets: dict[int, list[R]] = {}
        for row in rows:
            bucket = bucket_of(self.row, self.sort_of(row))
            buckets.setdefault(bucket, []).append(row)
        return buckets.values()

    def drops(self, timestamp: int) -> Iterator[Write]:
        """Yield the deletes of the dropped partitions."""
        for partition in self.dropped:
            for keys in self._parts(partition):
                yield Write(timestamp, self._statements.drop, [keys])

    def erasures(self, timestamp: int) -> Iterator[Write]:
        """Yield the deletes of the erased rows."""
        for partition, sort in self.erased:
            yield Write(timestamp, self._statements.erase, [self._keys(partition, sort)])

    def _query(self, cql: str, *values: Any) -> list[R]:
        rows = self._retry_budget.ask(partial(self._nodes.query, cql, values))
        return [self._columns.row(found) for found in rows]

    def _keys(self, partition: Partition, sort: Sort) -> tuple[Sort, ...]:
        if self.row.buckets > 1:
            return *partition_values(partition), bucket_of(self.row, sort), sort
        return self.key_values(partition, sort)


def _by_partition(keys: Iterable[tuple[Sort, ...]], has_buckets: bool) -> Iterator[Sequence[Any]]:
    """Yield the values of read requests for *keys*, each for rows of one partition of Cassandra."""
    for partition, sorts in _by_first_values(keys).items():
        values: Sequence[Any] = (*partition[:-1], [partition[-1]]) if has_buckets else partition
        for at in range(0, len(sorts), ROWS_PER_READ):
            yield *values, sorts[at : at + ROWS_PER_READ]


def _by_sort_key(keys: Iterable[tuple[Sort, ...]], row: type[Row]) -> Iterator[Sequence[Any]]:
    """Yield the values of read requests for *keys*, each for several partitions of Cassandra that
    differ only in the last field of their keys, and for one sort key."""
    last = len(partition_fields(row)) - 1
    grouped = _by_first_values((*key[:last], *key[last + 1 :], key[last]) for key in keys)
    for values, partitions in grouped.items():
        for at in range(0, len(partitions), PARTITIONS_PER_READ):
            yield *values[:last], partitions[at : at + PARTITIONS_PER_READ], *values[last:]


def _by_first_values(keys: Iterable[tuple[Sort, ...]]) -> dict[tuple[Sort, ...], list[Sort]]:
    """Group the last values of *keys* by all values before them."""
    found = defaultdict[tuple[Sort, ...], list[Sort]](list)
    for *values, last in keys:
        found[tuple(values)].append(last)
    return found
