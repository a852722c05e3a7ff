"""Two crawls of one host through all services: each page is requested once, and both have it."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.services.archive.rows import CaptureRow
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.services.frontier.totals.tally import TallyRow
from tests.flow.test_crawls import (
    DELAY,
    OF_A,
    OF_B,
    OPTIONS,
    SCOPES,
    SHARED,
    A,
    B,
    expected,
    published,
    visited,
    web,
)
from tests.flow.torn import Fate
from tests.flow.virtual import VirtualCrawl

HOUR = 3600.0


def two_crawls(
    folder: Path, count: int, fate: Fate | None = None, share_for: float = HOUR, **fields: object
) -> VirtualCrawl:
    """Return two crawls that share captures; *fields* of the definition of the second."""
    crawl = VirtualCrawl(folder, web(count), fate, keeps=True, **OPTIONS)
    crawl.define(f"{SHARED}/0", f"{OF_A}/0", scope=SCOPES[A], share_for=share_for)
    crawl.define(
        f"{SHARED}/0", f"{OF_B}/0", scope=SCOPES[B], crawl=B, share_for=share_for, **fields
    )
    return crawl


def requests(crawl: VirtualCrawl, count: int) -> Counter[str]:
    """Return the number of requests for each of the *count* pages of each host."""
    pages = expected(count)[A] | expected(count)[B]
    return Counter(url for _, _, url in crawl.requests if url in pages)


def test_each_page_is_requested_once_and_both_crawls_have_all(tmp_path: Path) -> None:
    crawl = two_crawls(tmp_path, 30)
    assert crawl.run()
    assert {*requests(crawl, 30).values()} == {1}
    assert visited(crawl) == published(crawl) == expected(30)
    assert min(crawl.gaps()) >= DELAY - 1e-6
    tallies = crawl.rows(TallyRow)
    pages = {name: sum(row.pages for row in tallies if row.crawl == name) for name in (A, B)}
    assert pages == {A: 60, B: 60}
    assert crawl.lag() == 0


def test_history_and_archive_have_the_time_of_the_capture(tmp_path: Path) -> None:
    crawl = two_crawls(tmp_path, 12)
    assert crawl.run()
    starts = {url: start for start, _, url in crawl.requests}
    store = crawl._store()
    for name in (A, B):
        rows = [row for row in store.table(HistoryRow).everything() if row.crawl == name]
        rows = [row for row in rows if row.outcome == "page"]
        assert {row.url for row in rows} == expected(12)[name]
        assert all(row.at == starts[row.url] for row in rows)
        captures = [row for row in store.table(CaptureRow).everything() if row.crawl == name]
        assert {row.url for row in captures} >= expected(12)[name]
    reasons = [row.reason for row in store.table(HistoryRow).everything() if row.reason]
    taken = [reason for reason in reasons if reason.startswith("taken from the capture of crawl ")]
    assert len(taken) == 12, "one of the two has requested each page of the shared host"


def test_revisits_of_one_crawl_serve_the_other(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web(6), None, keeps=True, **OPTIONS)
    for name, seed in ((A, OF_A), (B, OF_B)):
        crawl.define(
            f"{SHARED}/0", f"{seed}/0", scope=SCOPES[name], crawl=name, revisit="fixed:1d",
            share_for=HOUR,
        )  # fmt: skip
    crawl.run(until=crawl.now + 3.5 * 24 * HOUR)
    assert {*requests(crawl, 6).values()} == {4}, "each round is requested once"
    rows = [row for row in crawl.rows(HistoryRow) if row.outcome == "page"]
    rounds = Counter((row.crawl, row.url) for row in rows)
    assert {*rounds.values()} == {4}, "and both crawls have seen each round"


def test_lost_blobs_become_requests(tmp_path: Path) -> None:
    crawl = two_crawls(tmp_path, 20)
    crawl.run(until=crawl.now + 10.0)
    assert crawl.kept
    crawl.kept.clear()
    assert crawl.run()
    assert visited(crawl) == published(crawl) == expected(20)
    assert min(crawl.gaps()) >= DELAY - 1e-6


def test_usage_policy_of_each_crawl_holds(tmp_path: Path) -> None:
    crawl = two_crawls(tmp_path, 12, usage_unknown="do not fetch")
    assert crawl.run()
    assert visited(crawl) == {A: expected(12)[A]} == published(crawl)


@settings(deadline=None, max_examples=8)
@given(st.lists(st.integers(1, 400), max_size=4), st.integers(0, 99), st.booleans())
def test_crashes_lose_no_page_of_either_crawl(lives: list[int], seed: int, loses: bool) -> None:
    with TemporaryDirectory() as folder:
        crawl = two_crawls(Path(folder), 6, Fate(seed))
        for life in lives:
            crawl.die(life, seconds=30.0)
            if loses and crawl.kept:
                crawl.kept.clear()
        assert crawl.run()
        assert visited(crawl) == published(crawl) == expected(6)
        assert all(row.queued == 0 for row in crawl.rows(HostRow))
        assert min(crawl.gaps()) >= DELAY - 1e-6
        if not lives:
            assert {*requests(crawl, 6).values()} == {1}
