"""Requests with a Range header, over real sockets (hazard `range_error`)."""

import asyncio
from typing import Any

from gossamer.events import Outcome
from gossamer.events.hazards import Hazard
from tests.fetcher.orders import Emitted, run_order
from tests.fetcher.servers import Answer, Server, page, raw, serving

PARTS = {"ranges": True, "body_limit": 1000, "pdf_limit": 2000, "sitemap_limit": 10}
HTML = (
    b"HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Length: %d\r\n%s\r\n\r\n"
)


def part(size: int, said: bytes = b"") -> Answer:
    return raw(HTML % (size, said) + b"x" * size)


def refusing(body: bytes) -> Answer:
    """Answer 416 to any range."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        add_range = server.requests[-1].header("range")
        return await page(b"no such part" if add_range else body, 416 if add_range else 200)(
            server, writer
        )

    return answer


async def request_range(answer: Answer, **changes: Any) -> tuple[Server, Emitted]:
    async with serving(x=answer) as server:
        return server, await run_order(f"{server.root}/x", **{**PARTS, **changes})


async def test_refused_range_is_requested_again_without_range() -> None:
    server, emitted = await request_range(refusing(b"<p>all of it"))
    assert [one.header("range") for one in server.requests] == ["bytes=0-1999", ""]
    assert emitted.one.outcome is Outcome.PAGE
    assert Hazard.RANGE_ERROR in emitted.one.hazards
    assert [one.body for one in emitted.pages] == [b"<p>all of it"]


async def test_partial_response_is_marked_as_cut_unless_whole() -> None:
    for said, truncated in (
        (b"Content-Range: bytes 0-99/5000", "length"),
        (b"Content-Range: bytes 0-99/*", "length"),
        (b"", "length"),
        (b"Content-Range: bytes 0-99/100", ""),
    ):
        _, emitted = await request_range(part(100, said or b"X: y"))
        [kept] = emitted.pages
        assert (kept.status, kept.truncated, len(kept.body)) == (206, truncated, 100)
        assert (Hazard.INFINITE_BODY in emitted.one.hazards) is bool(truncated)


async def test_body_is_cut_if_the_server_ignores_the_range() -> None:
    _, emitted = await request_range(page(b"<p>" + b"x" * 5000))
    assert [(one.status, one.truncated, len(one.body)) for one in emitted.pages] == (
        [(200, "length", 1000)]
    )


async def test_no_range_is_requested_by_default() -> None:
    server, emitted = await request_range(refusing(b"<p>all of it"), ranges=False)
    assert [one.header("range") for one in server.requests] == [""]
    assert emitted.one.hazards == ()
    _, emitted = await request_range(page(b"no", 416), ranges=False)
    assert emitted.one.outcome is Outcome.CLIENT_ERROR and emitted.one.hazards == ()
