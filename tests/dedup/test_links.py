"""Links of pages with the same text: no link is lost, and no mirror is crawled.

Each case is a few pages in their order, read by the parser, each with the links to release.
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
    PageDeduplicated,
    PageParsed,
    UrlsDiscovered,
    Verdict,
)
from gossamer.events.hazards import Hazard
from gossamer.services.dedup.service import Dedup
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify
from gossamer.web.url import host_key, site_of
from tests.dedup.harness import make_dedup, only
from tests.parser.pages import NOW, OPTIONS, page_response

WWW = "http://www.example.org"
MAX_DEPTH = 5
CRAWL = CrawlDefined(at=0.0, scope="any()", max_depth=MAX_DEPTH)
LIMIT = 3
"""Duplicates in a row with links that are followed."""


class Case(NamedTuple):
    """A page, and the paths or URLs of its links that have to be released."""

    url: str
    body: str
    released: str = ""
    depth: int = 0
    headers: tuple[tuple[str, str], ...] = ()


ARCHIVE = (
    "<title>Archive</title><h1>Archive</h1><a href='jan/'>January</a> <a href='feb/'>February</a>"
)
ABSOLUTE = ARCHIVE.replace("href='", f"href='{WWW}/")


def shell(n: int) -> Case:
    body = (
        "<!doctype html><html><head><title>My Shop</title><script src=/app.js></script>"
        f"<link rel=next href=/p{n + 1}></head><body><div id=root></div>"
        f"<noscript>Please enable JavaScript <a href=/static/{n}>x</a></noscript>"
    )
    return Case(f"{WWW}/p{n}", body, f"/p{n + 1} /static/{n}")


def frameset(n: int) -> Case:
    body = (
        "<html><head><title>Untitled Document</title></head><frameset cols='20%,80%'>"
        f"<frame src=nav{n}.html><frame src=main{n}.html></frameset>"
    )
    return Case(f"{WWW}/d{n}/", body, f"/d{n}/nav{n}.html /d{n}/main{n}.html")


def gallery(n: int) -> Case:
    body = (
        f"<title>Gallery</title><a href=img{n}.html><img src=t{n}.jpg alt=cat></a>"
        f"<a href=page{n + 1}.html><img src=next.gif alt=Next></a>"
    )
    return Case(f"{WWW}/g{n}.html", body, f"/img{n}.html /page{n + 1}.html")


def scripted_list(n: int) -> Case:
    body = (
        "<title>Products</title><nav>Home</nav><div id=grid></div>"
        f"<a href='?page={n + 1}'>Next</a> <a href='?page={n - 1}'>Prev</a>"
    )
    return Case(f"{WWW}/list?page={n}", body, f"/list?page={n + 1} /list?page={n - 1}")


def refresh(n: int, title: str = "", text: str = "") -> Case:
    head = f"<title>{title}</title><meta http-equiv=refresh content='0;url=/t{n}'>"
    return Case(f"{WWW}/r{n}", f"<html><head>{head}</head><body>{text}</body>", f"/t{n}")


def folder(year: int) -> Case:
    return Case(f"{WWW}/{year}/", ARCHIVE, f"/{year}/jan/ /{year}/feb/")


CANONICAL = "<title>T</title><link rel=canonical href=/real>Text <a href=/q>q</a>"
CASES = {
    "shells of an application": [shell(n) for n in range(3)],
    "framesets": [frameset(n) for n in range(3)],
    "a gallery": [gallery(n) for n in range(3)],
    "relative links in several folders": [folder(year) for year in (2019, 2020, 2021)],
    "pagination filled by a script": [scripted_list(n) for n in range(2, 5)],
    "refresh without a word": [refresh(n) for n in range(3)],
    "refresh with the same words": [refresh(n, "Redirecting…", "Redirecting…") for n in range(3)],
    "the first is too deep": [
        Case(f"{WWW}/deep/", ARCHIVE, depth=MAX_DEPTH),
        Case(f"{WWW}/shallow/", ARCHIVE, "/shallow/jan/ /shallow/feb/", depth=1),
    ],
    "the first is too deep, and on the same URLs": [
        Case(f"{WWW}/deep", ABSOLUTE, depth=MAX_DEPTH),
        Case(f"{WWW}/shallow", ABSOLUTE, "/jan/ /feb/", depth=1),
        Case(f"{WWW}/late", ABSOLUTE, depth=1),
    ],
    "the first asks not to follow": [
        Case(f"{WWW}/print", ABSOLUTE, headers=(("X-Robots-Tag", "noindex, nofollow"),)),
        Case(f"{WWW}/real", ABSOLUTE, "/jan/ /feb/"),
    ],
    "the first has no body yet": [
        Case(f"{WWW}/a", "<title>x</title>"),
        Case(f"{WWW}/b", "<title>x</title><iframe src=/inner></iframe>", "/inner"),
    ],
    "one page under two names": [
        Case(f"{WWW}/real?utm=1", CANONICAL, "/real /q"),
        Case(f"{WWW}/real", CANONICAL, "/q"),
    ],
    "an equal page of another host with relative links": [
        Case(f"{WWW}/", ARCHIVE, "/jan/ /feb/"),
        Case("http://other.example.net/", ARCHIVE, "/jan/ /feb/"),
    ],
    "a scraper comes before the original": [
        Case("http://scraper.example.net/", ABSOLUTE, f"{WWW}/jan/ {WWW}/feb/"),
        Case(f"{WWW}/", ARCHIVE),
    ],
}


@pytest.fixture
def dedup() -> Dedup:
    return make_dedup(CRAWL, duplicates_limit=LIMIT)


def parse_case(case: Case, duplicates: int = 0) -> PageParsed:
    headers = (("Content-Type", "text/html"), *case.headers)
    page = page_response(case.body.encode(), *headers, url=case.url)
    visit = replace(page.visit, depth=case.depth, duplicates=duplicates)
    at = replace(page, visit=visit, host=host_key(case.url), site=site_of(case.url))
    return classify(at, parse(at, OPTIONS, NOW))


def release_links(dedup: Dedup, page: PageParsed) -> tuple[PageDeduplicated, list[str]]:
    """Return the verdict on *page*, and its released links; links to its own host as paths."""
    answer = list(dedup.handle(page, NOW))
    result = only(PageDeduplicated, answer)
    urls = [f.url for e in answer if isinstance(e, UrlsDiscovered) for f in e.urls]
    assert result.links == len(urls)
    return result, [url.removeprefix(page.host) for url in urls]


@pytest.mark.parametrize("pages", CASES.values(), ids=CASES)
def test_links_are_released_once_and_never_lost(dedup: Dedup, pages: list[Case]) -> None:
    for case in pages:
        page = parse_case(case)
        assert release_links(dedup, page)[1] == case.released.split(), case.url
        assert release_links(dedup, page)[1] == case.released.split(), f"{case.url}, redelivered"


@pytest.mark.parametrize("pages", CASES.values(), ids=CASES)
def test_links_are_released_again_after_a_crash(dedup: Dedup, pages: list[Case]) -> None:
    """The store has all rows and the events are lost: redelivered pages release the links again."""
    for case in pages:
        list(dedup.handle(parse_case(case), NOW))
    links = {url for case in pages for url in release_links(dedup, parse_case(case))[1]}
    visited = {case.url.removeprefix(WWW) for case in pages}
    assert links | visited >= {url for case in pages for url in case.released.split()} >= links


texts = st.sampled_from(("", "one text", "another"))
paths = st.lists(st.sampled_from(("a", "b", "/c", f"{WWW}/d")), max_size=3, unique=True)
hosts = st.sampled_from((WWW, "http://mirror.example.net"))
sites = st.lists(st.tuples(hosts, st.sampled_from("xyz"), texts, paths), max_size=12)


@pytest.mark.slow
@given(pages=sites, depths=st.lists(st.sampled_from((0, MAX_DEPTH)), min_size=12, max_size=12))
def test_all_links_are_released_in_any_order_of_pages(
    pages: list[tuple[str, str, str, list[str]]], depths: list[int]
) -> None:
    processor = make_dedup(CRAWL, duplicates_limit=LIMIT)
    found, expected = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for (host, name, text, links), depth in zip(pages, depths, strict=False):
        body = f"{text} {' '.join(f'<a href={link}></a>' for link in links)}"
        page = parse_case(Case(f"{host}/{name}/", body, depth=depth))
        _, urls = release_links(processor, page)
        assert len(urls) in (0, len(links))
        found.add(tuple(sorted(urls)))
        if depth < MAX_DEPTH:
            expected.add(tuple(sorted(link.url.removeprefix(page.host) for link in page.links)))
    assert expected <= found


def test_too_many_duplicates_in_a_row_are_a_trap(dedup: Dedup) -> None:
    def step(year: int, duplicates: int) -> PageDeduplicated:
        answer = list(dedup.handle(parse_case(folder(year), duplicates), NOW))
        on_the_way.extend(
            found.duplicates for e in answer if isinstance(e, UrlsDiscovered) for found in e.urls
        )
        return only(PageDeduplicated, answer)

    on_the_way: list[int] = []
    for count in range(LIMIT + 1):
        assert step(2000 + count, max(0, count - 1)).links == 2
    assert on_the_way == [0, 0, 1, 1, 2, 2, 3, 3], "each duplicate adds one"
    trapped = step(2099, LIMIT)
    assert (trapped.verdict, trapped.links) == (Verdict.DUPLICATE, 0)
    assert Hazard.TRAP_DUPLICATES in trapped.hazards
    assert f"more than {LIMIT} duplicates in a row" in trapped.reason
    elsewhere = Case("http://mirror.example.net/2099/", ARCHIVE, "/2099/jan/ /2099/feb/")
    assert release_links(dedup, parse_case(elsewhere))[1] == elsewhere.released.split(), (
        "the trap withholds no links of other pages"
    )


def test_page_with_a_new_text_resets_the_count_of_duplicates(dedup: Dedup) -> None:
    answer = dedup.handle(parse_case(folder(2000), LIMIT), NOW)
    counts = {f.duplicates for e in answer if isinstance(e, UrlsDiscovered) for f in e.urls}
    assert counts == {0}


def test_redirect_keeps_the_count_of_duplicates(dedup: Dedup) -> None:
    page = page_response(b"", ("Location", "/there"), status=301)
    page = replace(page, visit=replace(page.visit, duplicates=2))
    moved = classify(page, parse(page, OPTIONS, NOW))
    (event,) = dedup.handle(moved, NOW)
    assert isinstance(event, UrlsDiscovered)
    assert [found.duplicates for found in event.urls] == [2]


def reasons(dedup: Dedup, *pages: Case) -> Iterator[str]:
    for case in pages:
        yield release_links(dedup, parse_case(case))[0].reason


def test_different_excluded_links_of_a_mirror_are_parked(dedup: Dedup) -> None:
    def excluded_urls(host: str, link: str) -> list[str]:
        case = Case(f"{host}/", f"Words <a href=/a>a</a> <a href={link}>b</a>")
        answer = dedup.handle(parse_case(case), NOW)
        return [f.url for e in answer if isinstance(e, LinksParked) for f in e.urls]

    scope = "not domain('out.test')"
    list(dedup.handle(CrawlDefined(at=1.0, scope=scope, max_depth=MAX_DEPTH), 1.0))
    one, two = "http://out.test/1", "http://out.test/2"
    assert excluded_urls(WWW, one) == [one]
    assert excluded_urls("http://mirror.example.net", two) == [two]


def test_reason_for_withheld_links_is_reported(dedup: Dedup) -> None:
    nofollow = (("X-Robots-Tag", "nofollow"),)
    first, mirror, asked = reasons(
        dedup,
        Case(f"{WWW}/", ARCHIVE),
        Case("http://mirror.example.net/", ABSOLUTE),
        Case(f"{WWW}/x", "Other words <a href=y>y</a>", headers=nofollow),
    )
    assert first == ""
    assert mirror == f"the same links were released from {WWW}/"
    assert asked == "the page asks that its links are not followed"
