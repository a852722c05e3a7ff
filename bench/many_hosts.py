"""One fetcher with many polite hosts: its request rate, and how exactly it keeps their delays.

    .venv/bin/python -m bench.many_hosts [--hosts 2000] [--seconds 120] [--delay 1]

Each host has its own loopback address and always has a waiting order, so a perfect fetcher requests
a page of each host once a delay and a visit. The server is a process of its own and measures
requests a second, and the time from the end of an answer to the next request of its host. Names are
not looked up. The server uses the same machine: check the CPU of both processes.
"""

import argparse
import asyncio
import multiprocessing
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from multiprocessing.connection import Connection

from gossamer.events import Event, HostCheckedOut, OrderId, Visit
from gossamer.services.fetcher.http.client import Web
from gossamer.services.fetcher.limitations import ClockSkew, Limitations, LocalBackoff
from gossamer.services.fetcher.service import Fetcher
from gossamer.services.fetcher.wiring import fixed_epoch, raise_descriptor_limit
from gossamer.settings import FetcherSettings
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, site_of

BODY = b"<!DOCTYPE html><title>a page</title><p>" + b"some words " * 900
HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\n"
    b"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nETag: \"x\"\r\n"
    b"Cache-Control: max-age=60\r\nVary: Accept-Encoding\r\n\r\n"
) % len(BODY)  # fmt: skip
BATCH = 10
FIRST = (127 << 24) + (1 << 16)


class Record:
    """The server's measurements."""

    def __init__(self) -> None:
        self.requests = 0
        self.ended: dict[str, float] = {}
        self.gaps: list[float] = []

    def record_request(self, address: str) -> None:
        """Record a request, which is answered at once."""
        now = time.monotonic()
        if address in self.ended:
            self.gaps.append(now - self.ended[address])
        self.requests, self.ended[address] = self.requests + 1, now


class Server(asyncio.Protocol):
    """Answers every request at once with the same page."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the answers."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        """Answer a request."""
        self._record.record_request(self._address)
        self._transport.write(HEAD + BODY)


def serve(channel: Connection, hosts: int) -> None:
    """Serve until a message arrives; send the port, and at the end the measurements."""

    async def run() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        record, loop = Record(), asyncio.get_running_loop()
        server = await loop.create_server(lambda: Server(record), "0.0.0.0", 0, backlog=hosts)
        channel.send(server.sockets[0].getsockname()[1])
        await loop.run_in_executor(None, channel.recv)
        channel.send((record.requests, sorted(record.gaps), time.process_time()))

    asyncio.run(run())


@contextmanager
def serving(hosts: int) -> Iterator[tuple[int, Connection]]:
    """Serve in a process of its own; yield the port and the channel for the measurements."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(there, hosts), daemon=True)
    process.start()
    try:
        yield here.recv(), here
    finally:
        process.terminate()
        process.join()


def order(host: HostKey, number: int, delay: float) -> HostCheckedOut:
    """Return the next order of *host*."""
    urls = [f"{host}/{number}/{page}" for page in range(BATCH)]
    return HostCheckedOut(
        at=time.time(),
        site=site_of(f"{host}/"),
        host=host,
        order=OrderId(f"{host} {number}"),
        epoch=1,
        expires_at=time.time() + 1000.0,
        pause=delay,
        robots=RobotsRules(),
        visits=tuple(Visit(id=url, url=url) for url in urls),
    )


async def fetch(hosts: int, seconds: float, delay: float, port: int) -> float:
    """Visit all hosts for *seconds*; return the seconds of CPU."""
    settings = FetcherSettings(
        contact="bench@example.org",
        allow_networks=(ip_network("127.0.0.0/8"),),
        orders_limit=hosts,
    )
    raise_descriptor_limit(settings)
    web, limitations = Web(settings, time.time), Limitations(lambda reason: None)
    skew, backoff = ClockSkew(150.0, limitations), LocalBackoff(limitations)
    fetcher = Fetcher(web, time.time, fixed_epoch(1), skew, backoff)
    until = time.monotonic() + seconds

    def emit(*events: Event) -> None:
        pass

    async def visit(number_of_host: int) -> None:
        address = ".".join(map(str, (FIRST + number_of_host).to_bytes(4, "big")))
        # Orders of a frontier do not start at one instant either.
        await asyncio.sleep(delay * number_of_host / hosts)
        number = 0
        while time.monotonic() < until:
            await fetcher.work(order(HostKey(f"http://{address}:{port}"), number, delay), emit)
            await asyncio.sleep(delay)
            number += 1

    before = time.process_time()
    visits = [asyncio.create_task(visit(number_of_host)) for number_of_host in range(hosts)]
    await asyncio.sleep(seconds)
    took = time.process_time() - before
    for task in visits:
        task.cancel()
    await asyncio.gather(*visits, return_exceptions=True)
    await web.close()
    return took


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--delay", type=float, default=1.0)
    options = parser.parse_args()
    with serving(options.hosts) as (port, channel):
        took = asyncio.run(fetch(options.hosts, options.seconds, options.delay, port))
        channel.send("stop")
        requests, gaps, served = channel.recv()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.hosts} hosts, {options.delay:g} s between visits, {options.seconds:g} s")
    print(f"requests a second     {requests / options.seconds:8.0f}")
    print(f"maximum by the delay  {options.hosts / options.delay:8.0f}")
    print(f"CPU: fetcher, server  {took / options.seconds:8.0%} {served / options.seconds:.0%}")
    print(f"memory                {memory:8.0f} MiB")
    for name, share in (("smallest", 0.0), ("median", 0.5), ("99 %", 0.99), ("largest", 1.0)):
        gap = gaps[min(len(gaps) - 1, int(share * len(gaps)))]
        print(f"gap, {name:16} {gap:8.3f} s")


if __name__ == "__main__":
    main()
