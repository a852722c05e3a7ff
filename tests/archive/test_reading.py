"""The reader of the records of a WARC file: positions, fillers and damage."""

from collections.abc import Iterable

import pytest
from backports import zstd
from isal import igzip

from gossamer.services.archive.fillers import make_filler
from gossamer.services.archive.reading import INPUT_BYTES, MAX_HEAD_BYTES, RecordHead, RecordReader
from gossamer.services.archive.records import ZSTD_OPTIONS

SUFFIXES = (".gz", ".zst")
FILLER_LENGTHS = (*range(25, 420), 0xFFFF, 128 << 10, *range(66_000, 66_020), 300_007)


def packed(number: int, suffix: str, size: int = 50) -> bytes:
    """Return a record whose block has *size* bytes that do not compress well."""
    block = b"".join(n.to_bytes(4, "big") for n in range(size // 4))
    url = f"WARC-Target-URI: <http://a.example/{number}>"
    head = f"WARC/1.1\r\nWARC-Type: response\r\n{url}\r\nContent-Length: {len(block)}\r\n\r\n"
    data = head.encode() + block + b"\r\n\r\n"
    if suffix == ".zst":
        return zstd.compress(data, options=ZSTD_OPTIONS)
    return igzip.compress(data, 2, mtime=0)


def filler(length: int, suffix: str) -> bytes:
    data = bytearray(length)
    for position, part in make_filler(length, suffix, "<urn:uuid:1>", "2026-01-01T00:00:00Z"):
        data[position : position + len(part)] = part
    assert len(data) == length
    return bytes(data)


def read(chunks: Iterable[bytes]) -> tuple[list[RecordHead], RecordReader]:
    reader = RecordReader(chunks)
    return [*reader], reader


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_fillers_of_all_lengths_are_recognised(suffix: str) -> None:
    first, last = packed(1, suffix), packed(2, suffix)
    for length in FILLER_LENGTHS:
        found, reader = read([first + filler(length, suffix) + last])
        assert [record.is_filler for record in found] == [False, True, False], length
        assert [record.length for record in found] == [len(first), length, len(last)]
        assert found[2].offset == len(first) + length
        assert found[2].url == "http://a.example/2"
        assert not reader.is_damaged


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("chunk", [1, 100, INPUT_BYTES + 1, 10 << 20])
def test_positions_do_not_depend_on_chunks(suffix: str, chunk: int) -> None:
    size = 2000 if chunk == 1 else 3 << 20
    whole = [packed(number, suffix, size) for number in range(3)]
    data = b"".join(whole)
    found, reader = read(data[at : at + chunk] for at in range(0, len(data), chunk))
    assert [record.length for record in found] == [len(one) for one in whole]
    assert len(found[0].head) <= MAX_HEAD_BYTES
    assert (reader.position, reader.is_damaged) == (len(data), False)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("tail", [b"\0", bytes(5000), b"x", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"])
def test_damaged_or_partial_end_is_reported(suffix: str, tail: bytes) -> None:
    whole = packed(1, suffix)
    found, reader = read([whole + tail])
    assert len(found) == 1
    assert (reader.position, reader.is_damaged) == (len(whole), True)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_record_with_a_wrong_checksum_is_damaged(suffix: str) -> None:
    first, second = packed(1, suffix), bytearray(packed(2, suffix, 3000))
    second[len(second) // 2] ^= 0x10
    found, reader = read([first + bytes(second)])
    assert (len(found), reader.is_damaged) == (1, True)


def test_empty_file_has_no_records() -> None:
    found, reader = read([b""])
    assert (found, reader.position, reader.is_damaged) == ([], 0, False)
