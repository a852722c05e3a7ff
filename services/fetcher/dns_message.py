"""DNS messages, as far as it takes to use an answer that c-ares refuses (RFC 1035, section 4).

c-ares drops an answer of which one record is broken. Here the sound records before and after it are
taken: those of the name that was asked for, and of the names that it is an alias of.
"""

import struct
from collections.abc import Iterator
from ipaddress import ip_address
from typing import NamedTuple

A, CNAME, AAAA = 1, 5, 28
INTERNET = 1
SIZES = {A: 4, AAAA: 16}
RECURSION_DESIRED = 0x0100
RESPONSE = 0x8000
HEAD = 12
POINTER = 0xC0
MOST_LABELS = 128

Answer = tuple[str, int]
"""An address and its TTL in seconds."""


class Record(NamedTuple):
    """One resource record; *start* is where its data begins in the message."""

    name: str
    kind: int
    ttl: int
    start: int
    data: bytes


def question(name: str, kind: int, number: int) -> bytes:
    """Return the message that asks for the records of *kind* of *name*, in ASCII."""
    head = struct.pack(">HHHHHH", number, RECURSION_DESIRED, 1, 0, 0, 0)
    labels = b"".join(bytes([len(one)]) + one for one in name.encode("ascii").split(b"."))
    return head + labels + struct.pack(">BHH", 0, kind, INTERNET)


def is_answer(message: bytes, asked: bytes) -> bool:
    """Whether *message* answers *asked*: it has its number and its question."""
    flags = struct.unpack_from(">H", message, 2)[0] if len(message) >= HEAD else 0
    same = message[HEAD : len(asked)].lower() == asked[HEAD:].lower()
    return bool(flags & RESPONSE) and message[:2] == asked[:2] and same


def usable(message: bytes, asked: bytes) -> list[Answer]:
    """Return the addresses in the sound records of *message*, which answers *asked*."""
    names = {_name(asked, HEAD)[0]}
    kind = struct.unpack_from(">H", asked, len(asked) - 4)[0]
    found: list[Answer] = []
    for record in _records(message, len(asked)):
        if record.name not in names:
            continue
        if record.kind == CNAME:
            names |= _target(message, record.start)
        elif record.kind == kind and len(record.data) == SIZES[kind]:
            found.append((str(ip_address(record.data)), record.ttl))
    return found


def _records(message: bytes, at: int) -> Iterator[Record]:
    """Yield the records from *at* on, until one does not say where it ends."""
    count = struct.unpack_from(">H", message, 6)[0]
    for _ in range(count):
        try:
            name, at = _name(message, at)
            kind, kept_in, ttl, size = struct.unpack_from(">HHIH", message, at)
        except (struct.error, IndexError, ValueError):
            return
        start, at = at + 10, at + 10 + size
        # RFC 2181, 8: a TTL with the highest bit is none.
        if kept_in == INTERNET and at <= len(message):
            yield Record(name, kind, ttl if ttl < 1 << 31 else 0, start, message[start:at])


def _target(message: bytes, at: int) -> set[str]:
    try:
        return {_name(message, at)[0]}
    except (IndexError, ValueError):
        return set()


def _name(message: bytes, at: int) -> tuple[str, int]:
    """Return the name at *at*, in lower case, and where it ends; raise ValueError or IndexError if
    it does not."""
    labels, end = list[bytes](), 0
    for _ in range(MOST_LABELS):
        length = message[at]
        if length == 0:
            return b".".join(labels).decode("latin-1").lower(), end or at + 1
        if length & POINTER == POINTER:
            end = end or at + 2
            at = (length & ~POINTER) << 8 | message[at + 1]
        elif length & POINTER:
            raise ValueError("no label")
        else:
            labels.append(message[at + 1 : at + 1 + length])
            at += 1 + length
    raise ValueError("a name without an end")
