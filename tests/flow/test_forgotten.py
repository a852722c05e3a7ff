"""Data that is erased on demand is deleted everywhere, and its URLs can be crawled again
afterwards."""

import re
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gossamer.erasures import ErasureRow, is_about
from gossamer.events import DEFAULT_CRAWL, Discovery, ErasureRequested, UrlsAdmitted
from gossamer.events.topics import PAGES
from gossamer.log.codec import encode, split_key
from gossamer.log.control import ControlRow
from gossamer.schemas.tables import ROWS
from gossamer.services.dedup.guesses import GuessesRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.tables.hosts import HostRow, ListedHost
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.services.frontier.tables.sites import ParkedPartsRow, SiteRow
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.settings import ArchiveSettings
from gossamer.store import Row, keys_of
from gossamer.web.url import HostKey, Site, site_of
from tests.flow.torn import Died, Fate
from tests.flow.virtual import VirtualCrawl

from .test_blocklist import WEB, A, B
from .test_crawls import assert_removed
from .test_flow import virtual_crawl

SITE, DAY = Site("a.test"), 86400.0
WHOLE_SITE = HostKey("")
SHOP = HostKey("http://shop.a.test")
SWEPT = {DueRow, ListedHost}
"""Tables that may name what was erased until their buckets are dropped, or the command sweeps them.
"""
MAY_NAME = {*SWEPT, ErasureRow, ControlRow}
"""The other two have the record of the erasure, and what operators wrote."""
LINK = re.compile(r"(via|duplicate_of|copy_of|evaluated_by)=('[^']*'|\"[^\"]*\")")
"""Links to what was erased, which stay in rows of other pages, and the scope of a crawl."""


def forget(
    crawl: VirtualCrawl, host: HostKey = WHOLE_SITE, url: str = "", site: Site = SITE
) -> None:
    crawl.log.append([encode(ErasureRequested(at=crawl.now, site=site, host=host, url=url))])


def rows_about(crawl: VirtualCrawl, target: str) -> dict[type[Row], set[Any]]:
    """Return table → the keys of its rows that are about *target*, or have entries about it."""
    is_erased = partial(is_about, target=target)
    found: dict[type[Row], set[Any]] = {}
    for kind in ROWS:
        rows = crawl.rows(kind)
        if keys := {keys_of(row) for row in rows if row.without(is_erased) is not row}:
            found[kind] = keys
    return found


def names_left(crawl: VirtualCrawl, target: str) -> list[str]:
    """Return table and text of each row, of any table, that names *target*."""
    name = target if target in (SITE, A, SHOP) else f"'{target}'"
    return [
        f"{kind.table}: {text}"
        for kind in {*ROWS} - MAY_NAME
        for row in crawl.rows(kind)
        if name in (text := LINK.sub("", str(row)))
    ]


def documents(crawl: VirtualCrawl) -> dict[str, bytes]:
    records = crawl.records(PAGES.name)
    return {split_key(record.key)[1]: record.value for record in records}


def run_crawl(tmp_path: Path, **settings: object) -> VirtualCrawl:
    crawl = virtual_crawl(tmp_path, WEB, 0.0, **settings)  # type: ignore[arg-type]
    crawl.define(f"{A}/", f"{B}/")
    assert crawl.run()
    return crawl


@pytest.mark.parametrize("steps", [4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 30, 40, 60])
def test_records_in_flight_do_not_restore_an_erased_host(tmp_path: Path, steps: int) -> None:
    pages = {url: links for url, links in WEB.items() if url.startswith(A)}
    crawl = virtual_crawl(tmp_path, pages, 0.0)
    crawl.define(f"{A}/")
    crawl.run(steps)
    forget(crawl, host=HostKey(A))
    crawl.crash()
    assert crawl.run()
    before = len(crawl.requested())
    assert not names_left(crawl, A)
    assert not any(value for url, value in documents(crawl).items() if url.startswith(A))
    crawl.define(f"{A}/")
    assert crawl.run()
    assert f"{A}/" in crawl.requested()[before:]
    assert documents(crawl)[f"{A}/"]


