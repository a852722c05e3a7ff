"""Our own parsing of heads over sockets, and the private parts of aiohttp that it uses."""

import asyncio
import random
import time

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.streams import StreamReader
from yarl import URL

from gossamer.services.fetcher.http.connections import Connector
from gossamer.services.fetcher.http.issuers import Issuers
from tests.fetcher.orders import Emitted, fetcher, order, visit_page, visit_pages, work
from tests.fetcher.servers import Answer, Server, page, raw, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
LENGTH = b"Content-Length: 5\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
ODD = {
    "the same length twice": OK + LENGTH + LENGTH + b"\r\nhello",
    "two framings": OK + LENGTH + CHUNKED + b"\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "a space before the colon": b"HTTP/1.1 200 OK\r\nContent-Type : text/html\r\n\r\nhello",
    "many lines": OK + b"Set-Cookie: a=b\r\n" * 2000 + LENGTH + b"\r\nhello",
    "a long line": OK + b"X: " + b"x" * 80_000 + b"\r\n" + LENGTH + b"\r\nhello",
    "HTTP/1.0 without a length": b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nhello",
    "a line that is no field": OK + b"nonsense\r\n\r\nhello",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 5\n\nhello",
    "a status line of its own kind": b"http/1.1 200\r\nContent-Type: text/html\r\n\r\nhello",
    "hints before it": b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" * 3 + OK + LENGTH + b"\r\nhello",
    "chunks with extensions and trailers": (
        OK + CHUNKED + b"\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"
    ),
    "more than its length": OK + LENGTH + b"\r\nhello, and more",
    "more than its chunks": OK + CHUNKED + b"\r\n5\r\nhello\r\n0\r\n\r\nand more",
}


@pytest.mark.parametrize("name", ODD)
async def test_odd_but_clear_heads_are_read(name: str) -> None:
    framed = b"Content-Length" in ODD[name] or CHUNKED in ODD[name]
    _, emitted = await visit_pages(x=raw(ODD[name], keep=framed), after=page())
    assert emitted.outcomes == ["page", "page"]
    kept = emitted.pages[0]
    assert (kept.body, kept.truncated, kept.hazards) == (b"hello", "", ())
    assert ("Content-Type", "text/html") in kept.headers


async def test_head_may_come_byte_by_byte() -> None:
    async def dripping(server: Server, writer: asyncio.StreamWriter) -> bool:
        for byte in OK + LENGTH + b"\r\nhello":
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        return True

    emitted = await visit_page(dripping, first_byte_limit=5.0)
    assert [one.body for one in emitted.pages] == [b"hello"]


def answer_and_send_more(data: bytes, emitted: Emitted) -> Answer:
    """Answer, and send more bytes after the response was read."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        writer.write(OK + LENGTH + b"\r\nhello")
        await writer.drain()
        while not emitted.pages:
            await asyncio.sleep(0)
        writer.write(data)
        return True

    return answer


async def test_unsolicited_data_is_not_treated_as_the_next_response() -> None:
    poison = OK + b"Content-Length: 6\r\n\r\npoison"
    emitted = Emitted()
    async with (
        serving(x=answer_and_send_more(poison, emitted), y=page(b"sound")) as server,
        fetcher() as processor,
    ):
        given = order(f"{server.root}/x", f"{server.root}/y", pause=0.2)
        await processor.work(given, emitted.emit)
    assert [one.body for one in emitted.pages] == [b"hello", b"sound"]
    assert [one.connection for one in server.requests] == [1, 2]


PIECES = [
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 304 x\r\n", b"HTTP/1.1 204\r\n", b"HTTP/1.1 0 x\r\n"),
    *(
        b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 302 f\r\nLocation: /x\r\n", b"\r\n", b"\n",
        b"\r",
    ),
    *(LENGTH, CHUNKED, b"Content-Length: 0\r\n", b"Content-Length: 99999999999999999999999\r\n"),
    *(b"5\r\nhello\r\n0\r\n\r\n", b"hello", b"ffffffffffffffff\r\n", b"-5\r\n", b" ", b":", b"\0"),
    *(b"Content-Type: text/html\r\n", b"Content-Encoding: gzip\r\n", b"\x1f\x8b\x08"),
    *(
        b"Connection: upgrade\r\nUpgrade: x\r\n",
        b"Sec-WebSocket-Key1: x\r\n",
        b"Keep-Alive: timeout=9\r\n",
    ),
]  # fmt: skip


@pytest.mark.slow
async def test_arbitrary_response_is_not_an_internal_error() -> None:
    chance = random.Random(7)
    answers = {
        f"x{n}": raw(PIECES[n % 4] + b"".join(chance.choices(PIECES, k=chance.randrange(9))))
        for n in range(300)
    }
    async with serving(**answers) as server, fetcher() as processor:
        emitted = await work(processor, *(order(f"{server.root}/{name}") for name in answers))
    assert len(emitted.ended) == 300
    assert set(emitted.outcomes) <= {
        *("page", "redirect", "server_error", "malformed_head", "cut_body", "unwanted_type")
    }


async def no_issuer(url: str) -> bytes:
    return b""


async def test_private_names_of_aiohttp_exist() -> None:
    """If a new version has moved any of these names, review `connections.py` with its changes."""
    private = {
        Connector(1, Issuers(no_issuer, time.monotonic)): [
            *("_loop", "_factory", "_wrap_create_connection", "_happy_eyeballs_delay"),
            *("_create_proxy_connection",),
        ],
        aiohttp.ClientRequest("GET", URL("http://a.test/"), loop=asyncio.get_running_loop()): [
            "_ssl"
        ],
        ResponseHandler(asyncio.get_running_loop()): ["_payload", "set_response_params"],
        StreamReader: ["_read_nowait"],
        aiohttp.ClientSession: ["_retry_connection"],
    }
    for owner, names in private.items():
        known = {*dir(owner), *getattr(owner, "ATTRS", ())}
        assert known.issuperset(names), f"{owner} has lost some of {names}"
