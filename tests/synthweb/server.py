"""The HTTP server: one port, all hosts, with the start and the end of each request on record."""

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import count
from types import MappingProxyType
from typing import NamedTuple, cast

from .answers import MUTE, Answer
from .manners import send
from .record import Journal, Request, now, to_line

PING = "synthweb.invalid"
"""A host outside the world. Its answer proves that all earlier requests are on record."""

HEAD_LIMIT = 65536
BACKLOG = 4096


@dataclass(frozen=True, slots=True)
class Head:
    """A request's first lines."""

    method: str
    target: str
    headers: dict[str, str]

    @property
    def authority(self) -> str:
        return self.headers.get("host", "").lower()

    @property
    def host(self) -> str:
        return self.authority.partition(":")[0]


class Served(NamedTuple):
    """A web at a port: all that its server needs."""

    respond: Callable[[Head], Answer]
    addresses: Mapping[str, IPv4Address]
    """The names of the web → their addresses."""
    seeds: list[str]
    wildcards: Mapping[str, IPv4Address] = MappingProxyType({})
    """Domain → the address of all other names under it."""
    ttl: int = 60
    jitter: float = 0.0
    """The maximum delay of an answer, in seconds."""
    slowness: float = 0.0
    """Seconds by which a slow answer is delayed."""


def by_url(answer: Callable[[str, str], Answer]) -> Callable[[Head], Answer]:
    """Return the answers of a web that depend on nothing but the host and its target."""
    return lambda head: answer(head.host, head.target)


class Server:
    """Serves a web over HTTP/1.1, each connection until either side closes it."""

    def __init__(self, web: Served, begun: Journal, ended: Journal) -> None:
        self._web = web
        self._begun, self._ended = begun, ended
        self._numbers = count(1)
        self._open: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client or the server closes it."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._open.add(task)
        try:
            await self._converse(reader, writer)
        except asyncio.CancelledError:
            # Only `close` cancels, and expects a quiet end.
            writer.transport.abort()
        finally:
            self._open.discard(task)

    async def close(self) -> None:
        """End open requests, which puts them on record."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve request after request. A client may disconnect at any point."""
        number = next(self._numbers)
        # Every byte is written before `drain` returns: `ended` means sent, not buffered.
        writer.transport.set_write_buffer_limits(0)
        with suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            while await self._exchange(reader, writer, number):
                pass
        writer.close()

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> bool:
        """Serve one request; return whether the connection stays open."""
        head = parse_head(await reader.readuntil(b"\r\n\r\n"))
        at = now()
        await reader.readexactly(int(head.headers.get("content-length", 0)))
        if head.host == PING:
            return await send(Answer(204), head.method, writer)
        self._begun.write({"at": at, "conn": number, "url": _url(head)})
        answer = self._web.respond(head)
        status = 0
        try:
            if answer.manner in _WORDLESS:
                return await self._wordless(answer, reader, writer)
            status = answer.status
            await self._hesitate(answer)
            return await send(answer, head.method, writer)
        finally:
            address = writer.get_extra_info("sockname")[0]
            request = _request(head, at, status, number, address, answer.note)
            self._ended.write(to_line(request))

    async def _hesitate(self, answer: Answer) -> None:
        wait = self._web.slowness if answer.manner == "slow" else 0.0
        wait += random.uniform(0, self._web.jitter)
        if wait:
            await asyncio.sleep(wait)

    async def _wordless(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if answer.manner == MUTE.manner:
            # Send nothing until the client disconnects.
            while await reader.read(HEAD_LIMIT):
                pass
        if answer.manner == "garbage":
            writer.write(b"\x00\x17\xfe this is no status line\r\n\r\n" + answer.body[:99])
            await writer.drain()
        return False


_WORDLESS = frozenset({"mute", "garbage", "empty"})


def parse_head(raw: bytes) -> Head:
    """Raise ValueError if there is no request line."""
    first, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _version = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    return Head(method, target, {name.strip().lower(): value.strip() for name, _, value in pairs})


def _request(head: Head, at: float, status: int, number: int, address: str, note: str) -> Request:
    agent, sender = head.headers.get("user-agent", ""), head.headers.get("from", "")
    url = _url(head)
    place = (head.host, head.target, url)
    return Request(at, now(), *place, status, agent, sender, number, address, note)


def _url(head: Head) -> str:
    return f"http://{head.authority}{head.target}"
