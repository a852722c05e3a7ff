"""The records that are used of a malformed DNS answer."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.fetcher.dns_message import (
    AAAA,
    CNAME,
    A,
    extract_addresses,
    is_answer,
    make_query,
)

ASKED = make_query("www.example.org", A, 7)
NAME, ALIAS = b"\xc0\x0c", b"\x05alias\x03net\x00"
ADDRESS = b"\x5d\xb8\xd7\x0e"


def record(name: bytes, kind: int, data: bytes, ttl: int = 300, size: int | None = None) -> bytes:
    given = len(data) if size is None else size
    return name + struct.pack(">HHIH", kind, 1, ttl, given) + data


def answer(*records: bytes, asked: bytes = ASKED, count: int | None = None) -> bytes:
    counts = (1, len(records) if count is None else count, 0, 0)
    return asked[:2] + struct.pack(">HHHHH", 0x8180, *counts) + asked[12:] + b"".join(records)


SOUND = record(NAME, A, ADDRESS)
FOUND = ("93.184.215.14", 300)


def test_valid_records_are_used_beside_malformed_ones() -> None:
    odd = record(NAME, A, b"abc")
    assert extract_addresses(
        answer(SOUND, odd, record(NAME, A, b"\x01\x02\x03\x04", 60)), ASKED
    ) == [FOUND, ("1.2.3.4", 60)]
    assert extract_addresses(answer(SOUND, count=9) + b"rubbish", ASKED) == [FOUND]
    assert extract_addresses(answer(SOUND, record(NAME, A, ADDRESS, size=400)), ASKED) == [FOUND]
    assert extract_addresses(answer(record(b"\x80", A, ADDRESS), SOUND), ASKED) == []


def test_alias_is_followed_and_other_names_are_ignored() -> None:
    alias, there = record(NAME, CNAME, ALIAS), record(ALIAS, A, ADDRESS)
    assert extract_addresses(answer(alias, there), ASKED) == [FOUND]
    assert extract_addresses(answer(there), ASKED) == [], "nobody asked for it"


def test_records_of_other_kinds_are_ignored() -> None:
    assert extract_addresses(answer(record(NAME, AAAA, bytes(16))), ASKED) == []
    six = make_query("www.example.org", AAAA, 7)
    found = extract_addresses(
        answer(record(NAME, AAAA, b"\x20" + bytes(14) + b"\x01"), asked=six), six
    )
    assert found == [("2000::1", 300)]


def test_ttl_with_the_highest_bit_is_zero() -> None:
    assert extract_addresses(answer(record(NAME, A, ADDRESS, ttl=1 << 31)), ASKED) == [
        ("93.184.215.14", 0)
    ]


def test_answer_to_another_query_is_not_accepted() -> None:
    assert is_answer(answer(SOUND), ASKED)
    assert is_answer(answer(SOUND).replace(b"www", b"WwW"), ASKED)
    assert not is_answer(ASKED, ASKED), "it is the question"
    assert not is_answer(answer(SOUND), make_query("www.example.org", A, 8))
    assert not is_answer(answer(SOUND), make_query("mmm.example.org", A, 7))
    assert not is_answer(b"", ASKED)


@given(st.binary(max_size=300))
def test_arbitrary_answer_raises_nothing(rest: bytes) -> None:
    assert isinstance(extract_addresses(answer(rest, count=60_000), ASKED), list)
    is_answer(rest, ASKED)
