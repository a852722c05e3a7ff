"""Purposes of a crawl: pages are not requested, or not published and not archived."""

from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, Outcome, Page, PageArchived, RefetchRequested
from gossamer.events.topics import PAGES, PAGES_ARCHIVED
from gossamer.inspection.archive.usage import read_usage
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.urls.urls import UrlExplanation, explain_url
from gossamer.log.codec import encode
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site
from tests.flow.test_flow import HTML
from tests.flow.test_hazards import report_counts
from tests.flow.virtual import VirtualCrawl

HOST = HostKey("http://a.test")
ROBOTS = b"User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: /no train-ai=n\n"


def html(path: str, *headers: tuple[str, str], head: str = "", links: str = "") -> Reply:
    anchors = "".join(f"<a href='{link}'>a</a>" for link in links.split())
    body = f"<title>{path}</title>{head}<p>The page {path} and its own words {path * 3}{anchors}"
    return Reply(status=200, headers=(*HTML, *headers), body=body.encode())


SITE = {
    "/": html("/", links="/no /header /meta /yes /signal"),
    "/no": html("/no"),
    "/header": html("/header", ("Content-Usage", "train-ai=n"), links="/beyond"),
    "/meta": html("/meta", head="<meta name=robots content=noai>"),
    "/signal": html("/signal", ("Content-Signal", "ai-train=no, search=no")),
    "/yes": html("/yes", ("Content-Usage", "train-ai=y")),
    "/beyond": html("/beyond"),
    "/robots.txt": Reply(status=200, headers=(("Content-Type", "text/plain"),), body=ROBOTS),
}
ALL = set(SITE) - {"/robots.txt"}


def run_crawl(folder: Path, **fields: object) -> VirtualCrawl:
    def web(url: str, now: float) -> tuple[float, Reply]:
        found = SITE.get(url.removeprefix(HOST), Reply(status=404))
        return 0.1, found

    crawl = VirtualCrawl(folder, web)
    crawl.define(f"{HOST}/", **fields)
    assert crawl.run()
    crawl.archive.close()
    return crawl


def paths(urls: list[str]) -> set[str]:
    return {url.removeprefix(HOST) for url in urls} - {"/robots.txt"}


def requested(crawl: VirtualCrawl) -> set[str]:
    return paths([url for _, _, url in crawl.requests]) - {"/.well-known/tdmrep.json"}


def published(crawl: VirtualCrawl) -> dict[str, Page]:
    return {page.url.removeprefix(HOST): page for page in crawl.events(PAGES.name, Page)}


def archived(crawl: VirtualCrawl) -> dict[str, PageArchived]:
    captures = crawl.events(PAGES_ARCHIVED.name, PageArchived)
    return {one.url.removeprefix(HOST): one for one in captures}


def excluded(crawl: VirtualCrawl) -> dict[str, str]:
    """Return path → reason of the URLs that were not requested because of their usage."""
    found = {path: crawl.url_row(HOST + path) for path in ALL}
    return {
        path: row.reason
        for path, row in found.items()
        if row and row.outcome == Outcome.USAGE_EXCLUDED
    }


def why(crawl: VirtualCrawl, path: str) -> UrlExplanation:
    return explain_url(OpenCrawl("data", crawl.log, crawl._store), HOST + path)


DISALLOWED = {"/no", "/header", "/meta", "/signal"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("purposes", "disallowed", "unknown", "unrequested", "hidden"),
    [
        (("train-ai",), "do not fetch", "fetch", {"/no"}, DISALLOWED - {"/no"}),
        (("train-ai",), "fetch and do not publish", "fetch", set(), DISALLOWED),
        (("train-ai",), "fetch", "fetch", set(), set()),
        (("search",), "do not fetch", "fetch", set(), {"/signal"}),
        (("ai-input",), "do not fetch", "fetch and do not publish", set(), ALL),
        (("archive",), "do not fetch", "fetch", set(), set()),
        ((), "do not fetch", "fetch", set(), set()),
        (("search", "train-ai"), "do not fetch", "fetch", {"/no"}, DISALLOWED - {"/no"}),
    ],
)
def test_disallowed_page_is_not_requested_or_not_published(
    tmp_path: Path,
    purposes: tuple[str, ...],
    disallowed: str,
    unknown: str,
    unrequested: set[str],
    hidden: set[str],
) -> None:
    crawl = run_crawl(
        tmp_path, purposes=purposes, usage_disallowed=disallowed, usage_unknown=unknown
    )
    assert requested(crawl) == ALL - unrequested, "links of hidden pages are followed"
    assert set(published(crawl)) == ALL - unrequested - hidden
    assert set(archived(crawl)) == ALL - unrequested - hidden
    assert set(excluded(crawl)) == unrequested
    assert report_counts(crawl).get("usage_excluded", 0) == len(unrequested | hidden)


def test_unknown_use_is_not_requested_if_the_crawl_says_so(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path, purposes=("search",), usage_unknown="do not fetch")
    assert requested(crawl) == set()
    assert excluded(crawl) == {"/": "no statement allows search"}


def test_reason_names_the_statement_that_decided(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path, purposes=("train-ai",))
    statement = "robots.txt line 3: Content-Usage: /no train-ai=n"
    assert excluded(crawl) == {"/no": statement}
    found = why(crawl, "/no")
    assert f"usage not allowed ({statement})" in found.answer
    assert list(map(str, found.usage["train-ai"].by)) == [statement]
    hidden = why(crawl, "/meta")
    assert "not in pages and not archived (meta robots: noai)" in hidden.answer
    assert hidden.not_archived == "meta robots: noai: it is not published"
    assert why(crawl, "/").not_archived == ""
    (at_end,) = read_usage(OpenCrawl("data", crawl.log, crawl._store), f"{HOST}/meta", crawl.now)
    assert (at_end.not_archived, at_end.not_archived_at) == (
        hidden.not_archived,
        hidden.history[0].at,
    )
    rows = SqliteStore(crawl.database).table(VerdictRow)
    row = rows.get((DEFAULT_CRAWL, HOST), f"{HOST}/meta")
    assert row and row.reason == "meta robots: noai: it is not published"


def test_statements_and_judgements_are_published_and_archived(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    expected = [
        "robots.txt line 2: Content-Usage: train-ai=y",
        "header Content-Usage: train-ai=n",
    ]
    page, capture = published(crawl)["/header"], archived(crawl)["/header"]
    for found in (page, capture):
        assert list(map(str, found.usage_statements)) == expected
        assert list(map(str, found.usage["train-ai"].by)) == expected[1:]
        assert {name: one.allowed for name, one in found.usage.items()} == {
            "search": None,
            "archive": None,
            "train-ai": False,
            "ai-input": None,
        }
    assert list(map(str, archived(crawl)["/meta"].usage["ai-input"].by)) == ["meta robots: noai"]


def test_document_that_became_disallowed_has_a_tombstone(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path)
    crawl.define(purposes=("train-ai",))
    asked = RefetchRequested(at=crawl.now, site=Site("a.test"), host=HOST, urls=(f"{HOST}/meta",))
    crawl.log.append([encode(asked)])
    assert crawl.run()
    gone = [one for one in crawl.records(PAGES.name) if not one.value]
    assert [one.key for one in gone] == [f"default/{HOST}/meta"]
