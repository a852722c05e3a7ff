"""Fillers: records that take the place of erased ones, with exactly their length in the file.

A filler is a WARC record of zeros in one member (gzip, RFC 1952) or frame (zstd, RFC 8878). Its
blocks are stored without compression, so that a length can be chosen to the byte. All other records
of the file keep their offsets and lengths. The zeros are not written: they are a hole in the file,
which takes no space on a file system that supports holes.
"""

import hashlib
import zlib
from base64 import b32encode
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gossamer.services.archive.reading import CHUNK_BYTES, ERASED_FIELD

END = b"\r\n\r\n"
"""The end of every WARC record."""
ZEROS = bytes(CHUNK_BYTES)


class Framing(NamedTuple):
    """The bytes around the stored blocks of one member or frame."""

    block_bytes: int
    """The largest block."""
    head: Callable[[int], bytes]
    """Returns the bytes before the first block, by the number of bytes of the record."""
    block: Callable[[int, bool], bytes]
    """Returns the bytes before a block, by its length and whether it is the last one."""
    tail: Callable[[int, int], bytes]
    """Returns the bytes after the last block, by the CRC-32 and the length of the record."""
    blank: Callable[[int], bytes]
    """Returns bytes of this length without any content."""


def _gzip_block(size: int, is_last: bool) -> bytes:
    return bytes([is_last]) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")


def _zstd_block(size: int, is_last: bool) -> bytes:
    return (is_last | size << 3).to_bytes(3, "little")


def _gzip_blank(length: int) -> bytes:
    # The extra field fills the member (RFC 1952, 2.3.1.1).
    extra = length - 22
    field = extra.to_bytes(2, "little") + bytes(extra)
    return b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff" + field + b"\x03\x00" + bytes(8)


def _zstd_blank(length: int) -> bytes:
    # A skippable frame (RFC 8878, 3.1.2).
    return b"\x50\x2a\x4d\x18" + (length - 8).to_bytes(4, "little") + bytes(length - 8)


FRAMINGS = {
    ".gz": Framing(
        block_bytes=0xFFFF,
        head=lambda size: b"\x1f\x8b\x08" + bytes(6) + b"\xff",
        block=_gzip_block,
        tail=lambda crc, size: crc.to_bytes(4, "little") + (size % (1 << 32)).to_bytes(4, "little"),
        blank=_gzip_blank,
    ),
    ".zst": Framing(
        block_bytes=128 << 10,
        # The content size has eight bytes. The window of 128 KiB holds one block.
        head=lambda size: b"\x28\xb5\x2f\xfd\xc0\x38" + size.to_bytes(8, "little"),
        block=_zstd_block,
        tail=lambda crc, size: b"",
        blank=_zstd_blank,
    ),
}
"""Suffix of a WARC file → its framing."""


def make_filler(length: int, suffix: str, record_id: str, date: str) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a filler of *length* bytes, with their positions in it.

    All other bytes are zero. *length* is at least 25. Fewer than about 220 bytes have no room for a
    record: then the filler has no content, and readers skip it.
    """
    framing = FRAMINGS[suffix]
    start, tail = len(framing.head(0)), len(framing.tail(0, 0))
    per_block = len(framing.block(0, True))
    blocks = max(1, -(-(length - start - tail) // (framing.block_bytes + per_block)))
    size = length - start - tail - blocks * per_block
    head = _record_head(size, record_id, date)
    if not head:
        yield 0, framing.blank(length)
        return
    crc = zlib.crc32(END, _crc_of_zeros(size - len(head) - len(END), zlib.crc32(head)))
    chunk = -(-size // blocks)
    yield 0, framing.head(size)
    for number in range(blocks):
        at = number * chunk
        filled = min(chunk, size - at)
        position = start + at + number * per_block
        yield position, framing.block(filled, number == blocks - 1)
        content = position + per_block
        if at < len(head):
            yield content, head[at : at + filled]
        first = max(at, size - len(END))
        if first < at + filled:
            last = first - (size - len(END))
            yield content + first - at, END[last : last + at + filled - first]
    yield length - tail, framing.tail(crc, size)


def _record_head(size: int, record_id: str, date: str) -> bytes:
    """Return the head of a record of *size* bytes whose block consists of zeros, or b"" if *size*
    is too small."""
    for digest in (True, False):
        for space in ("", " "):
            # With one more digit of Content-Length, the record may be a byte too long. Then a space
            # fills the gap.
            for digits in range(1, len(str(max(size, 1))) + 1):
                empty = _head(record_id, date, space, "0" * digits, "=" * 32 if digest else "")
                zeros = size - len(empty) - len(END)
                if zeros >= 0 and len(str(zeros)) == digits:
                    found = _digest_of_zeros(zeros) if digest else ""
                    return _head(record_id, date, space, str(zeros), found)
    return b""


def _head(record_id: str, date: str, space: str, length: str, digest: str) -> bytes:
    fields = [
        "WARC/1.1",
        "WARC-Type: metadata",
        f"WARC-Record-ID: {record_id}",
        f"WARC-Date: {date}",
        *([f"WARC-Block-Digest: sha1:{digest}"] if digest else []),
        f"{ERASED_FIELD}: {space}1",
        "Content-Type: application/octet-stream",
        f"Content-Length: {length}",
    ]
    return "\r\n".join(fields).encode() + END


def _chunks_of_zeros(count: int) -> Iterator[bytes]:
    for at in range(0, count, len(ZEROS)):
        yield ZEROS[: count - at]


def _crc_of_zeros(count: int, crc: int) -> int:
    for chunk in _chunks_of_zeros(count):
        crc = zlib.crc32(chunk, crc)
    return crc


def _digest_of_zeros(count: int) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for chunk in _chunks_of_zeros(count):
        digest.update(chunk)
    return b32encode(digest.digest()).decode()
