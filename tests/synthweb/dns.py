"""The name server: the addresses of all names of a web, except those that must fail."""

import asyncio
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import cast

from .record import Journal, now
from .server import Served

REFUSING = IPv4Address("127.9.9.9")
"""Loopback, but the server does not listen there."""

TYPE_A = 1
CLASS_IN = 1
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


class Zone:
    """Answers queries for the names of a web. A name without an address exists if there are names
    under it."""

    def __init__(self, web: Served, address: str = "") -> None:
        """*address* is the address of the whole web, if it has only one."""
        self._web = web
        self._here = IPv4Address(address) if address else None
        named = (*web.addresses, *web.wildcards)
        self._existing = {parent for name in named for parent in parents_of(name)}

    def reply(self, query: bytes) -> tuple[bytes, Question | None, int]:
        """Return the answer, with its question and code for the record."""
        try:
            question = parse_question(query)
        except (IndexError, struct.error, UnicodeError, ValueError):
            return _message(query, 0, FORMAT_ERROR, b""), None, FORMAT_ERROR
        address = self._address(question.name)
        known = address is not None or question.name in self._existing
        code = NO_ERROR if known else NO_SUCH_NAME
        answer = b""
        if address is not None and question.type == TYPE_A:
            fields = struct.pack(">HHIH", TYPE_A, CLASS_IN, self._web.ttl, 4)
            answer = _POINTER_TO_QUESTION + fields + address.packed
        return _message(query, question.end, code, answer), question, code

    def _address(self, name: str) -> IPv4Address | None:
        found = self._web.addresses.get(name)
        for parent in parents_of(name):
            found = found or self._web.wildcards.get(parent)
        return self._here if self._here and found not in (None, REFUSING) else found


def parents_of(name: str) -> Iterator[str]:
    """Yield the domains above *name*, the nearest one first."""
    while name := name.partition(".")[2]:
        yield name


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
    """Answers over UDP, and records each lookup."""

    def __init__(self, zone: Zone, journal: Journal) -> None:
        self._zone = zone
        self._journal = journal

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer, question, code = self._zone.reply(data)
        if question is not None:
            entry = {"at": now(), "name": question.name, "type": question.type, "code": code}
            self._journal.write(entry)
        self._transport.sendto(answer, addr)
