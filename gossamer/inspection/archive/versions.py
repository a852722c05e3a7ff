"""Versions of a page as archived: a capture with its record from a WARC file.

A record is read by its position alone, in the folder of the WARC files or in the volumes of the
archive. The body of a revisit record is that of the earlier capture that its row names.
"""

from collections.abc import Iterator

from msgspec import Struct

from gossamer.captures import BadCapture, Capture, read_capture
from gossamer.errors import BadSettings, GossamerError
from gossamer.inspection.archive.captures import FOREVER, NotArchived, iterate_captures
from gossamer.inspection.basics.figures import instant, size
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.services.archive.rows import CaptureRow
from gossamer.volumes import Missing, Volume, find_file
from gossamer.web.coding import GZIP_MAGIC, decode

MAX_BODY_BYTES = 64 << 20
"""Bytes of a body that is read as a whole."""


class Version(Struct, frozen=True):
    """A capture of a page, with its row and its record."""

    row: CaptureRow
    capture: Capture

    @property
    def at(self) -> float:
        """When the request was made, in epoch seconds."""
        return self.row.fetched_at


def find_versions(
    crawl: OpenCrawl, text: str, until: float | None
) -> tuple[str, Iterator[CaptureRow]]:
    """Return the URL *text* in the form of *crawl*, and its captures until then, or all, newest
    first.

    Raise NotArchived if there is none, and BadSettings for an invalid URL.
    """
    url, end = crawl_form(crawl, text).url, FOREVER if until is None else until
    if next(iterate_captures(crawl.store(), crawl.id, url, end), None) is None:
        *_, first = (None, *iterate_captures(crawl.store(), crawl.id, url))
        when = f" until {instant(end)}" if end < FOREVER else ""
        later = f": its first capture is of {instant(first.fetched_at)}" if first else ""
        remedy = "" if first else f": gossamer why {url} explains"
        raise NotArchived(f"{url} was not archived{when}{later}{remedy}")
    return url, iterate_captures(crawl.store(), crawl.id, url, end)


def read_version(crawl: OpenCrawl, text: str, at: float | None = None) -> Version:
    """Return the newest capture of the URL *text*; with *at*, the newest until then.

    Raise GossamerError if there is none or it cannot be read, and BadSettings for an invalid URL.
    """
    _, rows = find_versions(crawl, text, at)
    row = next(rows)
    return Version(row, read_row(crawl, row))


def read_row(crawl: OpenCrawl, row: CaptureRow) -> Capture:
    """Return the capture at the position of *row*, with the body of the earlier capture for a
    revisit record whose body is known.

    Raise GossamerError if a record cannot be read.
    """
    capture = _read_record(crawl, row)
    if capture.refers_to is None or not row.body_at:
        return capture
    url = row.body_url or row.url
    body_row = crawl.store().table(CaptureRow).get((row.crawl, url), row.body_at)
    if body_row is None:
        raise GossamerError(
            f"the body of this capture is that of {url} at {instant(row.body_at)}, whose row is "
            "not stored any more"
        )
    return capture.with_body_of(_read_record(crawl, body_row))


def _read_record(crawl: OpenCrawl, row: CaptureRow) -> Capture:
    try:
        capture = read_capture(_locate(crawl, row), row.offset, row.length)
    except Missing:  # The file was completed or uploaded since it was found.
        capture = read_capture(_locate(crawl, row), row.offset, row.length)
    if capture.url != row.url:
        raise BadCapture(f"{row.file} at byte {row.offset}: the record is one of another URL")
    return capture


def _locate(crawl: OpenCrawl, row: CaptureRow) -> str:
    """Return the URI of the file of a capture. Raise Missing if no place has it."""
    volume, name = find_file(crawl.warc, [Volume(url) for url in crawl.volumes], row.file)
    return volume.uri(name)


def read_body(crawl: OpenCrawl, text: str, at: float | None = None) -> tuple[str, bytes]:
    """Return the URL *text* in the form of *crawl*, and the body of its newest capture without
    content codings; with *at*, of the newest until then.

    Raise NotFound if the capture has no body, BadSettings if it has more than MAX_BODY_BYTES, and
    the errors of `read_version`.
    """
    version = read_version(crawl, text, at)
    if version.capture.refers_to is not None:
        raise NotFound(f"{version.row.url}: the body of this capture was not stored")
    data = version.capture.decode_body(MAX_BODY_BYTES + 1)
    if len(data) > MAX_BODY_BYTES:
        raise BadSettings(
            f"{version.row.url}: the body has more than {size(MAX_BODY_BYTES)}; gossamer show "
            "prints it"
        )
    return version.row.url, data


def decode_file(capture: Capture, limit: int) -> bytes:
    """Return at most *limit* bytes of the decoded body of a *capture*, which may be a gzip file."""
    found = capture.decode_body(limit)
    # A server may compress a file without a Content-Encoding.
    return decode(found, "gzip", limit).data if found.startswith(GZIP_MAGIC) else found
