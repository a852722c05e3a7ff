"""The pauses between requests, measured at the server; and the early end of orders."""

import asyncio
import re
import time
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.errors import Poison
from gossamer.events import FleetPaused, Outcome
from gossamer.web.robots import RobotsRules, parse_robots
from tests.fetcher.orders import (
    Emitted,
    endings_are_sound,
    fetcher,
    order,
    pause_crawl,
    run_order,
    visit_pages,
    work,
)
from tests.fetcher.servers import Server, hanging, page, raw, serving

CONTACT = "crawl@example.org"


def rules(text: str) -> RobotsRules:
    return parse_robots(text.encode(), "gossamer", 0.0, 1e9).rules


def gaps(server: Server) -> list[float]:
    """Return the seconds from each response to the next request."""
    pairs = zip(server.requests, server.requests[1:], strict=False)
    return [after.received_at - before.answered_at for before, after in pairs]


async def test_pause_is_between_a_response_and_the_next_request() -> None:
    async with serving(a=page(), b=raw(b""), c=page()) as server:
        urls = [f"{server.root}/{name}" for name in "abc"]
        await run_order(given=order(*urls, pause=0.1))
        assert server.paths == ["/a", "/b", "/b", "/c"]
        assert min(gaps(server)) >= 0.1


async def test_pause_grows_with_the_duration_of_responses() -> None:
    async def slow(server: Server, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(0.1)
        return await page()(server, writer)

    async with serving(a=slow, b=page()) as server:
        given = order(f"{server.root}/a", f"{server.root}/b", pause=0.01, pause_factor=2.0)
        await run_order(given=given)
        (gap,) = gaps(server)
        assert gap >= 0.2


async def test_disallowed_url_is_not_requested_and_needs_no_pause() -> None:
    async with serving(open=page()) as server:
        urls = [f"{server.root}/private/{n}" for n in range(20)] + [f"{server.root}/open"]
        robots = rules("User-agent: *\n\nDisallow: /private/")
        emitted = await run_order(given=order(*urls, pause=900.0, robots=robots))
        assert server.paths == ["/open"]
    assert emitted.outcomes == ["robots_excluded"] * 20 + ["page"]
    assert emitted.ended[0].reason == "line 3: Disallow: /private/"
    assert emitted.ended[0].hazards == ("robots_excluded",)
    assert endings_are_sound(emitted, [one.visit for one in emitted.ended])


async def test_order_without_robots_rules_requests_no_page() -> None:
    async with serving(x=page()) as server:
        emitted = await run_order(given=order(f"{server.root}/x", robots=None))
        assert server.paths == []
    assert emitted.one.outcome is Outcome.ROBOTS_EXCLUDED


async def test_paused_crawl_begins_no_visit() -> None:
    async with serving(x=page()) as server, fetcher() as processor:
        processor.control(pause_crawl())
        paused = await work(processor, order(f"{server.root}/x", f"{server.root}/y"))
        assert server.paths == []
        processor.control(pause_crawl(False))
        resumed = await work(processor, order(f"{server.root}/x"))
    assert (paused.one.outcome, paused.one.last) == (Outcome.UNVISITED, True)
    assert resumed.outcomes == ["page"]


@pytest.mark.parametrize("first", [True, False])
async def test_all_crawls_are_paused_together_and_each_alone(first: bool) -> None:
    async with serving(x=page()) as server, fetcher() as processor:
        events = [pause_crawl(), FleetPaused(at=0.0, paused=True)]
        for event in events if first else reversed(events):
            processor.control(event)
        emitted = Emitted()
        for event in (pause_crawl(False), pause_crawl(), FleetPaused(at=0.0, paused=False)):
            await processor.work(order(f"{server.root}/x"), emitted.emit)
            processor.control(event)
        await processor.work(order(f"{server.root}/x"), emitted.emit)
        processor.control(pause_crawl(False))
        await processor.work(order(f"{server.root}/x"), emitted.emit)
    assert emitted.outcomes == ["unvisited"] * 4 + ["page"]


async def test_pause_of_another_crawl_and_invalid_definitions_change_nothing() -> None:
    async with serving(x=page()) as server, fetcher() as processor:
        processor.control(replace(pause_crawl(), crawl="another"))
        with pytest.raises(Poison, match="not the id of a crawl"):
            processor.control(replace(pause_crawl(), crawl="An/other"))
        emitted = await work(processor, order(f"{server.root}/x"))
    assert emitted.outcomes == ["page"]


async def test_pausing_a_crawl_ends_the_wait_between_visits() -> None:
    async with serving(a=page(), b=page()) as server, fetcher() as processor:
        emitted = Emitted()
        given = order(f"{server.root}/a", f"{server.root}/b", pause=500.0)
        working = asyncio.create_task(processor.work(given, emitted.emit))
        await server.asked.wait()
        processor.control(pause_crawl())
        await asyncio.wait_for(working, 60)
        assert server.paths == ["/a"]
    assert emitted.outcomes == ["page", "unvisited"]
    assert endings_are_sound(emitted, given.visits)


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"epoch": 3}, "fenced"), ({"epoch": 1}, "fenced"), ({"expires_at": 1.0}, "lease")],
    ids=["void epoch", "older epoch", "expired"],
)
async def test_fenced_or_late_orders_are_returned_without_request(
    changes: dict[str, Any], why: str
) -> None:
    async with serving(x=page()) as server, fetcher(void_through=3) as processor:
        emitted = await work(processor, order(f"{server.root}/x", **changes))
        assert server.paths == []
    ended = emitted.one
    assert (ended.outcome, ended.last, ended.started_at) == (Outcome.UNVISITED, True, 0.0)
    assert why in ended.reason


