"""The cost of a page, counted: calls of Python functions, rows, reads, log records and bytes.

    .venv/bin/python -m bench.counts [--pages 400] [--calls FILE] [--tables] [--store]

All services run in one thread and in virtual time, on the pages of `bench.page`, once in a folder
and once as a fleet with 48 partitions. So the counts depend neither on the machine nor on its load:
a change that costs shows, however small it is. The first pages are not counted, since most of their
links are new. `--calls` writes the calls by function in the folder, for `pstats`. `--tables` lists
rows and reads by table.

`tests/test_counts.py` compares the counts of STORED_PAGES with `bench/counts.json`, so that a
change of more than 3 % is one that somebody meant: `--store` writes the file. Versions of Python
count calls differently.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from cProfile import Profile
from pathlib import Path
from pstats import Stats
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from bench.page import ROBOTS, make_pages
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.store import Partition, Row, Sort, partition_values
from gossamer.store.cassandra.cql import bucket_of
from gossamer.store.cassandra.store import PARTITIONS_PER_READ
from gossamer.store.sqlite import SqliteStore, SqliteTable
from gossamer.telemetry.logs import configure_logs
from tests.flow.torn import Fate, TornStore, TornTable
from tests.flow.virtual import VirtualCrawl

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
STORED = Path(__file__).with_name("counts.json")
HOSTS, PAGES, STORED_PAGES = 8, 400, 120
FIRST_PAGES = 0.4
"""Fraction of the pages that are not counted."""
PARTITIONS = 48
TOOK = 0.05
"""Seconds until a response."""
HEADERS = (("Content-Type", "text/html; charset=utf-8"), ("Server", "nginx"))
Counts = dict[str, float]
"""Name of a count → its value for a page."""


def count_page(is_fleet: bool, pages: int = PAGES, calls: Path | None = None) -> Counts:
    """Crawl *pages*, and return the counts; write the calls by function to *calls*."""
    origins = [f"http://www.site{number}.example" for number in range(HOSTS)]
    web = dict(make_pages(origins, pages)) | {f"{one}/robots.txt": ROBOTS for one in origins}
    served = Counter[bool]()

    def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
        body = web.get(url)
        served[url.endswith(".html")] += 1
        kind = "text/html" if url.endswith(".html") else "text/plain"
        return TOOK, Reply(
            status=200 if body else 404,
            headers=HEADERS,
            body=(body or "").encode(),
            kind=kind,
            address="127.77.1.1",
            started_at=now,
            took=TOOK,
        )

    with TemporaryDirectory() as folder:
        settings: dict[str, Any] = {"delay": 0.0, "partitions": PARTITIONS if is_fleet else None}
        crawl = VirtualCrawl(Path(folder), answer, Fate(1) if is_fleet else None, **settings)
        crawl.define(*(f"{one}/page-0.html" for one in origins))
        while served[True] < FIRST_PAGES * pages:
            assert not crawl.run(steps=1), "the first pages end the crawl"
        before, profile = served[True], Profile()
        with counting() as counts:
            profile.enable()
            crawl.run()
            profile.disable()
        counted = served[True] - before
        stats = Stats(profile)
        if calls:
            stats.dump_stats(calls)
    total: int = stats.total_calls  # type: ignore[attr-defined]
    return {name: number / counted for name, number in [("calls", total), *sorted(counts.items())]}


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count rows, reads, and records of the log within the block."""
    counts = Counter[str]()
    with ExitStack() as stack:
        depth = 0

        def count(owner: Any, method: str, note: Callable[..., None]) -> None:
            original = getattr(owner, method)

            def note_and_call(self: Any, *arguments: Any, **named: Any) -> Any:
                # A table may answer one call by others of its own.
                nonlocal depth
                if not depth:
                    note(self, *arguments)
                depth += 1
                try:
                    return original(self, *arguments, **named)
                finally:
                    depth -= 1

            stack.enter_context(patch.object(owner, method, note_and_call))

        def note_append(log: Any, messages: Any) -> None:
            for message in messages:
                counts["records"] += 1
                counts["bytes of records"] += len(message.value or b"")
                if message.topic == "urls.discovered":
                    counts["records of urls.discovered"] += 1
                    counts["bytes of urls.discovered"] += len(message.value or b"")

        tables = CountedTables(counts)
        count(SqliteLog, "append", note_append)
        for table in (SqliteTable, TornTable):
            count(table, "get", tables.note_get)
            count(table, "get_many", tables.note_get_many)
            count(table, "get_all", tables.note_get_all)
            count(table, "read_ahead", tables.note_read_ahead)
            count(table, "scan", tables.note_scan)
            count(table, "scan_all", tables.note_scan_all)
            count(table, "put_if_absent", lambda table, row: tables.note_conditional(table, 1))
            count(table, "replace", lambda table, row, old: tables.note_conditional(table, 1))
            count(
                table,
                "put_all_if_absent",
                lambda table, rows: tables.note_conditional(table, len(rows)),
            )
        for store in (SqliteStore, TornStore):
            count(store, "flush", lambda store: tables.note_flush(store._tables.values()))
        yield counts


