"""Which links are released where pages have the same text: none is lost, and no mirror is crawled.

Each case is a few pages in the order in which they come, read by the parser, and the links of each
that are released.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    LinksParked,
    PageJudged,
    PageParsed,
    UrlsDiscovered,
    Verdict,
)
from gossamer.events.hazards import Hazard
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import host_key, site_of
from services.dedup.seen import SeenTable
from services.dedup.service import Dedup
from services.parser.page import parse
from services.parser.result import classify
from tests.parser.pages import NOW, OPTIONS, fetched

WWW = "http://www.example.org"
MAX_DEPTH = 5
LIMIT = 3
"""Duplicates in a row whose links are followed."""


class Met(NamedTuple):
    """A page, and the paths or URLs of its links that are to be released."""

    url: str
    body: str
    released: str = ""
    depth: int = 0
    headers: tuple[tuple[str, str], ...] = ()


ARCHIVE = (
    "<title>Archive</title><h1>Archive</h1><a href='jan/'>January</a> <a href='feb/'>February</a>"
)
ABSOLUTE = ARCHIVE.replace("href='", f"href='{WWW}/")


def shell(n: int) -> Met:
    body = (
        "<!doctype html><html><head><title>My Shop</title><script src=/app.js></script>"
        f"<link rel=next href=/p{n + 1}></head><body><div id=root></div>"
        f"<noscript>Please enable JavaScript <a href=/static/{n}>x</a></noscript>"
    )
    return Met(f"{WWW}/p{n}", body, f"/p{n + 1} /static/{n}")


def frameset(n: int) -> Met:
    body = (
        "<html><head><title>Untitled Document</title></head><frameset cols='20%,80%'>"
        f"<frame src=nav{n}.html><frame src=main{n}.html></frameset>"
    )
    return Met(f"{WWW}/d{n}/", body, f"/d{n}/nav{n}.html /d{n}/main{n}.html")


def gallery(n: int) -> Met:
    body = (
        f"<title>Gallery</title><a href=img{n}.html><img src=t{n}.jpg alt=cat></a>"
        f"<a href=page{n + 1}.html><img src=next.gif alt=Next></a>"
    )
    return Met(f"{WWW}/g{n}.html", body, f"/img{n}.html /page{n + 1}.html")


def scripted(n: int) -> Met:
    body = (
        "<title>Products</title><nav>Home</nav><div id=grid></div>"
        f"<a href='?page={n + 1}'>Next</a> <a href='?page={n - 1}'>Prev</a>"
    )
    return Met(f"{WWW}/list?page={n}", body, f"/list?page={n + 1} /list?page={n - 1}")


def refresh(n: int, title: str = "", text: str = "") -> Met:
    head = f"<title>{title}</title><meta http-equiv=refresh content='0;url=/t{n}'>"
    return Met(f"{WWW}/r{n}", f"<html><head>{head}</head><body>{text}</body>", f"/t{n}")


def folder(year: int) -> Met:
    return Met(f"{WWW}/{year}/", ARCHIVE, f"/{year}/jan/ /{year}/feb/")


CANONICAL = "<title>T</title><link rel=canonical href=/real>Text <a href=/q>q</a>"
CASES = {
    "shells of an application": [shell(n) for n in range(3)],
    "framesets": [frameset(n) for n in range(3)],
    "a gallery": [gallery(n) for n in range(3)],
    "relative links in several folders": [folder(year) for year in (2019, 2020, 2021)],
    "pagination filled by a script": [scripted(n) for n in range(2, 5)],
    "refresh without a word": [refresh(n) for n in range(3)],
    "refresh with the same words": [refresh(n, "Redirecting…", "Redirecting…") for n in range(3)],
    "the first is too deep": [
        Met(f"{WWW}/deep/", ARCHIVE, depth=MAX_DEPTH),
        Met(f"{WWW}/shallow/", ARCHIVE, "/shallow/jan/ /shallow/feb/", depth=1),
    ],
    "the first is too deep, and on the same URLs": [
        Met(f"{WWW}/deep", ABSOLUTE, depth=MAX_DEPTH),
        Met(f"{WWW}/shallow", ABSOLUTE, "/jan/ /feb/", depth=1),
        Met(f"{WWW}/late", ABSOLUTE, depth=1),
    ],
    "the first asks not to follow": [
        Met(f"{WWW}/print", ABSOLUTE, headers=(("X-Robots-Tag", "noindex, nofollow"),)),
        Met(f"{WWW}/real", ABSOLUTE, "/jan/ /feb/"),
    ],
    "the first has no body yet": [
        Met(f"{WWW}/a", "<title>x</title>"),
        Met(f"{WWW}/b", "<title>x</title><iframe src=/inner></iframe>", "/inner"),
    ],
    "one page under two names": [
        Met(f"{WWW}/real?utm=1", CANONICAL, "/real /q"),
        Met(f"{WWW}/real", CANONICAL, "/q"),
    ],
    "a mirror with relative links": [
        Met(f"{WWW}/", ARCHIVE, "/jan/ /feb/"),
        Met("http://mirror.example.net/", ARCHIVE),
    ],
    "a scraper comes before the original": [
        Met("http://scraper.example.net/", ABSOLUTE, f"{WWW}/jan/ {WWW}/feb/"),
        Met(f"{WWW}/", ARCHIVE, "/jan/ /feb/"),
    ],
    "a duplicate that was released is mirrored": [
        folder(2019),
        folder(2020),
        Met("http://mirror.example.net/2019/", ARCHIVE),
        Met("http://mirror.example.net/2020/", ARCHIVE),
    ],
}


@pytest.fixture
def dedup() -> Dedup:
    return made()


def made() -> Dedup:
    store = SqliteStore(Database(":memory:"))
    processor = Dedup(SeenTable(store), store, DedupSettings(duplicates_limit=LIMIT))
    list(processor.handle(CrawlDefined(at=0.0, scope="any()", max_depth=MAX_DEPTH), 0.0))
    return processor


def read(met: Met, duplicates: int = 0) -> PageParsed:
    headers = (("Content-Type", "text/html"), *met.headers)
    page = fetched(met.body.encode(), *headers, url=met.url)
    visit = replace(page.visit, depth=met.depth, duplicates=duplicates)
    at = replace(page, visit=visit, host=host_key(met.url), site=site_of(met.url))
    return classify(at, parse(at, OPTIONS, NOW))


def released(dedup: Dedup, page: PageParsed) -> tuple[PageJudged, list[str]]:
    """Return the verdict on *page*, and its links that are followed: those of its host as paths."""
    answer = list(dedup.handle(page, NOW))
    (judged,) = (event for event in answer if isinstance(event, PageJudged))
    urls = [f.url for e in answer if isinstance(e, UrlsDiscovered) for f in e.urls]
    assert judged.links == len(urls)
    return judged, [url.removeprefix(page.host) for url in urls]


@pytest.mark.parametrize("pages", CASES.values(), ids=CASES)
def test_links_are_released_once_and_never_lost(dedup: Dedup, pages: list[Met]) -> None:
    for met in pages:
        page = read(met)
        assert released(dedup, page)[1] == met.released.split(), met.url
        assert released(dedup, page)[1] == met.released.split(), f"{met.url}, come again"


@pytest.mark.parametrize("pages", CASES.values(), ids=CASES)
def test_links_are_released_again_after_a_crash(dedup: Dedup, pages: list[Met]) -> None:
    """All were remembered and none was said: what comes again says as much."""
    for met in pages:
        list(dedup.handle(read(met), NOW))
    said = {url for met in pages for url in released(dedup, read(met))[1]}
    visited = {met.url.removeprefix(WWW) for met in pages}
    assert said | visited >= {url for met in pages for url in met.released.split()} >= said


texts = st.sampled_from(("", "one text", "another"))
paths = st.lists(st.sampled_from(("a", "b", "/c", f"{WWW}/d")), max_size=3, unique=True)
hosts = st.sampled_from((WWW, "http://mirror.example.net"))
sites = st.lists(st.tuples(hosts, st.sampled_from("xyz"), texts, paths), max_size=12)


@pytest.mark.slow
@given(pages=sites, depths=st.lists(st.sampled_from((0, MAX_DEPTH)), min_size=12, max_size=12))
def test_whatever_comes_in_whatever_order_all_links_are_released_by_somebody(
    pages: list[tuple[str, str, str, list[str]]], depths: list[int]
) -> None:
    processor, said, wanted = made(), set[tuple[str, ...]](), set[tuple[str, ...]]()
    for (host, name, text, links), depth in zip(pages, depths, strict=False):
        body = f"{text} {' '.join(f'<a href={link}></a>' for link in links)}"
        page = read(Met(f"{host}/{name}/", body, depth=depth))
        _, urls = released(processor, page)
        assert len(urls) in (0, len(links))
        said.add(tuple(sorted(urls)))
        if depth < MAX_DEPTH:
            wanted.add(tuple(sorted(link.url.removeprefix(page.host) for link in page.links)))
    assert wanted <= said


def test_duplicates_in_a_row_come_to_an_end_that_is_explained(dedup: Dedup) -> None:
    def step(year: int, duplicates: int) -> PageJudged:
        answer = list(dedup.handle(read(folder(year), duplicates), NOW))
        on_the_way.extend(
            found.duplicates for e in answer if isinstance(e, UrlsDiscovered) for found in e.urls
        )
        (judged,) = (event for event in answer if isinstance(event, PageJudged))
        return judged

    on_the_way: list[int] = []
    for count in range(LIMIT + 1):
        assert step(2000 + count, max(0, count - 1)).links == 2
    assert on_the_way == [0, 0, 1, 1, 2, 2, 3, 3], "each duplicate adds one"
    trapped = step(2099, LIMIT)
    assert (trapped.verdict, trapped.links) == (Verdict.DUPLICATE, 0)
    assert Hazard.TRAP_DUPLICATES in trapped.hazards
    assert f"more than {LIMIT} duplicates in a row" in trapped.reason
    elsewhere = Met("http://mirror.example.net/2099/", ARCHIVE, "/2099/jan/ /2099/feb/")
    assert released(dedup, read(elsewhere))[1] == elsewhere.released.split(), "it silenced nobody"


def test_a_page_with_a_text_of_its_own_ends_the_row(dedup: Dedup) -> None:
    answer = dedup.handle(read(folder(2000), LIMIT), NOW)
    counts = {f.duplicates for e in answer if isinstance(e, UrlsDiscovered) for f in e.urls}
    assert counts == {0}


def test_a_redirect_neither_adds_to_the_row_nor_ends_it(dedup: Dedup) -> None:
    page = fetched(b"", ("Location", "/there"), status=301)
    page = replace(page, visit=replace(page.visit, duplicates=2))
    moved = classify(page, parse(page, OPTIONS, NOW))
    (event,) = dedup.handle(moved, NOW)
    assert isinstance(event, UrlsDiscovered)
    assert [found.duplicates for found in event.urls] == [2]


def reasons(dedup: Dedup, *pages: Met) -> Iterator[str]:
    for met in pages:
        yield released(dedup, read(met))[0].reason


def test_what_a_mirror_links_to_outside_the_crawl_is_not_lost(dedup: Dedup) -> None:
    def left_out(host: str, link: str) -> list[str]:
        met = Met(f"{host}/", f"Words <a href=/a>a</a> <a href={link}>b</a>")
        answer = dedup.handle(read(met), NOW)
        return [f.url for e in answer if isinstance(e, LinksParked) for f in e.urls]

    scope = "not domain('out.test')"
    list(dedup.handle(CrawlDefined(at=1.0, scope=scope, max_depth=MAX_DEPTH), 1.0))
    one, two = "http://out.test/1", "http://out.test/2"
    assert left_out(WWW, one) == [one]
    assert left_out("http://mirror.example.net", two) == [two]


def test_why_links_are_withheld_is_said(dedup: Dedup) -> None:
    nofollow = (("X-Robots-Tag", "nofollow"),)
    first, mirror, asked = reasons(
        dedup,
        Met(f"{WWW}/", ARCHIVE),
        Met("http://mirror.example.net/", ARCHIVE),
        Met(f"{WWW}/x", "Other words <a href=y>y</a>", headers=nofollow),
    )
    assert first == ""
    assert mirror == f"the same links were released from {WWW}/"
    assert asked == "the page asks that its links are not followed"
