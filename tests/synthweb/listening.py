"""Serves a web over HTTP and DNS on loopback until the parent process ends."""

import asyncio
import json
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from .dns import REFUSING, NameServer, Zone
from .record import LOOKUPS, REQUESTS, STARTED_FILE, Journal
from .server import BACKLOG, HEAD_LIMIT, Served, Server

LOOPBACK = "127.0.0.1"
ATTEMPTS = 50


@dataclass(frozen=True)
class Place:
    """Addresses to listen on, and the folder of the record; port 0 is any free one.

    Without an *address* for the whole web, each of its groups of hosts has one of its own on
    loopback.
    """

    record: Path
    address: str = ""
    http: int = 0
    dns: int = 0


def serve_until_orphaned(place: Place, open_web: Callable[[int], Served]) -> None:
    """Serve the web that *open_web* returns for an HTTP port."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    asyncio.run(_run(place, open_web))


async def _run(place: Place, open_web: Callable[[int], Served]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    watch = threading.Thread(target=_await_orphanhood, args=(loop, stop), daemon=True)
    watch.start()
    async with AsyncExitStack() as stack:
        http, web = await _listen_http(place, open_web, stack)
        dns = await _listen_dns(place, web, stack)
        print(json.dumps({"http": http, "dns": dns, "seeds": web.seeds}), flush=True)
        await stop.wait()


async def _listen_http(
    place: Place, open_web: Callable[[int], Served], stack: AsyncExitStack
) -> tuple[int, Served]:
    """Listen at the addresses of the web. Its links contain the port, so that it is opened again
    once the port is known."""
    begun, ended = (
        stack.enter_context(closing(Journal(place.record / name)))
        for name in (STARTED_FILE, REQUESTS)
    )
    listener = asyncio.Future[Server]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (await listener).serve(reader, writer)

    unplaced = open_web(0)
    named = {*unplaced.addresses.values(), *unplaced.wildcards.values()} - {REFUSING}
    chosen = [place.address] if place.address else [LOOPBACK, *map(str, sorted(named))]
    for sock in (listeners := _bound(chosen, place.http)):
        server = await asyncio.start_server(serve, sock=sock, limit=HEAD_LIMIT, backlog=BACKLOG)
        stack.callback(server.close)
    port: int = listeners[0].getsockname()[1]
    web = open_web(port)
    talker = Server(web, begun, ended)
    stack.push_async_callback(talker.close)
    listener.set_result(talker)
    return port, web


def _bound(addresses: list[str], port: int) -> list[socket.socket]:
    """Bind all *addresses* at one port; 0 is any port that is free at all of them."""
    for _ in range(ATTEMPTS):
        bound = [socket.create_server((addresses[0], port))]
        number = bound[0].getsockname()[1]
        try:
            bound += [socket.create_server((address, number)) for address in addresses[1:]]
        except OSError:
            for sock in bound:
                sock.close()
        else:
            return bound
    raise OSError("no port is free at all addresses")


async def _listen_dns(place: Place, web: Served, stack: AsyncExitStack) -> int:
    journal = stack.enter_context(closing(Journal(place.record / LOOKUPS)))
    names = NameServer(Zone(web, place.address), journal)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: names, local_addr=(place.address or LOOPBACK, place.dns)
    )
    stack.callback(transport.close)
    port: int = transport.get_extra_info("sockname")[1]
    return port


def _await_orphanhood(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Wait for the end of standard input, which comes with the parent's end."""
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(stop.set)
