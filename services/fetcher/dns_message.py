"""Parses DNS answers that c-ares rejects (RFC 1035, section 4).

c-ares drops an answer with one malformed record. This parser skips the malformed record, and
returns the addresses of the queried name and of the names that it is an alias of.
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
HEADER_SIZE = 12
POINTER = 0xC0
MAX_LABELS = 128

AddressRecord = tuple[str, int]
"""An address and its TTL in seconds."""


class Record(NamedTuple):
    """One resource record; *start* is the offset of its data in the message."""

    name: str
    kind: int
    ttl: int
    start: int
    data: bytes


def make_query(name: str, kind: int, number: int) -> bytes:
    """Return the query message for the records of *kind* of *name*, in ASCII."""
    head = struct.pack(">HHHHHH", number, RECURSION_DESIRED, 1, 0, 0, 0)
    labels = b"".join(bytes([len(one)]) + one for one in name.encode("ascii").split(b"."))
    return head + labels + struct.pack(">BHH", 0, kind, INTERNET)


def is_answer(message: bytes, query: bytes) -> bool:
    """Return whether *message* answers *query*: it repeats the number and the question."""
    flags = struct.unpack_from(">H", message, 2)[0] if len(message) >= HEADER_SIZE else 0
    repeats_question = message[HEADER_SIZE : len(query)].lower() == query[HEADER_SIZE:].lower()
    return bool(flags & RESPONSE) and message[:2] == query[:2] and repeats_question


def extract_addresses(message: bytes, query: bytes) -> list[AddressRecord]:
    """Return the addresses in the valid records of *message*, which answers *query*."""
    names = {_name(query, HEADER_SIZE)[0]}
    kind = struct.unpack_from(">H", query, len(query) - 4)[0]
    found: list[AddressRecord] = []
    for record in _records(message, len(query)):
        if record.name not in names:
            continue
        if record.kind == CNAME:
            names |= _target(message, record.start)
        elif record.kind == kind and len(record.data) == SIZES[kind]:
            found.append((str(ip_address(record.data)), record.ttl))
    return found


def _records(message: bytes, at: int) -> Iterator[Record]:
    """Yield the records from the offset *at* on; stop at a record whose end is unknown."""
    count = struct.unpack_from(">H", message, 6)[0]
    for _ in range(count):
        try:
            name, at = _name(message, at)
            kind, record_class, ttl, size = struct.unpack_from(">HHIH", message, at)
        except (struct.error, IndexError, ValueError):
            return
        start, at = at + 10, at + 10 + size
        # A TTL with the highest bit set counts as 0 (RFC 2181, 8).
        if record_class == INTERNET and at <= len(message):
            yield Record(name, kind, ttl if ttl < 1 << 31 else 0, start, message[start:at])


def _target(message: bytes, at: int) -> set[str]:
    try:
        return {_name(message, at)[0]}
    except (IndexError, ValueError):
        return set()


def _name(message: bytes, at: int) -> tuple[str, int]:
    """Return the name at the offset *at*, in lower case, and the offset of its end.

    Raise ValueError or IndexError if the name has no end.
    """
    labels, end = list[bytes](), 0
    for _ in range(MAX_LABELS):
        length = message[at]
        if length == 0:
            return b".".join(labels).decode("latin-1").lower(), end or at + 1
        if length & POINTER == POINTER:
            end = end or at + 2
            at = (length & ~POINTER) << 8 | message[at + 1]
        elif length & POINTER:
            raise ValueError("invalid label type")
        else:
            labels.append(message[at + 1 : at + 1 + length])
            at += 1 + length
    raise ValueError("the name has no end")