async def test_stopped_fetcher_returns_unvisited_urls() -> None:
    async with serving(a=page(), b=hanging()) as server, fetcher() as processor:
        given, emitted = order(f"{server.root}/a", f"{server.root}/b", pause=0.0), Emitted()
        working = asyncio.create_task(processor.work(given, emitted.emit))
        while server.paths != ["/a", "/b"]:
            await asyncio.sleep(0.01)
        working.cancel()
        await asyncio.wait({working})
    assert emitted.outcomes == ["page", "unvisited"]
    assert endings_are_sound(emitted, given.visits)
    assert emitted.ended[-1].started_at > 0, "the request under way is reported"


async def test_page_and_outcome_are_emitted_together() -> None:
    _, emitted = await visit_pages(x=page(), y=page(b"", 404))
    kinds = [[type(event).__name__ for event in call] for call in emitted.calls]
    assert kinds == [["PageFetched", "VisitEnded"]] * 2


async def test_internal_error_ends_the_order_and_is_reported() -> None:
    async with serving(a=page(), b=page(), c=page()) as server:
        given = order(f"{server.root}/a", f"{server.root}/b", f"{server.root}/c")
        # No frontier orders this: it stands for any unexpected error.
        absurd = replace(given.visits[1], url="nonsense")
        given = replace(given, visits=(given.visits[0], absurd, given.visits[2]))
        emitted = await run_order(given=given)
        assert server.paths == ["/a"]
    assert emitted.outcomes == ["page", "internal_error"]
    assert emitted.ended[-1].reason
    assert emitted.ended[-1].started_at, "a request may have been sent: the host is delayed"
    assert endings_are_sound(emitted, given.visits)


async def test_order_without_visits_is_poison() -> None:
    async with fetcher() as processor:
        with pytest.raises(Poison):
            await work(processor, order("http://a.example/", visits=()))