def test_erased_host_is_crawled_again_after_a_new_seed(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    forget(crawl, host=HostKey(A))
    assert crawl.run()
    before = crawl.requested()
    crawl.define(f"{A}/")
    assert crawl.run()
    assert sorted(crawl.requested()[len(before) :]) == sorted(
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
    assert crawl.requested().count(new) == 1 + failing


def test_erasure_row_of_each_service_has_the_number_of_deleted_rows(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    forget(crawl, host=HostKey(A))
    assert crawl.run()
    rows = crawl.rows(ErasureRow)
    assert {row.target for row in rows} == {A}
    assert {row.service for row in rows} == {"frontier", "dedup", "archive", "archive/archive"}
    counts = {name: n for row in rows for name, n in row.rows.items()}
    assert counts["hosts"] == counts["robots"] == 1
    assert counts["urls"] == counts["documents"] == counts["seen_urls"] > 3
    assert counts["warc_records"] >= counts["captures"] > 3
    assert all(row.ended for row in rows)


FILES = {
    f"{host}/": [
        *(f"{host}/dir/{n}" for n in range(5)),
        f"{host}/fails",
        f"http://elsewhere{n}.test/",
    ]
    for n, host in enumerate((A, SHOP, B))
}
VISITED, PARKED = f"{A}/dir/0", f"{A}/dir/4"
TWO_CRAWLS = (DEFAULT_CRAWL, "b")


def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
    """Return the answer of a web with robots.txt files, sitemaps, styles, similar pages, and URLs
    that fail."""
    host, path = url[: url.index("/", 8)], url[url.index("/", 8) :]
    status, kind, body = 200, "text/html", ""
    if path == "/robots.txt":
        kind, body = "text/plain", f"Sitemap: {host}/map.xml"
    elif path == "/map.xml":
        kind, body = "application/xml", f"<urlset><url><loc>{host}/listed</loc></url></urlset>"
    elif path == "/style.css":
        kind, body = "text/css", f"/* {host} */" * 100
    elif path == "/fails":
        status = 500
    elif url in FILES or path.startswith("/dir/"):
        number = int(path[-1]) // 2 if path != "/" else 100 * len(host)
        words = " ".join(f"{site_of(url)}{number * 7 + n % 83}" for n in range(150))
        links = "".join(f"<a href={link}>link</a> " for link in FILES.get(url, ()))
        body = f"<link rel=stylesheet href=/style.css><h1>{path}</h1><p>{words}</p>{links}"
    else:
        status = 404
    headers = (("Content-Type", kind),)
    return 0.1, Reply(status=status, headers=headers, body=body.encode())


def make_crawl(folder: Path, fate: Fate) -> VirtualCrawl:
    """Return two crawls without definitions, with a budget for each site, which visit requisites
    and share captures."""
    return VirtualCrawl(
        folder,
        answer,
        fate,
        keeps=True,
        archive=ArchiveSettings(requisites="all"),
        url_budget=8,
        seed_sites=0,
        budget_growth=0.5,
        delay=1.0,
        delay_factor=0.0,
        batch=4,
    )


def run_two_crawls(folder: Path) -> VirtualCrawl:
    """Return two crawls of two sites, with rows about both in each table."""
    crawl = make_crawl(folder, Fate(0))
    fields = {"scope": "domain('a.test', 'b.test')", "share_for": DAY, "revisit": "fixed:1w"}
    for name in TWO_CRAWLS:
        crawl.define(f"{A}/", f"{SHOP}/", f"{B}/", crawl=name, budget=10_000, **fields)
    crawl._store().write([GuessesRow(host) for host in (HostKey(A), SHOP, HostKey(B))], 0)
    crawl.run(until=crawl.now + 60.0)
    crawl.crash()
    return crawl


ERASED: dict[str, dict[str, Any]] = {
    VISITED: {"url": VISITED},
    PARKED: {"url": PARKED},
    SHOP: {"host": SHOP},
    SITE: {},
}
"""Target → the fields of its request."""


def assert_erased(crawl: VirtualCrawl, target: str) -> None:
    """Assert that no table names *target*, and that the row of each site counts its hosts."""
    assert names_left(crawl, target) == []
    assert rows_about(crawl, target).keys() <= SWEPT
    store = crawl._store()
    hosts = [row.site for row in store.table(HostRow).everything()]
    for site in store.table(SiteRow).everything():
        assert site.hosts == hosts.count(site.site)


def parked_counts(crawl: VirtualCrawl) -> Counter[tuple[str, str]]:
    """Return crawl and bucket → the counted URLs of each parked part, which has one bucket."""
    rows = crawl.rows(ParkedPartsRow)
    return Counter(
        {
            (row.crawl, f"{row.site} {name}/{part.head}"): part.urls
            for row in rows
            for name, part in row.parts.items()
        }
    )


def parked_urls(crawl: VirtualCrawl) -> Counter[tuple[str, str]]:
    """Return crawl and bucket → the URLs that are parked there until their site earns more."""
    found = Counter[tuple[str, str]]()
    for row in crawl.rows(ParkedRow):
        if " trap_urls/" in row.bucket:
            found[row.crawl, row.bucket] += len(row.urls)
    return found


@pytest.mark.parametrize("target", ERASED)
def test_no_table_names_an_erased_target_and_other_rows_stay(tmp_path: Path, target: str) -> None:
    crawl = run_two_crawls(tmp_path)
    assert rows_about(crawl, SITE).keys() == {kind for kind in ROWS if kind.about}
    assert names_left(crawl, target) and documents(crawl)[f"{SHOP}/"]
    others = rows_about(crawl, B)
    forget(crawl, **ERASED[target])
    crawl.run(until=crawl.now + 300.0)
    assert_erased(crawl, target)
    assert parked_counts(crawl) == parked_urls(crawl)
    moving = {*SWEPT, QueuedUrl}
    left = rows_about(crawl, B)
    assert {kind: left.get(kind) for kind in others if kind not in moving} == {
        kind: keys for kind, keys in others.items() if kind not in moving
    }
    for url, value in documents(crawl).items():
        assert bool(value) is not is_about(url, target)


ALL_TARGETS = (SHOP, VISITED, PARKED, SITE, TWO_CRAWLS[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "step"),
    [
        (SHOP, 7),
        (TWO_CRAWLS[1], 97),
        *(pytest.param(one, 1, marks=pytest.mark.long) for one in ALL_TARGETS),
    ],
)
def test_crash_before_any_write_of_an_erasure_or_a_removal_leaves_nothing(
    tmp_path: Path, target: str, step: int
) -> None:
    before = run_two_crawls(tmp_path / "before")
    for life in count(step=step):
        crawl = make_crawl(tmp_path / str(life), fate := Fate(life))
        crawl.load(before)
        if target in TWO_CRAWLS:
            crawl.define(crawl=target, removed=True, paused=True)
        else:
            forget(crawl, **ERASED[target])
        fate.left = life
        with suppress(Died):
            crawl.run(until=crawl.now + 10.0)
            break
        crawl.crash()
        # The delays of the hosts are over, or go on.
        crawl.now += DAY * (life % 2)
        crawl.run(until=crawl.now + 300.0)
        (assert_removed if target in TWO_CRAWLS else assert_erased)(crawl, target)
        crawl.archive.close()
    assert life > 50
