"""Runs a world until its parent ends: `python -m tests.synthweb --seed 7 --hosts 300 --record DIR`.

Every number of a `World` is an option; `--plain` omits the oddities. When ready, it prints one line
of JSON on standard output: {"http": port, "dns": port, "seeds": [...]}. The end of standard input
or SIGTERM stops it.
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import socket
import threading
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, fields
from pathlib import Path

from .answers import Answers
from .atlas import Atlas
from .dns import NameServer, Zone, addresses_of
from .record import LOOKUPS, REQUESTS, STARTED_FILE, Journal
from .server import BACKLOG, HEAD_LIMIT, Server
from .world import World

LOOPBACK = "127.0.0.1"
ATTEMPTS = 50


@dataclass(frozen=True)
class Place:
    """Addresses to listen on, and the folder of the record; port 0 is any free one.

    Without an *address* for the whole world, each of its groups of hosts has one of its own on
    loopback.
    """

    record: Path
    address: str = ""
    http: int = 0
    dns: int = 0


def arguments(argv: list[str] | None = None) -> tuple[World, Place]:
    parser = argparse.ArgumentParser(prog="synthweb", description=__doc__)
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    parser.add_argument("--address", default="", help="where all of the world is")
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--dns-port", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="no oddities but those asked for")
    for field in fields(World):
        flag = f"--{field.name.replace('_', '-')}"
        parser.add_argument(flag, type=type(field.default), default=argparse.SUPPRESS)
    given = vars(parser.parse_args(argv))
    numbers = {field.name: given[field.name] for field in fields(World) if field.name in given}
    world = World.plain(**numbers) if given["plain"] else World(**numbers)
    return world, Place(given["record"], given["address"], given["http_port"], given["dns_port"])


async def run(world: World, place: Place) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    watch = threading.Thread(target=_await_orphanhood, args=(loop, stop), daemon=True)
    watch.start()
    async with AsyncExitStack() as stack:
        atlas = await _listen_http(world, place, stack)
        dns = await _listen_dns(atlas, place, stack)
        print(json.dumps({"http": atlas.port, "dns": dns, "seeds": atlas.seeds}), flush=True)
        await stop.wait()


async def _listen_http(world: World, place: Place, stack: AsyncExitStack) -> Atlas:
    """The world's links contain the port, so the atlas is drawn once the port is known."""
    begun, ended = (
        stack.enter_context(closing(Journal(place.record / name)))
        for name in (STARTED_FILE, REQUESTS)
    )
    listener = asyncio.Future[Server]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (await listener).serve(reader, writer)

    addresses = [place.address] if place.address else [LOOPBACK, *addresses_of(world)]
    for sock in (listeners := _bound(addresses, place.http)):
        server = await asyncio.start_server(serve, sock=sock, limit=HEAD_LIMIT, backlog=BACKLOG)
        stack.callback(server.close)
    atlas = Atlas(world, listeners[0].getsockname()[1])
    talker = Server(Answers(atlas), begun, ended, world.jitter, world.slowness)
    stack.push_async_callback(talker.close)
    listener.set_result(talker)
    return atlas


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


async def _listen_dns(atlas: Atlas, place: Place, stack: AsyncExitStack) -> int:
    """Use one port for UDP and TCP: the port that is free for UDP may be taken for TCP."""
    journal = stack.enter_context(closing(Journal(place.record / LOOKUPS)))
    names = NameServer(Zone(atlas, place.address), journal)
    address = place.address or LOOPBACK
    loop = asyncio.get_running_loop()
    for _ in range(ATTEMPTS):
        at = (address, place.dns)
        transport, _protocol = await loop.create_datagram_endpoint(lambda: names, local_addr=at)
        port: int = transport.get_extra_info("sockname")[1]
        try:
            server = await asyncio.start_server(names.serve, address, port)
        except OSError:
            transport.close()
            continue
        stack.callback(server.close)
        stack.callback(transport.close)
        return port
    raise OSError("no port is free for both UDP and TCP")


def _await_orphanhood(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Wait for the end of standard input, which comes with the parent's end."""
    while os.read(0, 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


def main() -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    asyncio.run(run(*arguments()))


if __name__ == "__main__":
    main()