async def test_request_has_our_identity_and_the_exact_url() -> None:
    async with serving() as server:
        url = f"{server.root}/a%7eb/c%2Fd;e?q=a+b%20c&'x'[|]=1&&z"
        emitted = await run_order(url)
        (request,) = server.requests
    assert request.path == url.removeprefix(server.root)
    agent = request.header("User-Agent")
    assert re.fullmatch(r"gossamer/\S+ \(crawl@example\.org\)", agent)
    assert request.header("From") == "crawl@example.org"
    assert request.header("Accept-Encoding") == "gzip, deflate, br, zstd"
    assert "text/html" in request.header("Accept")
    for name in ("Cookie", "Referer", "Accept-Language"):
        assert request.header(name) == ""
    sent = [line.partition(": ")[::2] for line in request.head.strip().split("\r\n")[1:]]
    assert emitted.pages[0].request_headers == tuple(sent)


@pytest.mark.parametrize(
    ("purposes", "codings", "sent"),
    [
        (("search",), None, "gzip, deflate, br, zstd"),
        (("search", "archive"), None, "gzip"),
        (("archive",), ("gzip", "zstd"), "gzip, zstd"),
        (("search",), ("br",), "br"),
        (("search",), (), "identity"),
    ],
)
async def test_content_codings_follow_from_the_purpose_unless_they_are_set(
    purposes: tuple[str, ...], codings: tuple[str, ...] | None, sent: str
) -> None:
    """Rhizome-Conifer/conifer#727, internetarchive/brozzler#14, webrecorder/pywb#947: archives
    with codings that their readers cannot decode."""
    async with serving(a=page(b"a")) as server, fetcher(accept_encoding=codings) as processor:
        processor.control(replace(pause_crawl(False), purposes=purposes))
        await work(processor, order(f"{server.root}/a"))
        assert [one.header("Accept-Encoding") for one in server.requests] == [sent]


@pytest.mark.parametrize(
    ("changes", "agent", "sender"),
    [
        ({"contact": "https://a.example/about"}, " (+https://a.example/about)", ""),
        ({"page": "https://a.example/"}, " (+https://a.example/; crawl@example.org)", CONTACT),
    ],
    ids=["the contact is a page", "a page beside the contact"],
)
async def test_page_about_the_crawler_is_in_the_user_agent(
    changes: dict[str, str], agent: str, sender: str
) -> None:
    server, _ = await visit_pages(changes, x=page())
    (request,) = server.requests
    assert request.header("User-Agent").endswith(agent)
    assert request.header("From") == sender


async def test_outcome_has_the_type_and_the_phases_of_its_request() -> None:
    async with serving(a=page(), b=page(), c=raw(b"")) as server:
        given = order(*(f"{server.root}/{name}" for name in "abc"))
        emitted = await run_order(given=given)
    broken = emitted.ended[-1]
    assert [one.content_type for one in emitted.ended] == ["text/html", "text/html", ""]
    for one in emitted.ended:
        timing = one.timing
        assert min(timing.dns, timing.limited, timing.connect, timing.body) >= 0
        assert timing.first_byte > 0
        sent = timing.connect + timing.first_byte + timing.body
        assert sent - 1e-6 <= one.took <= sent + timing.limited + 1e-6
    assert broken.timing.body == 0


async def test_outcome_has_start_and_duration_of_its_request() -> None:
    async with serving(a=page(), b=raw(b"")) as server:
        before = time.time()
        robots = rules("User-agent: *\nDisallow: /private")
        given = order(*(f"{server.root}/{name}" for name in ("a", "b", "private")), robots=robots)
        emitted = await run_order(given=given)
        after = time.time()
    answered, broken, unasked = emitted.ended
    assert before <= answered.started_at <= answered.started_at + answered.took <= after
    assert answered.started_at <= broken.started_at <= broken.started_at + broken.took <= after
    assert min(answered.took, broken.took) > 0
    assert [one.started_at for one in emitted.pages] == [answered.started_at]
    assert (unasked.started_at, unasked.took) == (0.0, 0.0)
