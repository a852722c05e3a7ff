"""Content encodings undone: whole, broken off, damaged, lied about, and blown up."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.parser.body import INFLATERS, Body, decoded
from services.parser.page import parse
from tests.parser.pages import LIMIT, fetched

TEXT = b"".join(b"line %d of a page\n" % i for i in range(20_000))


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("encoding", ENCODERS)
def test_every_encoding_is_undone(encoding: str) -> None:
    assert decoded(ENCODERS[encoding](TEXT), encoding.upper(), LIMIT) == Body(TEXT)


def test_raw_deflate_is_taken_for_deflate_as_browsers_do() -> None:
    assert decoded(raw_deflate(TEXT), "deflate", LIMIT) == Body(TEXT)


def test_encodings_are_undone_last_first() -> None:
    body = brotli.compress(gzip.compress(TEXT))
    assert decoded(body, "gzip, br", LIMIT) == Body(TEXT)


def test_all_members_of_a_gzip_body_count_and_padding_does_not() -> None:
    for first in (b"", b"one", TEXT):
        body = gzip.compress(first) + gzip.compress(b"two")
        assert decoded(body, "gzip", LIMIT) == Body(first + b"two")
        assert decoded(body + b"\0" * 3000, "gzip", LIMIT) == Body(first + b"two")


@pytest.mark.parametrize("encoding", ENCODERS)
def test_what_was_broken_off_is_decoded_as_far_as_it_goes(encoding: str) -> None:
    whole = ENCODERS[encoding](TEXT)
    result = decoded(whole[: len(whole) // 2], encoding, LIMIT)
    assert result.cut
    assert TEXT.startswith(result.data) and len(result.data) > 1000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zebra", "identity", ""])
def test_plain_bytes_are_taken_as_they_are_whatever_they_are_called(encoding: str) -> None:
    assert decoded(b"<title>plain</title>", encoding, LIMIT) == Body(b"<title>plain</title>")


def test_nothing_stays_nothing() -> None:
    assert decoded(b"", "gzip", LIMIT) == Body(b"")


def test_the_limit_counts_decoded_bytes() -> None:
    assert decoded(gzip.compress(TEXT), "gzip", 1000) == Body(TEXT[:1000], cut=True)
    assert decoded(TEXT, "", 1000) == Body(TEXT[:1000], cut=True)
    assert decoded(gzip.compress(TEXT), "gzip", len(TEXT)) == Body(TEXT)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_a_bomb_is_stopped_at_the_limit_and_named(encoding: str) -> None:
    bomb = ENCODERS[encoding](bytes(30 << 20))
    parsed = parse(
        fetched(bomb, ("Content-Type", "text/html"), ("Content-Encoding", encoding)), True, LIMIT, 0
    )
    assert parsed.size <= LIMIT
    assert parsed.truncated
    assert "decompression_bomb" in parsed.hazards


def test_a_bomb_within_a_bomb_is_stopped_too() -> None:
    bomb = gzip.compress(gzip.compress(bytes(100 << 20)))
    result = decoded(bomb, "gzip, gzip", LIMIT)
    assert len(result.data) <= LIMIT and result.cut


@given(st.binary(max_size=3000), st.sampled_from(sorted(INFLATERS)), st.integers(0, 200))
def test_any_bytes_under_any_encoding_give_at_most_the_limit(
    body: bytes, encoding: str, limit: int
) -> None:
    assert len(decoded(body, encoding, limit).data) <= limit


@given(st.binary(max_size=5000), st.sampled_from(sorted(ENCODERS)), st.data())
def test_damage_never_raises(body: bytes, encoding: str, data: st.DataObject) -> None:
    whole = bytearray(ENCODERS[encoding](body))
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=3)):
        whole[at] ^= 0xFF
    decoded(bytes(whole), encoding, LIMIT)
