"""The name server: the addresses of all names of a web, except those that must fail."""

import asyncio
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import cast

from .atlas import Atlas
from .record import Journal, now
from .roles import site_of
from .world import World

REFUSING = bytes((127, 9, 9, 9))
"""Loopback, but the server does not listen there."""

TYPE_A = 1
CLASS_IN = 1
FIRST = IPv4Address("127.1.0.0")
"""The address of the first hosts of a world; the other hosts have the following ones."""
NO_ERROR, FORMAT_ERROR, NO_SUCH_NAME = 0, 1, 3
_RESPONSE = 0x8400  # an answer, and an authoritative one
_ECHOED = 0x0100  # recursion desired
_HEADER = struct.Struct(">6H")
_POINTER_TO_QUESTION = b"\xc0\x0c"


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    type: int
    end: int


def addresses_of(world: World) -> list[str]:
    """Return the addresses of the world's hosts, on loopback."""
    return [str(FIRST + number) for number in range(-(-world.hosts // world.crowd))]


class Zone:
    """Answers queries for the names of a web."""

    def __init__(
        self,
        address_of: Callable[[str], bytes | None],
        exists: Callable[[str], bool],
        ttl: int = 60,
    ) -> None:
        """*address_of* returns the packed address of a name. A name without an address may
        *exist*, as sites do whose only host has another name."""
        self._address_of, self._exists, self._ttl = address_of, exists, ttl

    def reply(self, query: bytes) -> tuple[bytes, Question | None, int]:
        """Return the answer, with its question and code for the record."""
        try:
            question = parse_question(query)
        except (IndexError, struct.error, UnicodeError, ValueError):
            return _message(query, 0, FORMAT_ERROR, b""), None, FORMAT_ERROR
        address = self._address_of(question.name)
        known = address is not None or self._exists(question.name)
        code = NO_ERROR if known else NO_SUCH_NAME
        answer = b""
        if address is not None and question.type == TYPE_A:
            fields = struct.pack(">HHIH", TYPE_A, CLASS_IN, self._ttl, len(address))
            answer = _POINTER_TO_QUESTION + fields + address
        return _message(query, question.end, code, answer), question, code


def zone_of(atlas: Atlas, address: str = "") -> Zone:
    """Return the names of a world. *address* is the address of the whole world, if it has only
    one."""
    crowd = atlas.world.crowd
    here = IPv4Address(address).packed if address else b""
    addresses = {
        name: REFUSING
        if atlas.condition(host) == "refused"
        else here or (FIRST + host // crowd).packed
        for name, host in atlas.numbers.items()
        if atlas.condition(host) != "unresolved"
    }
    sites = {site_of(name) for name in addresses}
    return Zone(addresses.get, sites.__contains__, atlas.world.ttl)


def parse_question(query: bytes) -> Question:
    """Return the first question of a query; labels may be in any case."""
    flags, questions = _HEADER.unpack_from(query)[1:3]
    if flags & _RESPONSE & 0x8000 or questions != 1:
        raise ValueError("not a query with one question")
    labels: list[str] = []
    at = _HEADER.size
    while length := query[at]:
        label = query[at + 1 : at + 1 + length]
        labels.append(label.decode("ascii").lower())
        at += 1 + length
    kind, _class = struct.unpack_from(">HH", query, at + 1)
    return Question(".".join(labels), kind, at + 5)


def _message(query: bytes, question_end: int, code: int, answer: bytes) -> bytes:
    padded = query[:4].ljust(4, b"\0")
    identity, flags = struct.unpack(">HH", padded)
    question = query[_HEADER.size : question_end]
    counts = (1 if question else 0, 1 if answer else 0, 0, 0)
    head = _HEADER.pack(identity, _RESPONSE | (flags & _ECHOED) | code, *counts)
    return head + question + answer


class NameServer(asyncio.DatagramProtocol):
    """Answers over UDP as a protocol, and over TCP with `serve`; records each lookup."""

    def __init__(self, zone: Zone, journal: Journal) -> None:
        self._zone = zone
        self._journal = journal

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(self._answer(data), addr)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer queries over TCP, each preceded by its length."""
        with suppress(OSError, EOFError, asyncio.CancelledError):
            while True:
                (length,) = struct.unpack(">H", await reader.readexactly(2))
                answer = self._answer(await reader.readexactly(length))
                writer.write(struct.pack(">H", len(answer)) + answer)
                await writer.drain()
        writer.close()

    def _answer(self, query: bytes) -> bytes:
        answer, question, code = self._zone.reply(query)
        if question is not None:
            entry = {"at": now(), "name": question.name, "type": question.type, "code": code}
            self._journal.write(entry)
        return answer
