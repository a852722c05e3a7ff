"""Content codings: whole, cut, damaged, wrongly declared, and bombs."""

import gzip
import zlib
from collections.abc import Callable
from functools import partial

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.coding import INFLATERS, MAX_CODINGS, Body, decode, is_plain

LIMIT = 2 << 20
TEXT = b"".join(b"line %d of a page\n" % i for i in range(20_000))


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    # The default quality is high and slow.
    "br": partial(brotli.compress, quality=5),
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", ENCODERS)
def test_every_coding_is_decoded(encoding: str) -> None:
    assert decode(ENCODERS[encoding](TEXT), encoding.upper(), LIMIT) == Body(TEXT)


def test_raw_deflate_is_decoded_as_in_browsers() -> None:
    assert decode(raw_deflate(TEXT), "deflate", LIMIT) == Body(TEXT)


def test_codings_are_decoded_in_reverse_order() -> None:
    body = brotli.compress(gzip.compress(TEXT))
    assert decode(body, "gzip, br", LIMIT) == Body(TEXT)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("first", [b"", b"one", TEXT], ids=["empty", "short", "long"])
def test_all_gzip_members_and_zstd_frames_are_decoded_without_padding(
    encoding: str, first: bytes
) -> None:
    body = ENCODERS[encoding](first) + ENCODERS[encoding](b"two")
    assert decode(body, encoding, LIMIT) == Body(first + b"two")
    assert decode(body + b"\0" * 3000, encoding, LIMIT) == Body(first + b"two")


def test_zstd_frame_with_too_large_window_is_not_decoded() -> None:
    kind = zstd.CompressionParameter
    wide = {int(kind.window_log): 25, int(kind.content_size_flag): 0}
    packer = zstd.ZstdCompressor(options=wide)
    body = packer.compress(TEXT) + packer.flush()
    assert decode(body, "zstd", LIMIT) == Body(body, as_sent=True)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_cut_body_is_decoded_as_far_as_possible(encoding: str) -> None:
    whole = ENCODERS[encoding](TEXT)
    result = decode(whole[: len(whole) // 2], encoding, LIMIT)
    assert result.cut
    assert TEXT.startswith(result.data) and len(result.data) > 1000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "zebra", "gzip, zebra"])
def test_plain_bytes_with_declared_coding_are_returned_as_sent(encoding: str) -> None:
    plain = b"<title>plain</title>"
    assert decode(plain, encoding, LIMIT) == Body(plain, as_sent=True)


def test_plain_bytes_are_not_decoded_by_chance() -> None:
    """The kind of donsetch #290: brotli has no signature, and decodes some texts to others."""
    plain = "Привет мир ".encode("cp1251") * 50
    assert decode(plain, "br", LIMIT) == Body(plain, as_sent=True)


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS)
@given(st.binary(max_size=300))
def test_coded_bytes_are_not_plain(encode: Callable[[bytes], bytes], data: bytes) -> None:
    """Report donsetch #290."""
    assert not is_plain(encode(TEXT + data))


@pytest.mark.parametrize(
    ("body", "plain"),
    [
        (b"", True),
        (b"User-agent: *\r\n\tDisallow: /\x0c\x1b", True),
        ("Grüße".encode(), True),
        ("Grüße".encode()[:4], True),
        ("Grüße".encode("latin-1"), False),
        ("Grüße".encode("latin-1") * 30, True),
        ("こんにちは".encode("shift_jis") * 30, True),
        ("Grüße".encode("utf-16"), True),
        (b"\xff\xfe\0\0\xff\xff", False),
        (b"a\0b", False),
        (b"\xff\xff\xff", False),
    ],
)
def test_text_of_any_encoding_is_plain(body: bytes, plain: bool) -> None:
    """Report donsetch #290: a short text of a legacy encoding could be coded bytes."""
    assert is_plain(body) is plain


@pytest.mark.parametrize("encoding", ["identity", "", ",", "identity, "])
def test_body_without_coding_is_unchanged(encoding: str) -> None:
    assert decode(b"<title>plain</title>", encoding, LIMIT) == Body(b"<title>plain</title>")


@pytest.mark.parametrize("encoding", ["gzip", "zebra"])
def test_empty_body_stays_empty(encoding: str) -> None:
    assert decode(b"", encoding, LIMIT) == Body(b"")


def test_body_with_too_many_codings_is_returned_as_sent() -> None:
    wrapped = TEXT
    for _ in range(MAX_CODINGS):
        wrapped = gzip.compress(wrapped)
    assert decode(wrapped, ", ".join(["gzip"] * MAX_CODINGS), LIMIT) == Body(TEXT)
    once_more = gzip.compress(wrapped)
    names = ", ".join(["gzip"] * (MAX_CODINGS + 1))
    assert decode(once_more, names, LIMIT) == Body(once_more, as_sent=True)


def test_limit_counts_decoded_bytes() -> None:
    assert decode(gzip.compress(TEXT), "gzip", 1000) == Body(TEXT[:1000], cut=True)
    assert decode(TEXT, "", 1000) == Body(TEXT[:1000], cut=True)
    assert decode(gzip.compress(TEXT), "gzip", len(TEXT)) == Body(TEXT)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_bomb_is_stopped_at_the_limit_and_marked(encoding: str) -> None:
    result = decode(ENCODERS[encoding](bytes(30 << 20)), encoding, LIMIT)
    assert len(result.data) <= LIMIT
    assert result.cut and result.bomb


def test_ratio_of_a_bomb_is_a_parameter() -> None:
    packed = gzip.compress(TEXT)
    assert decode(packed, "gzip", LIMIT, ratio=1000) == Body(TEXT)
    stopped = decode(packed, "gzip", LIMIT, ratio=2)
    assert stopped.bomb and len(stopped.data) < len(TEXT)


@pytest.mark.slow
def test_nested_bomb_is_stopped() -> None:
    bomb = gzip.compress(gzip.compress(bytes(100 << 20)))
    result = decode(bomb, "gzip, gzip", LIMIT)
    assert len(result.data) <= LIMIT and result.cut


@given(st.binary(max_size=3000), st.sampled_from(sorted(INFLATERS)), st.integers(0, 200))
def test_arbitrary_bytes_give_at_most_the_limit(body: bytes, encoding: str, limit: int) -> None:
    assert len(decode(body, encoding, limit).data) <= limit


@given(st.binary(max_size=5000), st.sampled_from(sorted(ENCODERS)), st.data())
def test_damaged_body_raises_nothing(body: bytes, encoding: str, data: st.DataObject) -> None:
    whole = bytearray(ENCODERS[encoding](body))
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=3)):
        whole[at] ^= 0xFF
    decode(bytes(whole), encoding, LIMIT)
