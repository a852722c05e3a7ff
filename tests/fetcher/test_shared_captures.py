"""Captures that one crawl makes and another takes, without a request."""

import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.events import (
    BlocklistChanged,
    CrawlDefined,
    HostCheckedOut,
    Outcome,
    PageFetched,
    SharedCapture,
    VisitEnded,
)
from gossamer.services.fetcher.outcome import count_visit
from gossamer.volumes import Volume
from gossamer.web.robots import RobotsRules
from tests.fetcher.orders import Emitted, fetcher, order, work
from tests.fetcher.servers import Server, page, serving
from tests.support.metrics import metric

BODY = b"<title>A page</title><p>of two crawls"
PAUSE = 3600.0


class Crawler:
    """A fetcher with a *volume* for blobs. Each order has a new process."""

    def __init__(self, volume: Volume, *control: Any) -> None:
        self.volume, self.control = volume, control

    async def work(self, given: HostCheckedOut) -> Emitted:
        async with fetcher(volume=self.volume) as processor:
            for event in self.control:
                processor.control(event)
            return await work(processor, given)


@pytest.fixture
def crawler(tmp_path: Path) -> Crawler:
    return Crawler(Volume((tmp_path / "blobs").as_uri()))


def order_of_b(ended: VisitEnded, *more: str, **changes: Any) -> HostCheckedOut:
    """Return an order of crawl `b` for the page that crawl `default` visited in *ended*, and for
    *more* URLs."""
    given = order(ended.visit.url, *more, crawl="b", **changes)
    shared = SharedCapture(ended.crawl, ended.started_at, ended.kept)
    return replace(given, visits=(replace(given.visits[0], shared=shared), *given.visits[1:]))


async def capture(crawler: Crawler, server: Server) -> tuple[PageFetched, VisitEnded]:
    emitted = await crawler.work(order(f"{server.root}/p", keep=True))
    return emitted.pages[0], emitted.one


async def test_capture_is_taken_without_a_request(crawler: Crawler) -> None:
    async with serving(p=page(BODY, ETag='"1"')) as server:
        first, ended = await capture(crawler, server)
        taken = await crawler.work(order_of_b(ended))
        assert len(server.requests) == 1
    [shared], outcome = taken.pages, taken.one
    assert (shared.crawl, shared.body, shared.headers) == ("b", first.body, first.headers)
    assert (shared.started_at, shared.address) == (first.started_at, first.address)
    assert (outcome.crawl, outcome.outcome, outcome.status) == ("b", Outcome.PAGE, 200)
    assert (outcome.started_at, outcome.took, outcome.received) == (0.0, 0.0, 0)
    assert outcome.captured_at == ended.started_at and outcome.last
    assert outcome.reason.startswith("taken from the capture of crawl default at 20")
    assert shared.visit == outcome.visit and shared.visit.shared
    count_visit(outcome)
    assert metric("gossamer_outcomes_total", outcome="page", crawl="b", shared="true")


async def test_visits_after_a_shared_one_need_no_pause(crawler: Crawler) -> None:
    async with serving(p=page(BODY), q=page(BODY)) as server:
        _, ended = await capture(crawler, server)
        given = order_of_b(ended, f"{server.root}/q", pause=PAUSE, expires_at=time.time() + 100.0)
        taken = await crawler.work(given)
    assert taken.outcomes == ["page", "page"], "the first request of the order is made at once"


@pytest.mark.parametrize("data", [None, b"", b"{}", b'{"event": "page_fetched"}', b"\xff"])
async def test_missing_or_unreadable_capture_becomes_a_request(
    crawler: Crawler, data: bytes | None
) -> None:
    async with serving(p=page(BODY)) as server:
        _, ended = await capture(crawler, server)
        crawler.volume.remove(ended.kept)
        if data is not None:
            crawler.volume.put_bytes(ended.kept, data)
        taken = await crawler.work(order_of_b(ended))
        assert len(server.requests) == 2
    assert taken.one.outcome is Outcome.PAGE and taken.one.started_at > ended.started_at
    assert taken.one.visit.shared is taken.pages[0].visit.shared is None
    assert taken.one.reason == ""


async def test_capture_of_another_url_becomes_a_request(crawler: Crawler) -> None:
    async with serving(p=page(BODY), q=page(b"another")) as server:
        _, ended = await capture(crawler, server)
        visit = replace(ended.visit, url=f"{server.root}/q")
        taken = await crawler.work(order_of_b(replace(ended, visit=visit)))
    assert taken.pages[0].body == b"another"


async def test_only_whole_documents_are_kept(crawler: Crawler) -> None:
    answers = {
        "gone": page(status=404),
        "moved": page(status=301, Location="/p"),
        "long": page(b"x" * 30_000),
        "p": page(BODY),
    }
    async with serving(**answers) as server:
        given = order(*(f"{server.root}/{name}" for name in answers), keep=True)
        emitted = await crawler.work(given)
    assert [bool(one.kept) for one in emitted.ended] == [False, False, False, True]


async def test_nothing_is_kept_for_a_single_crawl(crawler: Crawler) -> None:
    async with serving(p=page(BODY)) as server:
        emitted = await crawler.work(order(f"{server.root}/p"))
    assert emitted.one.kept == "" and not crawler.volume.names()


async def test_full_volume_costs_no_page(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file in place of the folder")
    crawler = Crawler(Volume((tmp_path / "blobs").as_uri()))
    async with serving(p=page(BODY)) as server:
        emitted = await crawler.work(order(f"{server.root}/p", keep=True))
    assert (emitted.one.outcome, emitted.one.kept) == (Outcome.PAGE, "")


async def test_robots_and_blocklist_hold_for_a_shared_capture(crawler: Crawler) -> None:
    async with serving(p=page(BODY)) as server:
        _, ended = await capture(crawler, server)
        forbidding = RobotsRules(forbidden="the rules of another day")
        refused = await crawler.work(order_of_b(ended, robots=forbidding))
        blocking = Crawler(crawler.volume, BlocklistChanged(at=0.0, rule=ended.visit.url))
        blocked = await blocking.work(order_of_b(ended))
        assert len(server.requests) == 1
    assert (refused.outcomes, refused.pages) == (["robots_excluded"], [])
    assert (blocked.outcomes, blocked.pages) == (["unvisited"], [])


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [({"paused": True}, "unvisited"), ({"usage_unknown": "do not fetch"}, "usage_excluded")],
    ids=["pause", "usage policy"],
)
async def test_definition_of_the_crawl_that_takes_a_capture_counts(
    crawler: Crawler, changes: dict[str, Any], outcome: str
) -> None:
    async with serving(p=page(BODY)) as server:
        _, ended = await capture(crawler, server)
        defined = CrawlDefined(crawl="b", at=0.0, scope="any()", max_depth=1, **changes)
        taken = await Crawler(crawler.volume, defined).work(order_of_b(ended))
        assert len(server.requests) == 1
    assert (taken.outcomes, taken.pages) == ([outcome], [])
