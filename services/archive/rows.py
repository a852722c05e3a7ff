"""The rows of the archive: what of its segments is committed, and where each capture lies."""

from msgspec import field

from gossamer.store import Row


class SegmentRow(Row, frozen=True, kw_only=True):
    """The segments of one writer as of the last commit; what a restart goes by."""

    table = "archive_segments"
    partition_key = "writer"

    writer: str
    serial: int = 0
    """The highest serial in use; a file with a higher one was never committed."""
    open: dict[str, int] = field(default_factory=dict)
    """The open segments, named as they will be when complete, and how many bytes of each are
    committed; a crash may have left more in the file."""
    full: tuple[str, ...] = ()
    """Segments that are committed whole, but may still be called `.open`."""


class CaptureRow(Row, frozen=True):
    """Where one capture of a URL lies: the same as on `pages.archived`, to be found by URL."""

    table = "captures"
    partition_key, sort_key = ("crawl", "url"), "fetched_at"
    newest_first = True
    decides = True
    kept_for, aged_by = "archive.captures_age", "fetched_at"
    # Written after the segment's length: what a row points to is never cut off by repair.

    crawl: str
    url: str
    fetched_at: float
    status: int
    file: str
    offset: int
    length: int
    digest: str
    """Of the body as received; of a 304 that of the body which it leaves out."""
    record_id: str = ""
    """The WARC-Record-ID of the response with that body: this capture's, or an earlier one's."""
    body_at: float = 0.0
    """When that response was fetched; 0 if it is not known."""
