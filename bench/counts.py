"""The cost of a page, counted: calls of Python functions, rows, reads, log records and bytes.

    .venv/bin/python -m bench.counts [--pages 400] [--calls FILE] [--store]

All services run in one thread and in virtual time, on the pages of `bench.page`, once in a folder
and once as a fleet with 48 partitions. So the counts depend neither on the machine nor on its load:
a change that costs shows, however small it is. The first pages are not counted, since most of their
links are new. `--calls` writes the calls by function in the folder, for `pstats`.

`tests/test_counts.py` compares the counts of STORED_PAGES with `bench/counts.json`, so that a
change of more than 3 % is one that somebody meant: `--store` writes the file. Versions of Python
count calls differently.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from cProfile import Profile
from pathlib import Path
from pstats import Stats
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from bench.page import ROBOTS, make_pages
from gossamer.log.sqlite import SqliteLog
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.store.sqlite import SqliteTable
from gossamer.telemetry import configure_logs
from tests.flow.torn import Fate, TornTable
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

        def count(owner: Any, method: str, note: Callable[..., None]) -> None:
            original = getattr(owner, method)

            def note_and_call(self: Any, *arguments: Any, **named: Any) -> Any:
                note(self, *arguments)
                return original(self, *arguments, **named)

            stack.enter_context(patch.object(owner, method, note_and_call))

        def note_append(log: Any, messages: Any) -> None:
            for message in messages:
                counts["records"] += 1
                counts["bytes of records"] += len(message.value or b"")
                if message.topic == "urls.discovered":
                    counts["records of urls.discovered"] += 1
                    counts["bytes of urls.discovered"] += len(message.value or b"")

        def note_rows(table: Any, *_: Any) -> None:
            rows = table.rows.values() if hasattr(table, "rows") else table.pending.values()
            counts["rows"] += sum(map(len, rows))

        def note_read(table: Any, *_: Any) -> None:
            counts["reads"] += 1

        def note_conditional(table: Any, rows: Any, *_: Any) -> None:
            counts["conditional writes"] += len(rows) if isinstance(rows, list) else 1

        def note_keys(table: Any, keys: Any, *_: Any) -> None:
            counts["keys read ahead"] += len(keys)

        count(SqliteLog, "append", note_append)
        for table in (SqliteTable, TornTable):
            for method in ("get", "get_many", "get_all", "scan", "scan_all"):
                count(table, method, note_read)
            count(table, "read_ahead", note_keys)
            for method in ("put_if_absent", "put_all_if_absent", "replace"):
                count(table, method, note_conditional)
        count(SqliteTable, "flush", note_rows)
        count(TornTable, "writes", note_rows)
        yield counts


def count_both(pages: int, calls: Path | None = None) -> dict[str, Counts]:
    """Return the counts in a folder and in a fleet."""
    return {"folder": count_page(False, pages, calls), "fleet": count_page(True, pages)}


def main() -> None:
    """Print the counts, or store those of STORED_PAGES."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=Path, metavar="FILE")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--store", action="store_true", help=f"write {STORED.name}")
    options = parser.parse_args()
    configure_logs(False, "warning")
    found = count_both(STORED_PAGES if options.store else options.pages, options.calls)
    for place, counts in found.items():
        for name, number in counts.items():
            print(f"{place:8} {number:12,.1f} {name}")
    if options.store:
        stored = {"python": PYTHON, **{place: _round_counts(one) for place, one in found.items()}}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")


def _round_counts(counts: Counts) -> Counts:
    return {name: round(number, 2) for name, number in counts.items()}


if __name__ == "__main__":
    main()
