"""Conditional visits over real sockets: the request headers and the responses."""

import asyncio
import time
from email.utils import formatdate

import pytest
from msgspec.structs import replace

from gossamer.events import HostCheckedOut, Outcome
from gossamer.events.hazards import Hazard
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify
from gossamer.web.http import first_value
from gossamer.web.validators import Validators
from tests.fetcher.orders import order, run_order
from tests.fetcher.servers import Answer, Server, conditional_page, page, raw, serving
from tests.parser.pages import NOW, OPTIONS

DATE = "Tue, 14 Nov 2023 22:14:20 GMT"
STRONG, WEAK = '"v1"', 'W/"v1"'
CONDITIONS = ("If-None-Match", "If-Modified-Since")
NOT_MODIFIED = raw(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n', keep=True)


def conditional(server: Server, validators: Validators, *paths: str) -> HostCheckedOut:
    """Return an order for pages whose previous version had *validators*."""
    given = order(*(f"{server.root}/{path}" for path in paths))
    visits = [replace(one, validators=validators, conditional=True) for one in given.visits]
    return replace(given, visits=tuple(visits))


def in_turn(*answers: Answer) -> Answer:
    """Give one of *answers* after the other."""
    waiting = [*answers]

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        return await waiting.pop(0)(server, writer)

    return answer


def refusing_conditions(status: int) -> Answer:
    """Answer *status* to any condition."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        refused = any(server.requests[-1].header(name) for name in CONDITIONS)
        body = b"I do not accept If-None-Match" if refused else b"<p>hello"
        return await page(body, status if refused else 200)(server, writer)

    return answer


@pytest.mark.parametrize(
    ("known", "now", "outcome"),
    [
        (Validators(STRONG), Validators(STRONG), Outcome.NOT_MODIFIED),
        (Validators(WEAK), Validators(WEAK), Outcome.NOT_MODIFIED),
        (Validators(WEAK), Validators(STRONG), Outcome.NOT_MODIFIED),
        (Validators("", DATE), Validators("", DATE), Outcome.NOT_MODIFIED),
        (Validators(STRONG, DATE), Validators(STRONG, ""), Outcome.NOT_MODIFIED),
        (Validators(STRONG, DATE), Validators('"v2"', DATE), Outcome.PAGE),
        (Validators(), Validators(STRONG, DATE), Outcome.PAGE),
    ],
)
async def test_unchanged_page_is_not_sent_again(
    known: Validators, now: Validators, outcome: Outcome
) -> None:
    async with serving(x=conditional_page(b"<p>hello", now.etag, now.last_modified)) as server:
        emitted = await run_order(given=conditional(server, known, "x"))
    (asked,) = server.requests
    assert [asked.header(name) for name in CONDITIONS] == [known.etag, known.last_modified]
    (kept,) = emitted.pages
    assert emitted.one.outcome is outcome
    assert (kept.status, kept.body) in [(200, b"<p>hello"), (304, b"")]
    assert (kept.status, emitted.one.status) == ((304, 304) if outcome != "page" else (200, 200))
    sent = [first_value(kept.request_headers, name.lower()) for name in CONDITIONS]
    assert sent == [known.etag, known.last_modified]


async def test_unconditional_visit_sends_no_validators() -> None:
    async with serving(x=conditional_page(b"<p>hello", STRONG, DATE)) as server:
        given = conditional(server, Validators(STRONG, DATE), "x")
        wanted = replace(given.visits[0], conditional=False)
        emitted = await run_order(given=replace(given, visits=(wanted,)))
    assert [server.requests[0].header(name) for name in CONDITIONS] == ["", ""]
    assert emitted.one.outcome is Outcome.PAGE


async def test_connection_is_reused_after_a_304() -> None:
    async with serving(
        x=conditional_page(b"<p>hello", STRONG), y=conditional_page(b"<p>Y", '"y"')
    ) as server:
        emitted = await run_order(given=conditional(server, Validators(STRONG), "x", "y", "x"))
    assert emitted.outcomes == ["not_modified", "page", "not_modified"]
    assert server.connections == 1


async def test_304_without_condition_is_a_server_error() -> None:
    async with serving(x=NOT_MODIFIED, y=page()) as server:
        emitted = await run_order(f"{server.root}/x", f"{server.root}/y")
        assert server.paths == ["/x", "/x", "/y"], "it is requested once more"
        without = await run_order(given=conditional(server, Validators(), "x"))
    assert emitted.outcomes == ["server_error", "page"]
    assert without.outcomes == ["server_error"]
    assert emitted.ended[0].reason == "status 304, though no condition was sent"


async def test_304_without_reason_is_requested_again_without_conditions() -> None:
    """The kind of RssBandit #1390: the 304 of a cache, to somebody else's condition."""
    answers = [NOT_MODIFIED, page(b"<p>hello")]
    async with serving(x=in_turn(*answers), y=in_turn(*answers)) as server:
        unasked = await run_order(f"{server.root}/x")
        other = await run_order(given=conditional(server, Validators('"v2"'), "y"))
    for emitted in (unasked, other):
        assert emitted.one.outcome is Outcome.PAGE
        assert Hazard.CONDITIONS_REFUSED in emitted.one.hazards
        assert [one.body for one in emitted.pages] == [b"<p>hello"]
    assert [one.header("If-None-Match") for one in server.requests] == ["", "", '"v2"', ""]


@pytest.mark.parametrize("status", [412, 400])
@pytest.mark.parametrize("ranges", [False, True])
async def test_refused_conditions_are_dropped(status: int, ranges: bool) -> None:
    """Report RssBandit #1390: the page was lost for a month."""
    refusing = refusing_conditions(status)
    async with serving(x=refusing, y=refusing) as server:
        given = conditional(server, Validators(STRONG, DATE), "x", "y")
        emitted = await run_order(given=given, ranges=ranges)
    assert emitted.outcomes == ["page", "page"]
    assert server.paths == ["/x", "/x", "/y"], "the host gets no more conditions"
    assert [one.header("If-None-Match") for one in server.requests] == [STRONG, "", ""]
    assert [bool(one.header("Range")) for one in server.requests] == [ranges] * 3
    hazards = [Hazard.CONDITIONS_REFUSED in one.hazards for one in emitted.ended]
    assert hazards == [True, False]
    visits = [one.visit for one in emitted.ended] + [one.visit for one in emitted.pages]
    assert not any(visit.conditional for visit in visits)


async def test_page_that_is_a_400_proves_nothing_about_conditions() -> None:
    """Report RssBandit #1390: other requests of the kind have other reasons."""
    async with serving(x=page(b"no", 400), y=conditional_page(b"<p>Y", STRONG)) as server:
        emitted = await run_order(given=conditional(server, Validators(STRONG), "x", "y"))
    assert server.paths == ["/x", "/x", "/y"]
    assert emitted.outcomes == ["client_error", "not_modified"]
    assert all(Hazard.CONDITIONS_REFUSED not in one.hazards for one in emitted.ended)


async def test_repeated_request_waits_for_the_delay() -> None:
    """Report RssBandit #1390: the repetition is as polite as any request."""
    async with serving(x=refusing_conditions(412)) as server:
        given = replace(conditional(server, Validators(STRONG), "x"), pause=0.2)
        await run_order(given=given)
        first, second = server.requests
        assert second.received_at - first.answered_at >= 0.19
        del server.requests[:]
        # No second request fits into the lease: the visit is made again later.
        emitted = await run_order(given=replace(given, pause=10.0, expires_at=time.time() + 25.0))
    assert len(server.requests) == 1
    assert emitted.outcomes == ["unvisited"] and emitted.one.started_at > 0


async def test_etag_is_sent_back_unchanged() -> None:
    tag = '"é,W/\\ü"'
    async with serving(x=conditional_page(b"<p>hello", tag.encode().decode("latin-1"))) as server:
        emitted = await run_order(given=conditional(server, Validators(tag), "x"))
    assert emitted.outcomes == ["not_modified"]


async def test_impossible_last_modified_is_counted_as_hazard() -> None:
    now = time.time()
    for at, is_wrong in (
        (0.0, True),
        (715_000_000.0, True),
        (726_000_000.0, False),
        (now, False),
        (now + 3600, True),
        (now + 30 * 86400, True),
    ):
        async with serving(
            x=conditional_page(b"<p>x", modified=formatdate(at, usegmt=True))
        ) as server:
            [kept] = (await run_order(f"{server.root}/x")).pages
        hazards = classify(kept, parse(kept, OPTIONS, NOW)).hazards
        assert (Hazard.WRONG_DATE in hazards) is is_wrong, at
