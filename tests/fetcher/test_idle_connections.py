"""Idle connections are reused if the pause is short; a stale one costs a pause."""

import asyncio
from typing import Any

import pytest

from gossamer.services.fetcher.head import keep_alive_seconds, parse_head
from tests.fetcher.orders import Emitted, fetcher, order, work
from tests.fetcher.servers import Answer, Server, page, raw, serving


async def run_orders(server: Server, *orders: str, pause: float = 0.0, **changes: Any) -> Emitted:
    """Carry out each of *orders*, whose letters are the names of responses."""
    given = (order(*(f"{server.root}/{one}" for one in names), pause=pause) for names in orders)
    async with fetcher(**changes) as processor:
        return await work(processor, *given)


def connections(server: Server) -> list[int]:
    return [request.connection for request in server.requests]


async def test_orders_of_a_host_share_a_connection() -> None:
    async with serving(a=page(), b=page(), c=page()) as server:
        emitted = await run_orders(server, "ab", "c")
    assert emitted.outcomes == ["page"] * 3
    assert connections(server) == [1, 1, 1]


@pytest.mark.parametrize(
    ("said", "limits"), [("", {"keep_limit": 0.1}), ("timeout=1", {}), ("max=100, timeout=1", {})]
)
async def test_connection_is_closed_if_it_would_expire_before_the_next_request(
    said: str, limits: dict[str, Any]
) -> None:
    async with serving(a=page(Keep_Alive=said), b=page()) as server:
        emitted = await run_orders(server, "ab", pause=0.1, **limits)
    assert emitted.outcomes == ["page", "page"]
    assert connections(server) == [1, 2]


async def test_idle_connection_is_closed_after_the_limit() -> None:
    async with serving(a=page()) as server, fetcher(keep_limit=0.1) as processor:
        await work(processor, order(f"{server.root}/a"))
        [open_one] = server.open
        await asyncio.wait_for(open_one, timeout=60.0)


async def test_number_of_idle_connections_is_limited() -> None:
    async with (
        serving(a=page()) as one,
        serving(a=page()) as two,
        fetcher(orders_limit=1) as processor,
    ):
        await work(processor, *(order(f"{server.root}/a") for server in (one, two, one, one)))
    assert connections(one) == [1, 2, 2]
    assert connections(two) == [1]


def hanging_up(answers: int) -> Answer:
    """Answer this number of requests over a connection, and close it at the next one."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        last = server.requests[-1].connection
        if sum(request.connection == last for request in server.requests) > answers:
            return False
        return await page()(server, writer)

    return answer


async def test_request_on_a_stale_connection_is_repeated_after_the_pause() -> None:
    async with serving(a=hanging_up(1), b=hanging_up(1), c=hanging_up(1)) as server:
        emitted = await run_orders(server, "abc", pause=0.1)
    assert emitted.outcomes == ["page"] * 3
    assert server.paths == ["/a", "/b", "/b", "/c", "/c"]
    assert connections(server) == [1, 1, 2, 2, 3]
    ends = [request.answered_at for request in server.requests]
    starts = [request.received_at for request in server.requests]
    assert all(later - end >= 0.1 for end, later in zip(ends, starts[1:], strict=False))


async def test_request_on_a_new_connection_is_not_repeated() -> None:
    async with serving(a=raw(b""), b=page(), c=raw(b"")) as server:
        emitted = await run_orders(server, "abc")
    assert emitted.outcomes == ["malformed_head", "page", "malformed_head"]
    assert server.paths == ["/a", "/b", "/c", "/c"]


async def test_request_is_not_repeated_after_a_partial_response() -> None:
    async with serving(a=page(), b=raw(b"HTTP/1.1 200")) as server:
        emitted = await run_orders(server, "ab")
    assert emitted.outcomes == ["page", "malformed_head"]
    assert server.paths == ["/a", "/b"]


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("Keep-Alive: timeout=5, max=100\r\n", 5.0),
        ("Keep-Alive: max=100\r\nKeep-Alive: timeout=75\r\n", 75.0),
        ("Keep-Alive: soon\r\n", float("inf")),
        ("", float("inf")),
        ("Connection: close\r\nKeep-Alive: timeout=5\r\n", 0.0),
    ],
)
def test_keep_alive_timeout_is_parsed(lines: str, seconds: float) -> None:
    head = parse_head(f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{lines}\r\n".encode())
    assert keep_alive_seconds(head) == seconds
