"""What the archive remembers of its segments: enough to tell what counts after a crash."""

from gossamer.store import Row

WRITER = "archive"


class SegmentRow(Row, frozen=True, kw_only=True):
    """How things stood when the log last moved. One row a writer."""

    table = "archive_segments"
    partition_key = "writer"

    writer: str = WRITER
    serial: int = 0
    """The highest that is taken; a file with a higher one was never committed."""
    file: str = ""
    """The open segment, named as it will be when complete; empty if there is none."""
    length: int = 0
    """How many bytes of it count."""
    full: tuple[str, ...] = ()
    """Segments that count whole, and whose open mark may not have been taken off yet."""
