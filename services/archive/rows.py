"""What the archive remembers of its segments: enough to tell what counts after a crash."""

from gossamer.store import Row


class SegmentRow(Row, frozen=True, kw_only=True):
    """How things stood when the log last moved. One row a writer."""

    table = "archive_segments"
    partition_key = "writer"

    writer: str
    serial: int = 0
    """The highest that is taken; a file with a higher one was never committed."""
    file: str = ""
    """The open segment, named as it will be when complete; empty if there is none."""
    length: int = 0
    """How many bytes of it count."""
    full: tuple[str, ...] = ()
    """Segments that count whole, and whose open mark may not have been taken off yet."""


class CaptureRow(Row, frozen=True):
    """Where one capture of a URL lies; what `pages.archived` says, for a look at one URL."""

    table = "captures"
    partition_key, sort_key = "url", "fetched_at"
    newest_first = True

    url: str
    fetched_at: float
    status: int
    file: str
    offset: int
    length: int
    digest: str
