"""Pages that are not relevant are counted and explained, not published, and not archived."""

from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, Page, PageArchived, RefetchRequested
from gossamer.events.topics import PAGES, PAGES_ARCHIVED
from gossamer.log.codec import encode
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site
from tests.flow.test_flow import HTML
from tests.flow.virtual import VirtualCrawl

HOST = HostKey("http://a.test")
PT = "Os navios saíram do porto de Lisboa ao amanhecer, e ninguém sabia quando voltariam. " * 5
EN = "The ships left the harbour of Lisbon at dawn, and nobody knew when they would return. " * 5
PLAIN = (("Content-Type", "text/plain"),)


def html(text: str, *links: str) -> Reply:
    anchors = "".join(f"<p><a href='{link}'>there</a>" for link in links)
    body = f"<title>A page</title><p>{text}{anchors}".encode()
    return Reply(status=200, headers=HTML, body=body)


SITE = {
    "/": html(PT, "/en", "/notes.txt", "/print/x"),
    "/en": html(EN, "/beyond"),
    "/beyond": html(PT + "Mais.", "/"),
    "/notes.txt": Reply(status=200, headers=PLAIN, body=(PT + "Notas.").encode()),
    "/print/x": html(PT + "Impresso."),
}


def run_crawl(folder: Path, relevant: str, **fields: object) -> VirtualCrawl:
    def web(url: str, now: float) -> tuple[float, Reply]:
        found = SITE.get(url.removeprefix(HOST), Reply(status=404))
        return 0.1, found

    crawl = VirtualCrawl(folder, web)
    crawl.define(f"{HOST}/", relevant=relevant, **fields)
    assert crawl.run()
    crawl.archive.close()
    return crawl


def visited_paths(crawl: VirtualCrawl) -> set[str]:
    return {url.removeprefix(HOST) for url in crawl.requested()}


def published_paths(crawl: VirtualCrawl) -> set[str]:
    return {page.url.removeprefix(HOST) for page in crawl.events(PAGES.name, Page)}


def archived_paths(crawl: VirtualCrawl) -> set[str]:
    captures = crawl.events(PAGES_ARCHIVED.name, PageArchived)
    return {one.url.removeprefix(HOST) for one in captures}


def verdict_row(crawl: VirtualCrawl, path: str) -> VerdictRow:
    row = SqliteStore(crawl.database).table(VerdictRow).get((DEFAULT_CRAWL, HOST), HOST + path)
    assert row
    return row


@pytest.mark.slow
@pytest.mark.parametrize(
    ("relevant", "expected", "in_archive"),
    [
        ("", set(SITE), set(SITE)),
        ('language("pt")', set(SITE) - {"/en"}, set(SITE)),
        ('type("text/html")', set(SITE) - {"/notes.txt"}, set(SITE) - {"/notes.txt"}),
        ('not pattern("/print/")', set(SITE) - {"/print/x"}, set(SITE) - {"/print/x"}),
        (
            'language("pt") and type("text/html")',
            set(SITE) - {"/en", "/notes.txt"},
            set(SITE) - {"/notes.txt"},
        ),
        ('type("text/plain") or language("en")', {"/en", "/notes.txt"}, set(SITE)),
    ],
)
def test_irrelevant_page_is_not_published_and_not_archived_if_known_before_parsing(
    tmp_path: Path, relevant: str, expected: set[str], in_archive: set[str]
) -> None:
    crawl = run_crawl(tmp_path, relevant)
    assert visited_paths(crawl) == set(SITE), "links of irrelevant pages are followed"
    assert published_paths(crawl) == expected
    assert archived_paths(crawl) == in_archive


def test_links_of_irrelevant_pages_are_not_followed_if_the_crawl_says_so(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path, 'language("pt")', follow_irrelevant=False)
    assert visited_paths(crawl) == set(SITE) - {"/beyond"}
    assert (
        verdict_row(crawl, "/en").reason == "not relevant, by language('pt'): it is not published"
    )
    assert verdict_row(crawl, "/").reason == ""


def test_document_that_is_no_longer_relevant_has_a_tombstone(tmp_path: Path) -> None:
    crawl = run_crawl(tmp_path, "")
    assert "/en" in published_paths(crawl)
    crawl.define(relevant='language("pt")')
    asked = RefetchRequested(at=crawl.now, site=Site("a.test"), host=HOST, urls=(f"{HOST}/en",))
    crawl.log.append([encode(asked)])
    assert crawl.run()
    gone = [one for one in crawl.records(PAGES.name) if not one.value]
    assert [one.key for one in gone] == [f"default/{HOST}/en"]
