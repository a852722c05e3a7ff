"""Indexes of WARC files: CDXJ, one line for each capture, sorted.

    org,example)/page 20260101120000 {"url": "http://example.org/page", "mime": "text/html", …}

A line has the SURT key of the URL, the time of the capture, and its position. The lines are those
of cdxj-indexer and pywb. They are derived from the file alone, so an index that was lost with a
crash can be recreated, and a record in a file that was truncated is in no index.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from backports import zstd
from isal import igzip_lib

from gossamer.web.surt import surt_key

INDEX_SUFFIX = ".cdxj"
"""Suffix of the index of a complete file, beside it."""
INDEXED_TYPES = frozenset({"response", "revisit", "resource", "metadata"})
FIELDS_TYPE = "application/warc-fields"
"""Content type of records about a capture, which are not indexed."""
MAX_HEAD_BYTES = 64 << 10
"""Bytes of a record that are searched for its headers."""
OUTPUT_BYTES = 1 << 20
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
DAMAGE = (igzip_lib.IsalError, zstd.ZstdError)
TYPE_BYTES = 4 << 10
"""Bytes of a record that are searched for its type before it is parsed."""
_indexed = re.compile(rb"\nWARC-Type: *(?:response|revisit|resource|metadata)\r", re.IGNORECASE)

Fields = dict[str, str]
"""Headers by name in lower case; of several headers with one name, the first."""


class RecordHead(NamedTuple):
    """The position and the beginning of a record."""

    offset: int
    length: int
    """Compressed length, in bytes."""
    head: bytes
    """The first 64 KiB of the record."""

    @property
    def fields(self) -> Fields:
        """The WARC headers."""
        return parse_fields(self.head.partition(b"\r\n\r\n")[0])[1]

    @property
    def block(self) -> bytes:
        """The beginning of the block: an HTTP message, or fields."""
        return self.head.partition(b"\r\n\r\n")[2]


class Line(NamedTuple):
    """A line of an index, with the parts that it is sorted by."""

    key: str
    timestamp: str
    """YYYYmmddHHMMSS in UTC."""
    data: str
    """A JSON object."""

    def __str__(self) -> str:
        return f"{self.key} {self.timestamp} {self.data}\n"


def parse_fields(data: bytes) -> tuple[str, Fields]:
    """Return the first line of *data*, and the headers after it."""
    first, *lines = data.decode("utf-8", "replace").split("\r\n")
    found = Fields()
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return first, found


def iterate_heads(chunks: Iterable[bytes]) -> Iterator[RecordHead]:
    """Yield each whole record of a compressed file, from its *chunks*.

    A file that is damaged, or ends within a record, has no records from there on.
    """
    member, is_zstd, head = None, False, bytearray()
    start = end = 0
    try:
        for chunk in chunks:
            end += len(chunk)
            rest = chunk
            is_zstd = chunk.startswith(ZSTD_MAGIC) if member is None else is_zstd
            member = member or _decompressor(is_zstd)
            while rest or not member.needs_input:
                out = member.decompress(rest, OUTPUT_BYTES)
                head += out[: MAX_HEAD_BYTES - len(head)]
                rest = b""
                if member.eof:
                    rest = member.unused_data
                    after = end - len(rest)
                    yield RecordHead(start, after - start, bytes(head))
                    member = _decompressor(is_zstd)
                    start = after
                    head.clear()
    except DAMAGE:  # type: ignore[misc]  # Its stub has no base class.
        return


def _decompressor(is_zstd: bool) -> Any:
    if is_zstd:
        return zstd.ZstdDecompressor()
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


def index_line(record: RecordHead, file: str) -> Line | None:
    """Return the line of *record* in *file*; None if it is not the record of a capture."""
    if not _indexed.search(record.head, 0, TYPE_BYTES):
        return None  # It need not be parsed.
    fields = record.fields
    kind, url = fields.get("warc-type", ""), fields.get("warc-target-uri", "").strip("<>")
    content_type = fields.get("content-type", "")
    if kind not in INDEXED_TYPES or not url or "warc-date" not in fields:
        return None
    if kind in ("resource", "metadata") and content_type == FIELDS_TYPE:
        return None
    first, headers = "", Fields()
    if content_type.startswith("application/http"):
        first, headers = parse_fields(record.block.partition(b"\r\n\r\n")[0])
    found = {
        "url": url,
        "mime": _mime(kind, content_type, headers),
        "status": first.split(" ", 2)[1] if " " in first else None,
        "digest": fields.get("warc-payload-digest"),
    }
    data = {name: value for name, value in found.items() if value is not None}
    data |= {"length": str(record.length), "offset": str(record.offset), "filename": file}
    return Line(surt_key(url), timestamp_of(fields["warc-date"]), json.dumps(data))


def _mime(kind: str, content_type: str, headers: Fields) -> str | None:
    if kind == "revisit":
        return "warc/revisit"
    value = headers.get("content-type") if kind == "response" else content_type
    return None if value is None else (value.replace(";", " ").split() or [""])[0]


def timestamp_of(date: str) -> str:
    """Return a WARC-Date as the timestamp of an index."""
    return "".join(character for character in date if character.isdigit())[:14]


def index_file(chunks: Iterable[bytes], file: str) -> Iterator[str]:
    """Yield the sorted lines of the index of *file*, a basename, from the *chunks* of the file.

    The lines are held in memory: 25 MB for a file of 100,000 captures.
    """
    lines = (index_line(record, file) for record in iterate_heads(chunks))
    yield from sorted(str(line) for line in lines if line)


def read_chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield what *read* returns for a number of bytes, until it returns nothing."""
    while chunk := read(OUTPUT_BYTES):
        yield chunk
