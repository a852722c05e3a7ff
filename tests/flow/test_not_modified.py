"""Conditional visits to a page, from the order to `pages` and the WARC files."""

from pathlib import Path
from typing import TypeVar

import pytest
from fastwarc.warc import WarcRecordType
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    Event,
    HostCheckedOut,
    OrderId,
    Outcome,
    Page,
    PageArchived,
    PageDeduplicated,
    RefetchRequested,
    Verdict,
    Visit,
    VisitEnded,
)
from gossamer.events.public import Gone
from gossamer.events.topics import PAGES, PAGES_ARCHIVED, PAGES_DEDUPLICATED, VISITS_ENDED
from gossamer.log.codec import encode
from gossamer.runtime.processor import Output, Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from gossamer.web.validators import Validators
from tests.archive.harness import assert_readable, files, records
from tests.flow.virtual import START, VirtualCrawl

URL = "http://a.test/"
CHANGES_AT = START + 1e6
E = TypeVar("E", bound=Event)


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    if url != URL:
        return 0.1, Reply(status=404)
    version = 2 if now >= CHANGES_AT else 1
    headers = (
        ("Content-Type", "text/html"),
        ("ETag", f'W/"v{version}"'),
        ("Cache-Control", "max-age=7200"),
    )
    body = f"<title>Version {version}</title><p>The text of version {version}.".encode()
    return 0.1, Reply(status=200, headers=headers, body=body)


def feed(url: str, now: float) -> tuple[float, Reply | Failure]:
    if url != URL:
        return web(url, now)
    headers = (("Content-Type", "application/rss+xml"), ("ETag", '"feed"'))
    body = b"<rss><channel><title>News</title></channel></rss>"
    return 0.1, Reply(status=200, headers=headers, body=body)


class Listener(Processor):
    """Records all events about the page before they are deleted."""

    name = "listener"
    reads = (PAGES_DEDUPLICATED, VISITS_ENDED, PAGES, PAGES_ARCHIVED)

    def __init__(self) -> None:
        self.events: list[Event] = []

    def handle(self, event: Event, now: float) -> Output:
        self.events.append(event)
        return ()


class OrderedCrawl(VirtualCrawl):
    """A crawl in which a test orders a page again with the validators of its last verdict."""

    def start(self) -> None:
        super().start()
        self.listener = Listener()
        listening = sequential_loop(self.listener, self.log, self._store(), lambda: self.now)
        self.runners.insert(2, listening)

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.listener.events if isinstance(event, kind)]

    def newest(self, kind: type[E]) -> E:
        return self.all(kind)[-1]

    def visit_again(self, at: float) -> None:
        """Order a conditional visit to the page with the validators of its last verdict."""
        self.now = at
        number = len(self.all(PageDeduplicated))
        known = self.newest(PageDeduplicated).validators
        visit = Visit(f"9.{number}.0@{URL}", URL, validators=known, conditional=True)
        order = HostCheckedOut(
            at=at,
            site=Site("a.test"),
            host=HostKey("http://a.test"),
            order=OrderId(f"again {number}"),
            epoch=1 << 62,
            expires_at=at + 1000.0,
            pause=0.0,
            robots=RobotsRules(),
            visits=(visit,),
        )
        self.log.append([encode(order)])
        assert self.run()


@pytest.fixture
def crawl(tmp_path: Path) -> OrderedCrawl:
    crawl = OrderedCrawl(tmp_path / "warc", web)
    (tmp_path / "warc").mkdir(exist_ok=True)
    crawl.define(URL)
    assert crawl.run()
    return crawl


