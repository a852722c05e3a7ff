"""A host is probed as soon as two of its URLs have one text, and soft 404s are withdrawn."""

from pathlib import Path

import pytest

from gossamer.events import Page
from gossamer.events.public import Gone
from gossamer.events.topics import PAGES
from gossamer.log.codec import decode
from gossamer.services.dedup.rows import DocumentRow, HostStepsRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from tests.flow.virtual import VirtualCrawl, html_page

HOST = "http://soft.test"
WORDS = " ".join(f"word{number}" for number in range(80))
ERROR = f"<title>Oops</title><p>Sorry, there is nothing here. {WORDS}"


def page(path: str, *links: str) -> str:
    own = " ".join(f"{path.strip('/') or 'home'}{number}" for number in range(60))
    return f"<title>{path}</title><p>{own}" + "".join(f"<p><a href='{one}'>x</a>" for one in links)


class Site:
    """A host that answers 200 with an error page for each path without a page."""

    def __init__(self, pages: dict[str, str], error: str = ERROR) -> None:
        self.pages, self.error = pages, error

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        path = url.removeprefix(HOST)
        if path == "/robots.txt":
            return 0.1, Reply(status=404)
        body = self.pages.get(path, self.error.format(path=path))
        return 0.1, html_page(body)


def crawl(folder: Path, site: Site, **settings: object) -> VirtualCrawl:
    given = {"probe_after": 10, "batch": 2, **settings}
    found = VirtualCrawl(folder, site, **given)  # type: ignore[arg-type]
    found.define(f"{HOST}/")
    assert found.run()
    return found


def probes(crawl: VirtualCrawl, known: set[str]) -> list[str]:
    paths = [url.removeprefix(HOST) for _, _, url in crawl.requests]
    return [path for path in paths if path not in known | {"/robots.txt"}]


def published(crawl: VirtualCrawl) -> dict[str, bool]:
    """Return path → whether the last record on `pages` is a document."""
    found = dict[str, bool]()
    for record in crawl.records(PAGES.name):
        if not record.value:
            found[record.key.removeprefix(f"default/{HOST}")] = False
            continue
        document = decode(record)
        assert isinstance(document, Page)
        found[document.url.removeprefix(HOST)] = True
    return found


LOST = [f"/lost{number}" for number in range(4)]
SMALL = {"/": page("/", "/a", *LOST[:2]), "/a": page("/a", *LOST[2:])}


def test_two_pages_with_one_text_cause_a_probe_and_published_error_pages_are_withdrawn(
    tmp_path: Path,
) -> None:
    found = crawl(tmp_path, Site(SMALL))
    assert len(probes(found, {*SMALL, *LOST})) == 1
    states = published(found)
    assert {path for path, is_document in states.items() if is_document} == {"/", "/a"}
    assert not any(states.get(path) for path in LOST)
    assert states.keys() & set(LOST), "some were published before the probe"
    rows = {row.url.removeprefix(HOST): row for row in found.rows(DocumentRow)}
    assert {rows[path].gone for path in LOST} == {Gone.SOFT_404}
    [host] = found.rows(HostRow)
    assert host.condition is Condition.IDLE and host.queued == 0 and host.signature


def test_similar_error_pages_with_their_path_are_withdrawn(tmp_path: Path) -> None:
    found = crawl(tmp_path, Site(SMALL, ERROR + " We looked for {path}."))
    assert not any(published(found).get(path) for path in LOST)
    assert published(found)["/a"]


def test_small_honest_host_is_not_probed(tmp_path: Path) -> None:
    pages = {"/": page("/", "/a", "/b", "/index.html"), "/a": page("/a"), "/b": page("/b")}
    pages["/index.html"] = pages["/"]
    found = crawl(tmp_path, Site(pages))
    assert probes(found, set(pages)) == []
    assert all(published(found).values())


def test_honest_host_with_two_equal_pages_is_probed_once_and_loses_no_page(tmp_path: Path) -> None:
    pages = {"/": page("/", "/a", "/print/a", "/b", "/print/b"), "/a": page("/a"), "/b": page("/b")}
    pages |= {"/print/a": pages["/a"], "/print/b": pages["/b"]}
    found = crawl(tmp_path, Site(pages))
    assert len(probes(found, set(pages))) == 1
    assert published(found).keys() >= {"/", "/a", "/b"} and all(published(found).values())


def test_idle_host_is_probed_when_its_last_pages_are_equal(tmp_path: Path) -> None:
    pages = {"/": page("/", *LOST[:2])}
    found = crawl(tmp_path, Site(pages), batch=10)
    assert len(probes(found, {*pages, *LOST})) == 1
    assert [path for path, is_document in published(found).items() if is_document] == ["/"]


def test_host_that_shows_its_home_page_everywhere_keeps_only_the_home_page(tmp_path: Path) -> None:
    home = page("/", *(f"/{number}" for number in range(30)))
    found = crawl(tmp_path, Site({}, home), probe_after=10, worth_parking=False)
    assert [path for path, is_document in published(found).items() if is_document] == ["/"]


def test_no_probe_is_made_if_the_setting_is_0(tmp_path: Path) -> None:
    found = crawl(tmp_path, Site(SMALL), probe_after=0)
    assert probes(found, {*SMALL, *LOST}) == []


@pytest.mark.slow
@pytest.mark.parametrize("steps", range(20, 80, 7))
def test_withdrawn_pages_stay_withdrawn_after_a_crash(tmp_path: Path, steps: int) -> None:
    found = VirtualCrawl(tmp_path, Site(SMALL), probe_after=10, batch=2)
    found.define(f"{HOST}/")
    found.run(steps=steps)
    found.crash()
    assert found.run()
    assert {path for path, is_document in published(found).items() if is_document} == {"/", "/a"}
    row = found._store().table(HostStepsRow).get(HOST)
    assert row and row.missing
