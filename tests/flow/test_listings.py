"""Sites whose pages are linked only from sitemaps and feeds, with the dates of changes."""

import gzip
import random
from collections.abc import Iterable
from email.utils import formatdate
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, Purpose
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.plans import PlanRow
from tests.flow.virtual import START, VirtualCrawl

A, B = "http://a.test", "http://b.test"
DAY = 86400.0
PAGES = 13
XML, HTML = "application/xml", "text/html"


def sitemap(pages: Iterable[tuple[str, float]]) -> str:
    """Return a sitemap of URLs with their dates of change."""
    rows = (
        f"<url><loc>{url}</loc><lastmod>{formatdate(at, usegmt=True)}</lastmod></url>"
        for url, at in pages
    )
    return f"<urlset>{''.join(rows)}</urlset>"


def feed(pages: Iterable[tuple[str, float]]) -> str:
    """Return a feed of URLs with their dates of change."""
    rows = (
        f"<item><link>{url}</link><pubDate>{formatdate(at, usegmt=True)}</pubDate></item>"
        for url, at in pages
    )
    return f"<rss><channel>{''.join(rows)}</channel></rss>"


def page_dates(*numbers: int) -> list[tuple[str, float]]:
    return [(f"{A}/p{n}", START) for n in numbers]


INNER = "".join(f"<sitemap><loc>{A}/{n}.xml.gz</loc></sitemap>" for n in (1, 2))
FILES = {
    f"{A}/robots.txt": ("text/plain", f"Sitemap: {A}/index.xml\nSitemap: {B}/for-a.xml".encode()),
    f"{A}/": (
        HTML,
        b"<title>Home</title><link rel=alternate href=/feed type=application/rss+xml>"
        b"<a href=/3.xml.gz>Site map</a>",
    ),
    f"{A}/index.xml": (XML, f"<sitemapindex>{INNER}</sitemapindex>".encode()),
    f"{A}/1.xml.gz": (XML, gzip.compress(sitemap(page_dates(1, 2, 3, 4)).encode())),
    f"{A}/2.xml.gz": ("application/gzip", gzip.compress(sitemap(page_dates(5, 6, 7, 8)).encode())),
    f"{A}/3.xml.gz": ("application/x-gzip", gzip.compress(sitemap(page_dates(13)).encode())),
    f"{A}/feed": ("application/rss+xml", feed(page_dates(9, 10)).encode()),
    f"{B}/robots.txt": ("text/plain", f"Sitemap: {B}/own.xml".encode()),
    f"{B}/for-a.xml": ("text/html", sitemap(page_dates(11, 12)).encode()),
    f"{B}/own.xml": (XML, sitemap([(f"{A}/unasked", START)]).encode()),
    **{f"{A}/p{n}": (HTML, f"<title>{n}</title>The text of {n}".encode()) for n in range(1, 14)},
}


def answer(kind: str, body: bytes, now: float) -> tuple[float, Reply | Failure]:
    status, headers = 200 if body else 404, (("Content-Type", kind),)
    return 0.2, Reply(status=status, headers=headers, body=body)


@pytest.fixture
def crawl(tmp_path: Path) -> VirtualCrawl:
    """Return a finished crawl."""
    crawl = VirtualCrawl(
        tmp_path, lambda url, now: answer(*FILES.get(url, (HTML, b"")), now), delay=1.0
    )
    crawl.define(f"{A}/", f"{B}/")
    assert crawl.run()
    return crawl


def test_all_pages_are_discovered_through_sitemaps_and_feeds(crawl: VirtualCrawl) -> None:
    requested = [url for _, _, url in crawl.requests]
    assert {*FILES} <= {*requested}
    assert len(requested) == len({*requested})
    found = crawl.url_row(f"{A}/2.xml.gz")
    assert found and (found.origin.purpose, found.outcome, found.origin.depth) == (
        Purpose.SITEMAP,
        "page",
        2,
    )
    page = crawl.url_row(f"{A}/p5")
    assert page and page.origin.depth == 2


def test_entry_of_another_site_in_its_own_sitemap_is_ignored(crawl: VirtualCrawl) -> None:
    assert f"{A}/unasked" not in {url for _, _, url in crawl.requests}


def test_sitemap_in_a_redirected_robots_txt_counts_for_the_redirecting_site(tmp_path: Path) -> None:
    lies, listing = f"{B}/robots-of-a.txt", sitemap([(f"{A}/p1", START)])

    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url == f"{A}/robots.txt":
            moved = (("Location", lies),)
            return 0.2, Reply(status=301, headers=moved)
        files = {
            lies: ("text/plain", f"Sitemap: {B}/map".encode()),
            f"{B}/map": (XML, listing.encode()),
            f"{A}/": (HTML, b"<title>Home</title>"),
        }
        return answer(*files.get(url, FILES.get(url, (HTML, b""))), now)

    crawl = VirtualCrawl(tmp_path, web, delay=1.0)
    crawl.define(f"{A}/")
    assert crawl.run()
    assert {f"{B}/map", f"{A}/p1"} <= {url for _, _, url in crawl.requests}


def test_listings_are_not_documents(crawl: VirtualCrawl) -> None:
    rows = crawl.rows(DocumentRow)
    assert {row.url for row in rows} == {f"{A}/", *(f"{A}/p{n}" for n in range(1, PAGES + 1))}


class ChangingWeb:
    """Four pages, of which two change every few days, and a listing with the dates of the
    changes."""

    def __init__(self, form: str) -> None:
        self.form = sitemap if form == "sitemap" else feed

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        if url.endswith("/list"):
            pages = [(f"{A}/{n}", changed_at(n, now)) for n in range(4)]
            return answer(XML, self.form(pages).encode(), now)
        if url.endswith("/robots.txt"):
            return answer("text/plain", f"Sitemap: {A}/list".encode(), now)
        text = f"<title>{url}</title>This is of {changed_at(int(url[-1]), now)}"
        return answer(HTML, text.encode(), now)


def changed_at(page: int, now: float) -> float:
    chance, at, last = random.Random(page), START, START
    while page % 2 and (at := at + chance.expovariate(1 / (4 * DAY))) <= now:
        last = at
    return float(int(last))


@pytest.mark.slow
@pytest.mark.parametrize("form", [pytest.param("sitemap", marks=pytest.mark.long), "feed"])
def test_date_in_a_listing_moves_the_next_visit_forward(tmp_path: Path, form: str) -> None:
    crawl = VirtualCrawl(tmp_path, ChangingWeb(form), delay=1.0)
    crawl.define(f"{A}/0", revisit="optimal", budget=8.0)
    plans, whys = crawl._store().table(PlanRow), list[str]()
    while crawl.now < START + 60 * DAY:
        crawl.run(until=crawl.now + DAY / 4)
        for n in range(4):
            row = plans.get((DEFAULT_CRAWL, A), f"{A}/{n}")
            if row and f"{form} announced a change" in row.reason:
                # The reason is written only for a visit that is earlier because of it.
                assert n % 2, "the other pages never changed"
                return
            whys.append(row.reason if row else "")
    pytest.fail(f"no visit was moved forward: {set(whys)}")
