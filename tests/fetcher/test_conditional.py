"""Conditional visits over real sockets: the request headers and the responses."""

import time
from email.utils import formatdate

import pytest
from msgspec.structs import replace

from gossamer.events import HostCheckedOut, Outcome
from gossamer.events.hazards import Hazard
from gossamer.web.http import first_value
from gossamer.web.validators import Validators
from services.parser.page import parse
from services.parser.result import classify
from tests.fetcher.orders import order, run_order
from tests.fetcher.servers import Server, conditional_page, page, raw, serving
from tests.parser.pages import NOW, OPTIONS

DATE = "Tue, 14 Nov 2023 22:14:20 GMT"
STRONG, WEAK = '"v1"', 'W/"v1"'
CONDITIONS = ("If-None-Match", "If-Modified-Since")


def conditional(server: Server, validators: Validators, *paths: str) -> HostCheckedOut:
    """Return an order for pages whose previous version had *validators*."""
    given = order(*(f"{server.root}/{path}" for path in paths))
    visits = [replace(one, validators=validators, conditional=True) for one in given.visits]
    return replace(given, visits=tuple(visits))


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
    not_modified = raw(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n', keep=True)
    async with serving(x=not_modified, y=page()) as server:
        emitted = await run_order(f"{server.root}/x", f"{server.root}/y")
        without = await run_order(given=conditional(server, Validators(), "x"))
    assert emitted.outcomes == ["server_error", "page"]
    assert without.outcomes == ["server_error"]
    assert emitted.ended[0].reason == "status 304, though no condition was sent"


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
