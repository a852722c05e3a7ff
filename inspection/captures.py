"""Captures of a URL, and their responses in the WARC files."""

import zlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gossamer.store import Store
from gossamer.volumes import OPEN_SUFFIX
from gossamer.web.coding import GZIP_MAGIC, decode
from gossamer.web.http import Headers, joined_values
from services.archive.rows import CaptureRow

READ_ROWS = 20
"""Rows of one read of the captures of a URL."""
MAX_RECORD_BYTES = 8 << 20
"""Bytes of a record that are read."""
GZIP_WINDOW_BITS = 31
HEAD_END = b"\r\n\r\n"


class Response(Struct, frozen=True):
    """A response as archived."""

    headers: Headers = ()
    body: bytes = b""
    """The body, still content-encoded."""
    fault: str = ""
    """Why the record cannot be read, for people; "" if it was read."""

    def decoded(self, limit: int) -> bytes:
        """Return at most *limit* bytes of the decoded body."""
        found = decode(self.body, joined_values(self.headers, "content-encoding"), limit).data
        # A server may compress a file without a Content-Encoding.
        return decode(found, "gzip", limit).data if found.startswith(GZIP_MAGIC) else found


def iterate_captures(store: Store, crawl: str, url: str, until: float) -> Iterator[CaptureRow]:
    """Yield the captures of a canonical *url* that were fetched until then, newest first."""
    table, before = store.table(CaptureRow), None
    while rows := table.scan((crawl, url), before, READ_ROWS):
        yield from (row for row in rows if row.fetched_at <= until)
        before = rows[-1].fetched_at


def read_response(folder: Path | None, row: CaptureRow) -> Response:
    """Return the response of a capture in *folder*, the folder of the WARC files."""
    if folder is None:
        return Response(fault="the folder of the WARC files is not known")
    path = folder / row.file
    if not path.exists():
        path = path.with_name(path.name + OPEN_SUFFIX)
    try:
        with path.open("rb") as file:
            file.seek(row.offset)
            packed = file.read(min(row.length, MAX_RECORD_BYTES))
        record = zlib.decompressobj(GZIP_WINDOW_BITS).decompress(packed, MAX_RECORD_BYTES)
    except (OSError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Response(fault=f"{row.file} cannot be read: {reason}")
    _, _, block = record.partition(HEAD_END)
    head, _, body = block.partition(HEAD_END)
    # The record ends with an empty line of its own, which is no part of the body.
    return Response(tuple(_headers(head)), body.removesuffix(HEAD_END))


def _headers(head: bytes) -> Iterator[tuple[str, str]]:
    for line in head.split(b"\r\n")[1:]:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            yield name, value.strip()
