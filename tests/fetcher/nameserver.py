"""A small name server over UDP that answers from a table and counts its queries."""

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import cast

A, AAAA = 1, 28
NO_SUCH_NAME = 3


@dataclass
class NameServer(asyncio.DatagramProtocol):
    """Names not in *zone* do not exist. While *gate* is closed, no query is answered."""

    zone: Mapping[str, tuple[str, ...]]
    ttl: int = 0
    broken: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()
    """Names whose answers begin with a malformed record and have a too large record count."""
    wild: frozenset[str] = frozenset()
    """Domains in which every name has the address of the domain."""
    failing: bool = False
    """Whether every answer is SERVFAIL."""
    lame: frozenset[str] = frozenset()
    """Names whose answer is SERVFAIL."""
    dead: frozenset[str] = frozenset()
    """Names whose queries are not answered."""
    empty: int = 0
    """Number of queries for an IPv4 address that get an answer without records."""
    port: int = 0
    asked: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    held: list[tuple[bytes, tuple[str, int]]] = field(default_factory=list)

    def __hash__(self) -> int:
        return id(self)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def count(self, name: str) -> int:
        """Return the number of queries for the IPv4 address of *name*."""
        return self.asked.count(name)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, kind = _question(data)
        if kind == A:
            self.asked.append(name)
        if name in self.dead:
            return
        if self.gate.is_set():
            self.transport.sendto(self._answer(data), addr)
        else:
            self.held.append((data, addr))

    def open(self) -> None:
        """Answer the waiting queries, and later ones at once."""
        self.gate.set()
        for data, addr in self.held:
            self.transport.sendto(self._answer(data), addr)
        self.held.clear()

    def _answer(self, query: bytes) -> bytes:
        name, kind = _question(query)
        if name in self.broken:
            return query[:2] + b"\x81\x80" + b"\xff" * 9
        if self.failing or name in self.lame:
            return query[:2] + struct.pack(">HHHHH", 0x8182, 1, 0, 0, 0) + query[12:]
        known = self.zone.get(name)
        if known is None and name.partition(".")[2] in self.wild:
            known = self.zone[name.partition(".")[2]]
        size = {A: 4, AAAA: 16}.get(kind, 0)
        self.empty -= kind == A
        found = () if kind == A and self.empty >= 0 else known or ()
        packed = [ip_address(one).packed for one in found]
        records = [
            b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, self.ttl, size) + one
            for one in packed
            if len(one) == size
        ]
        if name in self.odd:
            records = [b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, self.ttl, 3) + b"abc", *records]
        flags = 0x8180 | (0 if known is not None else NO_SUCH_NAME)
        count = len(records) + (name in self.odd)
        head = query[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0)
        return head + query[12 : 12 + len(name) + 2 + 4] + b"".join(records)


def _question(query: bytes) -> tuple[str, int]:
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode().lower())
        at += 1 + length
    return ".".join(labels), struct.unpack_from(">H", query, at + 1)[0]


@asynccontextmanager
async def naming(zone: Mapping[str, tuple[str, ...]], ttl: int = 0) -> AsyncIterator[NameServer]:
    """Run a name server on loopback."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: NameServer(zone, ttl), local_addr=("127.0.0.1", 0)
    )
    server.port = transport.get_extra_info("sockname")[1]
    server.gate.set()
    try:
        yield server
    finally:
        transport.close()