def test_unmodified_page_has_a_verdict_and_a_capture_and_is_not_published(
    crawl: OrderedCrawl,
) -> None:
    assert crawl.newest(PageDeduplicated).validators == Validators('W/"v1"')
    for day in (1, 2):
        crawl.visit_again(START + day * 86400.0)
        assert crawl.newest(VisitEnded).outcome is Outcome.NOT_MODIFIED
        result = crawl.newest(PageDeduplicated)
        assert (result.verdict, result.change, result.status) == (Verdict.UNCHANGED, 0.0, 304)
        assert result.expires_at == result.fetched_at + 7200
        assert result.validators == Validators('W/"v1"')
    (published,) = crawl.all(Page)
    assert (result.digest, published.last_visited) == (published.digest, published.first_seen)
    row = crawl._store().table(DocumentRow).get((DEFAULT_CRAWL, URL))
    assert row.at >= START + 2 * 86400.0
    captures = [capture.record_type for capture in crawl.all(PageArchived)]
    assert captures == ["response", "revisit", "revisit"]


def test_changed_page_is_sent_and_published_whole(crawl: OrderedCrawl) -> None:
    crawl.visit_again(START + 86400.0)
    crawl.visit_again(CHANGES_AT + 1.0)
    result, published = crawl.newest(PageDeduplicated), crawl.newest(Page)
    assert (result.verdict, result.status) == (Verdict.CHANGED, 200)
    assert result.validators == Validators('W/"v2"')
    assert published.title == "Version 2"
    assert published.first_seen < START + 86400.0 < published.last_changed
    crawl.visit_again(CHANGES_AT + 86400.0)
    crawl.archive.close()

    assert_readable(crawl.folder)
    (*_, newest) = crawl._store().table(CaptureRow).scan((DEFAULT_CRAWL, URL), limit=2)
    found = [
        headers["WARC-Refers-To"]
        for file in files(crawl.folder)
        for headers, _ in records(file, WarcRecordType.revisit)
    ]
    assert len(set(found)) == 2, "each refers to its own version"
    assert found[-1] == newest.record_id


@pytest.mark.parametrize("gone", [None, Gone.REMOVED])
@pytest.mark.parametrize("revisit", ["none", "fixed:30d"])
def test_304_without_a_document_is_requested_again_without_conditions(
    tmp_path: Path, revisit: str, gone: Gone | None
) -> None:
    """The document has expired or was deleted, but the frontier still has its validators."""
    crawl = OrderedCrawl(tmp_path / "warc", web)
    crawl.define(URL, revisit=revisit)
    crawl.run(until=START + 3600.0)
    store = crawl._store()
    rows, key = store.table(DocumentRow), (DEFAULT_CRAWL, URL)
    if gone:
        rows.put(replace(rows.get(key), gone=gone))
    else:
        rows.drop(key)
    store.flush()
    crawl.start()
    wanted = RefetchRequested(
        at=crawl.now, site=Site("a.test"), host=HostKey("http://a.test"), urls=(URL,)
    )
    crawl.log.append([encode(wanted)])
    crawl.run(until=START + 2 * 3600.0)

    visits = [one for one in crawl.all(VisitEnded) if one.visit.url == URL]
    assert [one.outcome for one in visits] == [Outcome.NOT_MODIFIED, Outcome.PAGE]
    assert not visits[-1].visit.conditions
    assert [one.title for one in crawl.all(Page)] == ["Version 1"]
    [host] = store.table(HostRow).everything()
    assert (host.politeness.failures, host.backoff_reason) == ({}, None)
    first, again = crawl.all(PageDeduplicated)
    assert "without conditions" in first.reason
    assert (again.verdict, again.validators) == (Verdict.FIRST, Validators('W/"v1"'))
    crawl.run(until=START + 10 * 86400.0)
    assert [url for _, _, url in crawl.requests].count(URL) == 3, "it is asked once more, not ever"


def test_304_to_a_listing_confirms_it(tmp_path: Path) -> None:
    """A listing has no document."""
    crawl = OrderedCrawl(tmp_path / "warc", feed)
    crawl.define(URL)
    assert crawl.run()
    crawl.visit_again(START + 86400.0)
    assert crawl.newest(VisitEnded).outcome is Outcome.NOT_MODIFIED
    assert crawl.newest(PageDeduplicated).validators == Validators('"feed"')
