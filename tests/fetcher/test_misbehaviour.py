"""Misbehaving servers over real sockets, and the outcomes."""

import gzip
import socket

import pytest

from gossamer.events import Outcome
from tests.fetcher.orders import HASTY, endings_are_sound, order, run_order, visit_page, visit_pages
from tests.fetcher.servers import endless, hanging, page, raw, serving

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


NO_HEADS = {
    "garbage": raw(b"\x00\x01\x02 this is not HTTP\r\n\r\n"),
    "no status line": raw(b"<html>hello</html>"),
    "empty reply": raw(b""),
    "unfinished head": raw(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "stalled head": hanging(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "overlong line": endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 9_000),
    "endless lines": endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100),
    "endless 1xx": endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100),
    "two lengths": raw(HEAD + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello"),
    "another protocol": raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "an Icecast server": raw(b"ICY 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
}


@pytest.mark.parametrize("name", NO_HEADS)
async def test_invalid_head_ends_only_its_visit(name: str) -> None:
    server, emitted = await visit_pages(HASTY, x=NO_HEADS[name], after=page())
    assert server.paths == ["/x", "/after"]
    assert emitted.outcomes == ["malformed_head", "page"]
    assert emitted.ended[0].hazards == ("missing_headers",)
    assert emitted.ended[0].reason and emitted.ended[0].took > 0
    assert endings_are_sound(emitted, [one.visit for one in emitted.ended])


CUTS = {
    "half a body": (raw(HEAD + b"Content-Length: 100\r\n\r\n<p>half"), "disconnect", "cut_short"),
    "half a chunk": (
        raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n50\r\n<p>half"), "disconnect", "cut_short",
    ),
    "no last chunk": (
        raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n7\r\n<p>half\r\n"),
        "disconnect", "cut_short",
    ),
    "a broken chunk": (
        raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n7\r\n<p>half\r\nzz\r\nmore"),
        "disconnect", "cut_short",
    ),
    "a stalled body": (
        hanging(HEAD + b"Content-Length: 100\r\n\r\n<p>half"), "time", "slow_transfer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUTS)
async def test_cut_text_is_stored_and_marked(name: str) -> None:
    answer, truncated, hazard = CUTS[name]
    server, emitted = await visit_pages(HASTY, x=answer, after=page())
    assert server.paths == ["/x", "/after"]
    assert emitted.outcomes == ["page", "page"]
    kept = emitted.pages[0]
    assert (kept.body, kept.truncated, kept.hazards) == (b"<p>half", truncated, (hazard,))
    assert emitted.ended[0].hazards == (hazard,)


@pytest.mark.parametrize("sent", [b"%PDF-1.4 half", b""])
async def test_cut_body_that_cannot_be_parsed_is_retried(sent: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 99\r\n\r\n"
    _, emitted = await visit_pages(x=raw(head + sent), y=raw(HEAD + b"Content-Length: 9\r\n\r\n"))
    assert emitted.outcomes == ["cut_body", "cut_body"]
    assert emitted.pages == [] and emitted.ended[0].hazards == ("cut_short",)
    assert f"after {len(sent)} bytes" in emitted.ended[0].reason


@pytest.mark.parametrize("location", ["", "tel:112", "http://[bad"])
async def test_invalid_redirect_is_archived(location: str) -> None:
    emitted = await visit_page(page(b"gone fishing", 302, Location=location))
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.BAD_REDIRECT, ("bad_redirect",))
    assert [one.body for one in emitted.pages] == [b"gone fishing"]


async def test_silent_server_ends_the_order() -> None:
    async with serving(x=hanging(), y=page()) as server:
        given = order(f"{server.root}/x", f"{server.root}/y")
        emitted = await run_order(given=given, **HASTY)
        assert server.paths == ["/x"]
    assert emitted.outcomes == ["silent_server"]
    assert emitted.one.hazards == ("silent_server",)
    assert emitted.one.last


async def test_refused_connection_ends_the_order() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        root = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        emitted = await run_order(f"{root}/x", f"{root}/y")
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.HOST_DOWN, ("host_down",))
    assert "Connect call failed" in emitted.one.reason and "ssl" not in emitted.one.reason
    assert emitted.one.last


async def test_connect_timeout_ends_the_order() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        # Linux delays handshakes while the queue of a listener is full.
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        emitted = await run_order(f"http://127.0.0.1:{address[1]}/x", connect_limit=0.5)
        for one in waiting:
            one.close()
    assert emitted.one.outcome is Outcome.HOST_DOWN
    assert emitted.one.last


async def test_unwanted_type_is_not_downloaded() -> None:
    film = endless(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n", b"\0" * 1000)
    emitted = await visit_page(film)
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.UNWANTED_TYPE, ("unwanted_type",))
    assert (emitted.one.received, emitted.one.status, emitted.pages) == (0, 200, [])
    assert "video/mp4" in emitted.one.reason


@pytest.mark.parametrize(
    "kind", ["application/xhtml+xml", "application/atom+xml", "text/plain", ""]
)
async def test_accepted_and_missing_types_are_stored(kind: str) -> None:
    emitted = await visit_page(page(b"hello", Content_Type=kind))
    assert [one.body for one in emitted.pages] == [b"hello"]


async def test_decompression_bomb_is_stored_compressed() -> None:
    packed = gzip.compress(b"\0" * 10_000_000)
    emitted = await visit_page(page(packed, Content_Encoding="gzip"))
    assert emitted.pages[0].body == packed
    assert emitted.one.outcome is Outcome.PAGE


async def test_headers_keep_order_case_and_bytes() -> None:
    lines = [b"HTTP/1.0 200 Tr\xe8s bien", b"x-B: 1", b"X-a: caf\xe9", b"X-A: 2"]
    emitted = await visit_page(raw(b"\r\n".join([*lines, b"Content-length: 2", b"", b"ok"])))
    (kept,) = emitted.pages
    assert kept.headers == (("x-B", "1"), ("X-a", "café"), ("X-A", "2"), ("Content-length", "2"))
    assert (kept.http_version, kept.reason, kept.address) == ("1.0", "Très bien", "127.0.0.1")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, "page"), (204, "page"), (403, "client_error"), (404, "gone"), (410, "gone"),
     (500, "server_error"), (503, "server_error"), (304, "server_error"), (999, "server_error")],
)  # fmt: skip
async def test_each_status_has_its_outcome(status: int, outcome: str) -> None:
    body = b"" if status in (204, 304) else b"some words"
    answer = raw(f"HTTP/1.1 {status} X\r\nConnection: close\r\n\r\n".encode() + body)
    emitted = await visit_page(answer)
    assert (emitted.outcomes, emitted.one.status) == ([outcome], status)
    assert [one.body for one in emitted.pages] == [body]


async def test_redirect_is_reported_and_not_followed() -> None:
    async with serving(x=page(b"over there", 301, Location="/y?q=é"), y=page()) as server:
        emitted = await run_order(f"{server.root}/x")
        assert server.paths == ["/x"]
    assert (emitted.one.outcome, emitted.one.location) == (Outcome.REDIRECT, "/y?q=%E9")
    assert emitted.pages[0].body == b"over there"


async def test_busy_host_ends_the_order() -> None:
    server, emitted = await visit_pages(x=page(b"", 429, Retry_After="17"), y=page())
    assert server.paths == ["/x"]
    assert (emitted.one.outcome, emitted.one.retry_after) == (Outcome.BUSY, 17.0)
    assert emitted.one.last
