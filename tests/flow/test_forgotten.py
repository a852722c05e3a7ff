"""Data that is erased on demand is deleted everywhere, and its URLs can be crawled again
afterwards."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.erasures import ErasureRow
from gossamer.events import Discovery, ErasureRequested, UrlsAdmitted
from gossamer.events.topics import PAGES
from gossamer.log.codec import encode, split_key
from gossamer.web.url import HostKey, Site, host_key
from procedures.tables import TABLES as ALL_TABLES
from services.archive.rows import CaptureRow
from services.dedup.content import DigestRow, NearRow
from services.dedup.rows import DocumentRow, HostNameRow, HostStepsRow
from services.frontier.partition.parked import ParkedRow
from services.frontier.tables.hosts import HostRow, ListedHost, RobotsRow
from services.frontier.tables.plans import DueRow, PlanRow
from services.frontier.tables.sites import ParkedPartsRow, SiteRow, SiteWorthRow
from services.frontier.tables.urls import HistoryRow, QueuedUrl, UrlRow, VerdictRow
from tests.flow.torn import Died, Fate
from tests.flow.virtual import VirtualCrawl

from .test_blocklist import WEB, A, B
from .test_flow import virtual_crawl

TABLES: tuple[Any, ...] = (
    UrlRow,
    VerdictRow,
    HistoryRow,
    PlanRow,
    HostRow,
    RobotsRow,
    SiteRow,
    QueuedUrl,
    DocumentRow,
    DigestRow,
    NearRow,
    HostNameRow,
    HostStepsRow,
    CaptureRow,
)
SITE, DAY = Site("a.test"), 86400.0
WHOLE_SITE = HostKey("")


def forget(
    crawl: VirtualCrawl, host: HostKey = WHOLE_SITE, url: str = "", site: Site = SITE
) -> None:
    crawl.log.append([encode(ErasureRequested(at=crawl.now, site=site, host=host, url=url))])


def rows_about(crawl: VirtualCrawl, start: str) -> list[str]:
    """Return table and text of each row whose URL, host or site begins with *start*."""
    found = []
    for kind in TABLES:
        for row in crawl._store().table(kind).everything():
            names = [getattr(row, name, "") for name in ("url", "host", "site", "original")]
            names += [kept.url for kept in getattr(row, "pages", ()) if kind is NearRow]
            if any(str(name).startswith(start) for name in names):
                found.append(f"{kind.table}: {row}")
    return found


def documents(crawl: VirtualCrawl) -> dict[str, bytes]:
    records = crawl.log.tail([PAGES.name]).poll(0)
    return {split_key(record.key)[1]: record.value for record in records}


def requested_urls(crawl: VirtualCrawl) -> list[str]:
    return [url for _, _, url in crawl.requests if not url.endswith("/robots.txt")]


def run_crawl(tmp_path: Path, **settings: object) -> VirtualCrawl:
    crawl = virtual_crawl(tmp_path, WEB, 0.0, **settings)  # type: ignore[arg-type]
    crawl.define(f"{A}/", f"{B}/")
    assert crawl.run()
    return crawl


def test_erased_host_has_no_rows_and_other_hosts_are_unchanged(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    others = rows_about(crawl, B)
    assert rows_about(crawl, A) and documents(crawl)[f"{A}/"]
    forget(crawl, host=HostKey(A))
    assert crawl.run()
    assert rows_about(crawl, A) == []
    assert rows_about(crawl, SITE) == []
    assert rows_about(crawl, B) == others
    kept = documents(crawl)
    assert all(not value for url, value in kept.items() if url.startswith(A))
    assert kept[f"{B}/"]


def test_erased_url_has_no_rows_and_its_host_stays(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    url = f"{A}/x/2"
    forget(crawl, url=url)
    assert crawl.run()
    assert rows_about(crawl, url) == []
    assert not documents(crawl)[url] and documents(crawl)[f"{A}/"]
    assert crawl._store().table(HostRow).get(SITE, A)


def test_erased_site_has_no_rows_of_any_host(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    forget(crawl)
    assert crawl.run()
    assert rows_about(crawl, A) == rows_about(crawl, SITE) == []


@pytest.mark.parametrize("steps", [4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 30, 40, 60])
def test_records_in_flight_do_not_restore_an_erased_host(tmp_path: Path, steps: int) -> None:
    pages = {url: links for url, links in WEB.items() if url.startswith(A)}
    crawl = virtual_crawl(tmp_path, pages, 0.0)
    crawl.define(f"{A}/")
    crawl.run(steps)
    forget(crawl, host=HostKey(A))
    crawl.crash()
    assert crawl.run()
    before = len(requested_urls(crawl))
    assert rows_about(crawl, A) == []
    assert not any(value for url, value in documents(crawl).items() if url.startswith(A))
    crawl.define(f"{A}/")
    assert crawl.run()
    assert f"{A}/" in requested_urls(crawl)[before:]
    assert documents(crawl)[f"{A}/"]


def test_erased_host_is_crawled_again_after_a_new_seed(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    forget(crawl, host=HostKey(A))
    assert crawl.run()
    before = requested_urls(crawl)
    crawl.define(f"{A}/")
    assert crawl.run()
    assert sorted(requested_urls(crawl)[len(before) :]) == sorted(
        url for url in before if url.startswith(A)
    )
    assert documents(crawl)[f"{A}/"]


def run_without_dedup(crawl: VirtualCrawl, seconds: float) -> None:
    """Let *seconds* pass while dedup is stopped."""
    until, runners = crawl.now + seconds, crawl.runners[1:]
    while crawl.now < until:
        if not any([runner.step() for runner in runners]):
            crawl.now += 1.0


@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize(
    ("share", "failing"), [(None, False), (0.5, False), (None, True), (0.5, True)]
)
def test_url_admitted_during_an_erasure_is_visited(
    tmp_path: Path, share: float | None, failing: bool, crashes: bool
) -> None:
    new = f"{A}/new"
    web, fails = WEB | {new: []}, [new] if failing else []
    crawl = virtual_crawl(tmp_path, web, 0.0, failing=fails)
    crawl.define(f"{A}/", f"{B}/", revisit="fixed:1w", budget=10_000, discovery_share=share)
    crawl.run(until=crawl.now + DAY / 2)
    forget(crawl, host=HostKey(A))
    # Dedup had admitted the URL before it read the erasure.
    found = (Discovery(new),)
    admitted = UrlsAdmitted(at=crawl.now, site=SITE, via=f"1.1.0@{B}/", urls=found)
    crawl.log.append([encode(admitted)])
    run_without_dedup(crawl, 3600.0)
    if crashes:
        crawl.crash()
    crawl.run(until=crawl.now + DAY / 2)
    assert requested_urls(crawl).count(new) == 1 + failing


def has_long_queue(crawl: VirtualCrawl) -> bool:
    rows = crawl._store().table(QueuedUrl).everything()
    return len([row for row in rows if row.bucket.startswith(B)]) > 5


@settings(max_examples=20, deadline=None)
@example(lives=[47], seed=1)
@example(lives=[52], seed=1)
@given(lives=st.lists(st.integers(30, 80), min_size=1, max_size=3), seed=st.integers(0, 9))
def test_crashes_leave_no_rows_of_an_erased_host(lives: list[int], seed: int) -> None:
    fate = Fate(seed)
    with TemporaryDirectory() as folder:
        crawl = virtual_crawl(Path(folder), WEB, 0.3, fate)
        crawl.define(f"{A}/", f"{B}/")
        while not has_long_queue(crawl):
            crawl.run(1)
        forget(crawl, host=HostKey(B), site=Site("b.test"))
        for life in lives:
            fate.left = life
            with suppress(Died):
                crawl.run(until=crawl.now + 60.0)
            crawl.crash()
        fate.left = None
        crawl.run(until=crawl.now + 600.0)
        assert rows_about(crawl, B) == []
        crawl.archive.close()


MANY, NEIGHBOUR = 10_000, "http://www.a.test"


def writes_of_erasure(fate: Fate, life: int, delay: float, away: float, *others: str) -> int:
    """Forget a host of a site with *others*, and crash before write *life* or when the row of the
    host is erased. Assert that the host has no rows at the end, and that the others are counted.
    Return the number of writes before the crash.

    The host may be visited every *delay* seconds. If *away* is not 0, the host is erased when the
    crawl restarts after *away* seconds.
    """
    with TemporaryDirectory() as folder:
        urls = [f"{host}/" for host in (A, *others)]
        crawl = virtual_crawl(Path(folder), {url: [] for url in urls}, 0.0, fate, delay=delay)
        crawl.define(*urls)
        crawl.run(until=crawl.now + 60.0)
        forget(crawl, host=HostKey(A))
        if away:
            crawl.run(until=crawl.now + 1.0)
            crawl.crash()
            crawl.now += away
        fate.left = life
        with suppress(Died):
            while crawl._store().table(HostRow).get(SITE, A):
                crawl.run(1)
        writes = life - fate.left
        crawl.crash()
        crawl.run()
        assert rows_about(crawl, A) == []
        worth = crawl._store().table(SiteWorthRow).everything()
        assert others or not [row for row in worth if row.site == SITE]
        sites = [*crawl._store().table(SiteRow).everything()]
        assert [row.hosts for row in sites] == ([len(others)] if others else [])
        crawl.archive.close()
        return writes


@pytest.mark.parametrize(
    ("delay", "away", "seed", "others"),
    [(1.0, 0.0, 0, []), (1.0, 0.0, 1, []), (100.0, DAY, 0, []), (1.0, 0.0, 0, [NEIGHBOUR])],
)
def test_crash_at_any_write_leaves_no_rows_of_an_erased_host(
    delay: float, away: float, seed: int, others: list[str]
) -> None:
    writes = writes_of_erasure(Fate(seed), MANY, delay, away, *others)
    for life in range(writes - 8, writes):
        assert writes_of_erasure(Fate(seed), life, delay, away, *others) == life


def test_erasure_row_of_each_service_has_the_number_of_deleted_rows(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    forget(crawl, host=HostKey(A))
    assert crawl.run()
    rows = [*crawl._store().table(ErasureRow).everything()]
    assert {row.target for row in rows} == {A}
    assert {row.service for row in rows} == {"frontier", "dedup", "archive", "archive/archive"}
    counts = {name: n for row in rows for name, n in row.rows.items()}
    assert counts["hosts"] == counts["robots"] == 1
    assert counts["urls"] == counts["documents"] == counts["seen_urls"] > 3
    assert counts["warc_records"] >= counts["captures"] > 3
    assert all(row.ended for row in rows)


MAIN, SHOP, OTHER = "http://a.test", HostKey("http://shop.a.test"), "http://b.test"
MAY_NAME = {DueRow, ListedHost, ErasureRow}
"""Tables that may name what was erased: the first two until their bucket is deleted or the command
sweeps them, and the record of the erasure."""


def rows_that_name(crawl: VirtualCrawl, name: str) -> list[str]:
    """Return table and text of each row, of any table, that contains *name*."""
    return [
        f"{kind.table}: {row}"
        for kind in ALL_TABLES
        if kind not in MAY_NAME
        for row in crawl._store().table(kind).everything()
        if name in str(row)
    ]


def run_before_probes(crawl: VirtualCrawl) -> None:
    """Go on for ten minutes: parked URLs are visited as probes after an hour."""
    crawl.run(until=crawl.now + 600.0)


def crawl_with_parked_urls(tmp_path: Path) -> VirtualCrawl:
    """Return a crawl of two hosts of a site, with URLs over its budget."""
    pages: dict[str, list[str]] = {f"{OTHER}/": []}
    for host in (MAIN, SHOP):
        pages[f"{host}/"] = [f"{host}/dir/{n}" for n in range(12)]
        pages |= {url: [] for url in pages[f"{host}/"]}
    crawl = virtual_crawl(tmp_path, pages, 0.0, url_budget=5, seed_sites=0, budget_growth=0.5)
    crawl.define(f"{MAIN}/", f"{SHOP}/", f"{OTHER}/")
    run_before_probes(crawl)
    return crawl


def parked_hosts(crawl: VirtualCrawl) -> set[str]:
    rows = crawl._store().table(ParkedRow).everything()
    return {host_key(found.url) for row in rows for found in row.urls}


def test_no_table_names_an_erased_host_whose_urls_were_parked(tmp_path: Path) -> None:
    crawl = crawl_with_parked_urls(tmp_path)
    assert parked_hosts(crawl) == {MAIN, SHOP}
    (before,) = crawl._store().table(ParkedPartsRow).everything()
    forget(crawl, host=SHOP)
    run_before_probes(crawl)
    assert rows_that_name(crawl, SHOP) == []
    assert parked_hosts(crawl) == {MAIN}
    (after,) = crawl._store().table(ParkedPartsRow).everything()
    assert 0 < after.parts["trap_urls"].urls < before.parts["trap_urls"].urls


def test_no_table_names_an_erased_site_whose_urls_were_parked(tmp_path: Path) -> None:
    crawl = crawl_with_parked_urls(tmp_path)
    forget(crawl)
    run_before_probes(crawl)
    assert rows_that_name(crawl, SITE) == []
    assert rows_that_name(crawl, OTHER)


def test_erased_url_is_no_longer_parked(tmp_path: Path) -> None:
    crawl = crawl_with_parked_urls(tmp_path)
    rows = crawl._store().table(ParkedRow).everything()
    url, *others = [found.url for row in rows for found in row.urls]
    forget(crawl, url=url)
    run_before_probes(crawl)
    rows = crawl._store().table(ParkedRow).everything()
    assert [found.url for row in rows for found in row.urls] == others
    assert rows_that_name(crawl, f"'{url}'") == []
