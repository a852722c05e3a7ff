"""What a request costs the fetcher, beside a bare aiohttp loop in the same connection pattern.

    .venv/bin/python -m bench.fetching [--profile PATTERN]

The server is a process of its own. Times are CPU time of this process a request, so the server's do
not count; both sides take turns in one run, and the median of their rounds is shown, since others
may use the machine. The fetcher's is a whole order: refusal, conversation, request, assessment, and
the events it emits, unencoded. In the patterns a connection has so many requests: `kept` is one for
all orders of a host. The ratios hold on any machine, the microseconds are this one's.
"""

import argparse
import asyncio
import cProfile
import multiprocessing
import pstats
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from multiprocessing.connection import Connection

import aiohttp

from gossamer.events import Event, HostCheckedOut, OrderId, Visit, VisitEnded
from gossamer.settings import FetcherSettings
from gossamer.web.robots import RobotsRules
from gossamer.web.url import host_key, site_of
from services.fetcher.http.client import Web
from services.fetcher.limitations import ClockSkew, Limitations, LocalBackoff
from services.fetcher.service import Fetcher
from services.fetcher.wiring import fixed_epoch

BODY = b"<!DOCTYPE html><title>a page</title><p>" + b"some words " * 900
HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\n"
    b"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nETag: \"x\"\r\n"
    b"Cache-Control: max-age=60\r\nVary: Accept-Encoding\r\n\r\n"
) % len(BODY)  # fmt: skip
PATTERNS = {"10 a connection": 10, "1 a connection": 1, "kept": 10}
ROUNDS, REQUESTS, AT_ONCE = 7, 2000, 16
Loop = Callable[[list[list[str]]], Awaitable[None]]


class Server(asyncio.Protocol):
    """Answers every request at once with the same page."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where the answers go."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each head."""
        for _ in range(data.count(b"\r\n\r\n")):
            self._transport.write(HEAD + BODY)


def serve(ready: Connection) -> None:
    """Serve on all of loopback until the process is ended; send the port."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "0.0.0.0", 0, backlog=1000)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def serving() -> Iterator[int]:
    """Serve in a process of its own; yield the port."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def batches(pattern: str, port: int) -> list[list[str]]:
    """Return the URLs of each order; each is of a host of its own, or of AT_ONCE if kept."""
    size = PATTERNS[pattern]
    hosts = AT_ONCE if pattern == "kept" else REQUESTS // size
    roots = [f"http://127.1.{n // 200}.{n % 200 + 1}:{port}" for n in range(hosts)]
    return [
        [f"{roots[n % hosts]}/page/{n}/{m}" for m in range(size)] for n in range(REQUESTS // size)
    ]


def shares(urls: list[list[str]]) -> list[list[list[str]]]:
    """Return the orders of each worker: those of one host are always one worker's."""
    return [urls[worker::AT_ONCE] for worker in range(AT_ONCE)]


async def bare(pattern: str, urls: list[list[str]]) -> None:
    """Read the same pages with aiohttp, and do nothing else."""

    async def get(session: aiohttp.ClientSession, batch: list[str]) -> None:
        for url in batch:
            async with session.get(url) as response:
                await response.read()

    async def work(share: list[list[str]], session: aiohttp.ClientSession | None) -> None:
        for batch in share:
            if session is not None:
                await get(session, batch)
                continue
            async with aiohttp.ClientSession() as own:
                await get(own, batch)

    async with aiohttp.ClientSession() as one:
        kept = one if pattern == "kept" else None
        await asyncio.gather(*(work(share, kept) for share in shares(urls)))


def order(batch: list[str]) -> HostCheckedOut:
    """Return an order without a pause."""
    now = time.time()
    return HostCheckedOut(
        at=now,
        site=site_of(batch[0]),
        host=host_key(batch[0]),
        order=OrderId("o"),
        epoch=1,
        expires_at=now + 1000,
        pause=0.0,
        robots=RobotsRules(),
        visits=tuple(Visit(id=f"1.o.{n}@{url}", url=url) for n, url in enumerate(batch)),
    )


async def ours(pattern: str, urls: list[list[str]]) -> None:
    """Carry out an order for each batch."""
    settings = FetcherSettings(
        contact="bench@example.org",
        allow_networks=(ip_network("127.0.0.0/8"),),
        concurrency=AT_ONCE,
        address_gap=0.0,  # Here requests follow each other without a pause.
    )
    web, limitations = Web(settings, time.time), Limitations(lambda why: None)
    backoff, skew = LocalBackoff(limitations), ClockSkew(150.0, limitations)
    fetcher = Fetcher(web, time.time, fixed_epoch(1), skew, backoff)
    outcomes: Counter[str] = Counter()

    def emit(*events: Event) -> None:
        outcomes.update(event.outcome for event in events if isinstance(event, VisitEnded))

    async def work(share: list[list[str]]) -> None:
        for batch in share:
            await fetcher.work(order(batch), emit)

    await asyncio.gather(*(work(share) for share in shares(urls)))
    await web.close()
    assert outcomes == {"page": REQUESTS}, outcomes


async def measured(loop: Callable[[str, list[list[str]]], Awaitable[None]], pattern: str,
                   urls: list[list[str]]) -> float:  # fmt: skip
    """Return the microseconds of CPU a request."""
    begun = time.process_time()
    await loop(pattern, urls)
    return (time.process_time() - begun) / REQUESTS * 1e6


def compare(pattern: str, port: int) -> None:
    """Print a line of figures."""
    urls = batches(pattern, port)
    found: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(ROUNDS):
        for name, loop in (("bare", bare), ("ours", ours)):
            found[name].append(asyncio.run(measured(loop, pattern, urls)))
    alone, with_us = (statistics.median(found[name][1:]) for name in ("bare", "ours"))
    print(f"{pattern:>16} {alone:8.0f} {with_us:8.0f} {with_us / alone:8.2f}")


def profile(pattern: str, port: int) -> None:
    """Print where the fetcher's time goes."""
    profiler = cProfile.Profile()
    profiler.enable()
    asyncio.run(ours(pattern, batches(pattern, port)))
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(40)


def main() -> None:
    """Measure all patterns, or profile one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PATTERNS)
    chosen = parser.parse_args().profile
    with serving() as port:
        if chosen:
            profile(chosen, port)
            return
        print(f"{'requests':>16} {'bare µs':>8} {'ours µs':>8} {'times':>8}")
        for pattern in PATTERNS:
            compare(pattern, port)


if __name__ == "__main__":
    main()
