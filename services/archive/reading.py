"""Reads the records of a WARC file in order: gzip members or zstd frames, by their beginnings.

The position of each record and the first 64 KiB of its content are enough to index, erase and
select records, and to find the last whole record after a crash. A record can have a gigabyte.
`gossamer.captures` reads one record at its position as a whole.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from io import SEEK_END
from typing import Any, BinaryIO

import structlog
from backports import zstd
from isal import igzip_lib

from gossamer.captures import MAX_DIGITS, split_head, unfold
from gossamer.web.coding import GZIP_MAGIC

CHUNK_BYTES = 1 << 20
"""Bytes of one read of a file, and of one step of decompression."""
INPUT_BYTES = 64 << 10
"""Bytes that are decompressed at a time. At the end of each record, the rest of them is copied."""
MAX_HEAD_BYTES = 64 << 10
"""Bytes of a record that are searched for its headers."""
RECORD_START = re.compile(rb"(?i:WARC)/\d\.\d{1,2}[ \t]*\r{0,2}\n(?=(?i:WARC-|Content-|X-))")
"""The beginning of a plain record, also behind a record whose end is missing."""
LINE_ENDS = b"\r\n"
"""The bytes behind the content of a record: two lines, also as line feeds or carriage returns."""
MAX_LINE_END_BYTES = 64
DAMAGE = (igzip_lib.IsalError, zstd.ZstdError, EOFError)
"""Errors of a damaged or partial record."""
ERASED_FIELD = "X-Crawler-Erased"
"""Field of a filler, which takes the place of an erased record (`fillers`)."""

_first_line = re.compile(rb"(?i:WARC)/\d+\.\d+[ \t]*\r{0,2}\n")

Fields = dict[str, str]
"""Headers by name in lower case; of several headers with one name, the first."""

logger = structlog.get_logger()


@dataclass(frozen=True)
class RecordHead:
    """The position and the beginning of a record."""

    offset: int
    length: int
    """Compressed length, in bytes."""
    head: bytes
    """The first 64 KiB of the record."""
    unpacked_length: int = 0
    """Bytes of its gzip member or zstd frame, without compression; 0 in a plain file."""

    @cached_property
    def fields(self) -> Fields:
        """The WARC headers."""
        return parse_fields(split_head(self.head)[0], "percent")[1]

    @property
    def block(self) -> bytes:
        """The beginning of the block: an HTTP message, or fields."""
        return split_head(self.head)[1] or b""

    @property
    def kind(self) -> str:
        """WARC-Type, such as `response`, or ""."""
        return self.fields.get("warc-type", "")

    @property
    def url(self) -> str:
        """WARC-Target-URI, or ""."""
        return self.fields.get("warc-target-uri", "").strip("<> \t")

    @property
    def date(self) -> str:
        """WARC-Date, or ""."""
        return self.fields.get("warc-date", "")

    @property
    def digest(self) -> str:
        """WARC-Payload-Digest, or ""."""
        return self.fields.get("warc-payload-digest", "")

    @property
    def is_filler(self) -> bool:
        """Whether the record is in place of an erased one. A short filler has no content."""
        return not self.head or ERASED_FIELD.lower() in self.fields

    @property
    def crawl(self) -> str:
        """The crawl in the block of a warcinfo record, or ""."""
        return parse_fields(b"\r\n" + self.block)[1].get("ispartof", "")


def parse_fields(data: bytes, errors: str = "replace") -> tuple[str, Fields]:
    """Return the first line of *data*, and the headers after it.

    *errors*: how octets that are not UTF-8 are decoded. In a URL they are percent-encoded
    (`gossamer.web.http.decode_urls`), else it would be another URL.
    """
    first, *lines = unfold(data).decode("utf-8", errors).split("\n")
    found = Fields()
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return first, found


class RecordReader:
    """Reads the records of a compressed file from its *chunks*.

    Damage is logged under the name *file*, unless that is "".
    """

    def __init__(
        self, chunks: Iterable[bytes], file: str = "", dictionary: bytes | None = None
    ) -> None:
        """*dictionary*: of a `.warc.zst` file that begins with one."""
        self._chunks, self._file = chunks, file
        self._dictionary = zstd.ZstdDict(dictionary) if dictionary else None
        self.position = 0
        """The end of the last whole record."""
        self.is_damaged = False
        """Whether there are other bytes behind `position`. It is known after the last record."""
        self.begun = bytearray()
        """The beginning of the damaged or partial record at `position`."""

    def __iter__(self) -> Iterator[RecordHead]:
        """Yield each whole record, up to the first one that is damaged or partial."""
        try:
            yield from self._records()
        except DAMAGE as error:  # type: ignore[misc]  # The stub of IsalError has no base class.
            self.is_damaged = True
            if self._file:
                logger.warning(
                    "a WARC file is damaged: it cannot be read from this offset on",
                    file=self._file,
                    offset=self.position,
                    reason=str(error),
                )

    def _records(self) -> Iterator[RecordHead]:
        member, size, end = None, 0, 0
        head = self.begun
        for rest in self._pieces():
            end += len(rest)
            while rest or (member and not member.needs_input):
                member = member or self._decompressor(rest[0] == GZIP_MAGIC[0])
                out = member.decompress(rest, CHUNK_BYTES)
                head += out[: MAX_HEAD_BYTES - len(head)]
                size += len(out)
                rest = b""
                if member.eof:
                    rest, member = member.unused_data, None
                    offset, self.position = self.position, end - len(rest)
                    yield RecordHead(offset, self.position - offset, bytes(head), size)
                    head.clear()
                    size = 0
        if self.position < end:
            raise EOFError("a partial record")

    def _decompressor(self, is_gzip: bool) -> Any:
        if is_gzip:
            return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        return zstd.ZstdDecompressor(self._dictionary)

    def _pieces(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            for at in range(0, len(chunk), INPUT_BYTES):
                yield chunk[at : at + INPUT_BYTES]


class PlainRecordReader:
    """Reads the records of a *file* that is not compressed. Its contents are skipped."""

    def __init__(self, file: BinaryIO, length_of: Callable[[bytes], int | None]) -> None:
        """*length_of* returns the length of the record that some bytes begin with; None if no
        record begins there."""
        self._file, self._length_of = file, length_of
        self.position = 0
        """The end of the last whole record."""
        self.is_damaged = False
        """Whether there are other bytes behind `position`. It is known after the last record."""

    def __iter__(self) -> Iterator[RecordHead]:
        """Yield each whole record, up to the first one that is damaged or partial."""
        size = self._file.seek(0, SEEK_END)
        while self.position < size:
            head = self._read(self.position, MAX_HEAD_BYTES)
            length = self._length_of(head)
            if length is None or self.position + length > size:
                self.is_damaged = True
                return
            offset, end = self.position, self.position + length
            behind = self._read(end, MAX_LINE_END_BYTES)
            self.position = end + len(behind) - len(behind.lstrip(LINE_ENDS))
            if self.position < size and self._has_swallowed(offset, end):
                self.position, self.is_damaged = offset, True
                return
            yield RecordHead(offset, length, head[:length])

    def _has_swallowed(self, offset: int, end: int) -> bool:
        """Return whether the record from *offset* to *end* has the beginning of another one, and no
        record begins behind it: then its end is missing."""
        behind = self._read(self.position, MAX_HEAD_BYTES)
        if self._length_of(behind) is not None:
            return False
        for at in range(offset + 1, end, CHUNK_BYTES):
            if RECORD_START.search(self._read(at, min(CHUNK_BYTES, end - at))):
                return True
        return False

    def _read(self, position: int, size: int) -> bytes:
        self._file.seek(position)
        return self._file.read(size)


def record_length(head: bytes) -> int | None:
    """Return the length of the uncompressed WARC record that begins with *head*, without the lines
    behind its content; None without a record."""
    fields, rest = split_head(head)
    length = parse_fields(fields)[1].get("content-length", "")
    is_valid = length.isascii() and length.isdecimal() and len(length) < MAX_DIGITS
    if not (_first_line.match(head) and rest is not None and is_valid):
        return None
    return len(head) - len(rest) + int(length)


def read_chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield what *read* returns for a number of bytes, until it returns nothing."""
    while chunk := read(CHUNK_BYTES):
        yield chunk