class CountedTables:
    """Counts what is asked of the tables of stores, as Cassandra would be asked.

    A mutation writes the rows of one partition key, of all tables. A read request reads rows that
    are read together.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._ahead = defaultdict[Any, set[tuple[Partition, Sort]]](set)
        """Table → the keys of the rows that are read ahead until the next flush."""

    def note_get(self, table: Any, partition: Partition, sort: Sort = "") -> None:
        """Count the read of a row."""
        self.note_get_all(table, [(partition, sort)])

    def note_get_many(self, table: Any, partition: Partition, sorts: Sequence[Sort]) -> None:
        """Count the read of rows of a partition."""
        self.note_get_all(table, [(partition, sort) for sort in sorts])

    def note_get_all(self, table: Any, keys: Iterable[tuple[Partition, Sort]]) -> None:
        """Count the read of the rows with *keys*."""
        self._add("reads", table, 1)
        self._request(table, keys)

    def note_read_ahead(self, table: Any, keys: Sequence[tuple[Partition, Sort]]) -> None:
        """Count the read of the rows with *keys*, which are then in memory until the next flush."""
        self._add("keys read ahead", table, len(keys))
        self._request(table, keys)
        self._ahead[table].update(keys)

    def note_scan(self, table: Any, *_: Any) -> None:
        """Count the read of a partition."""
        self.note_scan_all(table, [""])

    def note_scan_all(self, table: Any, partitions: Sequence[Partition], *_: Any) -> None:
        """Count the reads of *partitions*."""
        self._add("reads", table, 1)
        self._add("read requests", table, len(partitions))

    def note_conditional(self, table: Any, rows: int) -> None:
        """Count conditional writes."""
        self._add("conditional writes", table, rows)

    def note_flush(self, tables: Iterable[Any]) -> None:
        """Count the buffered rows of *tables*."""
        mutations = set[Any]()
        for table in tables:
            row = _row_of(table)
            for partition, rows in _buffered(table).items():
                if row is CheckpointRow and partition[0] in ("fetcher", "parser"):
                    continue  # In a fleet, they have no tables.
                self._add("rows", table, len(rows))
                for sort in rows:
                    stage = row.decides, (partition, sort) in _put_last(table)
                    mutations.add((stage, partition_values(partition), bucket_of(row, sort)))
            self._ahead.pop(table, None)
        self._counts["mutations"] += len(mutations)

    def _request(self, table: Any, keys: Iterable[tuple[Partition, Sort]]) -> None:
        buffered, ahead = _buffered(table), self._ahead[table]
        read = {
            (partition, sort)
            for partition, sort in keys
            if sort not in buffered.get(partition, ()) and (partition, sort) not in ahead
        }
        values = Counter((partition_values(partition)[:-1], sort) for partition, sort in read)
        several = sum(-(-number // PARTITIONS_PER_READ) for number in values.values())
        by_partition = len({partition for partition, _ in read})
        is_sorted = bool(_row_of(table).sort_key)
        self._add("read requests", table, min(by_partition, several) if is_sorted else several)

    def _add(self, name: str, table: Any, number: int) -> None:
        if number:
            self._counts[name] += number
            self._counts[f"{name}: {_row_of(table).table}"] += number


def _row_of(table: Any) -> type[Row]:
    row: type[Row] = table.row if isinstance(table, SqliteTable) else table._row
    return row


def _buffered(table: Any) -> dict[Partition, dict[Sort, Row]]:
    rows: dict[Partition, dict[Sort, Row]]
    rows = table.rows if isinstance(table, SqliteTable) else table.pending
    return rows


def _put_last(table: Any) -> set[tuple[Partition, Sort]]:
    keys: set[tuple[Partition, Sort]]
    keys = table.last if isinstance(table, SqliteTable) else table._late
    return keys


def count_both(pages: int, calls: Path | None = None, by_table: bool = False) -> dict[str, Counts]:
    """Return the counts in a folder and in a fleet, also those of each table if *by_table*."""
    found = {"folder": count_page(False, pages, calls), "fleet": count_page(True, pages)}
    return {
        place: {name: one for name, one in counts.items() if by_table or ":" not in name}
        for place, counts in found.items()
    }


def main() -> None:
    """Print the counts, or store those of STORED_PAGES."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=Path, metavar="FILE")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--tables", action="store_true", help="count by table too")
    parser.add_argument("--store", action="store_true", help=f"write {STORED.name}")
    options = parser.parse_args()
    configure_logs(False, "warning")
    pages = STORED_PAGES if options.store else options.pages
    found = count_both(pages, options.calls, options.tables and not options.store)
    for place, counts in found.items():
        for name, number in counts.items():
            print(f"{place:8} {number:12,.2f} {name}")
    if options.store:
        stored = {"python": PYTHON, **{place: _round_counts(one) for place, one in found.items()}}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")


def _round_counts(counts: Counts) -> Counts:
    return {name: round(number, 2) for name, number in counts.items()}


if __name__ == "__main__":
    main()
