"""The rows of the archive: the committed segments, the position of each capture, and the first
response with each payload."""

from msgspec import field

from gossamer.store import Row

STANDALONE_WRITER = "archive"
"""The only writer of a standalone crawl, with its files in the folder itself."""


class SegmentRow(Row, frozen=True, kw_only=True):
    """The segments of one writer at the last commit, from which a restart continues."""

    table = "archive_segments"
    partition_key = "writer"
    about = ()

    writer: str
    serial: int = 0
    """The highest serial in use; a file with a higher one was never committed."""
    open: dict[str, int] = field(default_factory=dict)
    """Final name of an open segment → its committed length in bytes. After a crash the file may be
    longer."""
    full: tuple[str, ...] = ()
    """Committed segments that are full, with a name that may still end in `.open`."""
    waiting: dict[str, int] = field(default_factory=dict)
    """Complete file in the folder → its bytes, until it is in a volume and its captures are
    published. Empty without volumes."""
    stored: dict[str, str] = field(default_factory=dict)
    """Waiting file → URL of the volume that has it."""
    fault: str = ""
    """Why no volume takes the waiting files, or why the archive is paused; "" while all is well."""


class UnpublishedRow(Row, frozen=True):
    """A capture that is published once its file is in a volume."""

    table = "archive_unpublished"
    partition_key, sort_key = "file", "offset"
    about = ()

    file: str
    """The file as in `CaptureRow.file`."""
    offset: int
    event: bytes
    """The event, as JSON, without the URI."""


class CaptureRow(Row, frozen=True):
    """The position of one capture, as on `pages.archived`, by URL."""

    table = "captures"
    partition_key, sort_key = ("crawl", "url"), "fetched_at"
    newest_first = True
    decides = True
    kept_for, aged_by = "archive.captures_age", "fetched_at"
    about = ("url",)
    # Written after the segment's length, so repair never truncates the capture of a row.

    crawl: str
    url: str
    fetched_at: float
    status: int
    file: str
    offset: int
    length: int
    digest: str
    """Digest of the body as received, or of the body that a revisit record omits."""
    record_id: str = ""
    """WARC-Record-ID of the response with that body: this capture, or an earlier one."""
    body_url: str = ""
    """URL of that response; "" if it is the URL of this capture."""
    body_at: float = 0.0
    """Time of that response; 0 if it is unknown."""
    record_type: str = "response"
    """`response` or `revisit`."""
    content_type: str = ""
    """The Content-Type header of the response."""
    size: int = 0
    """Bytes of the body as received; 0 for a 304."""


class PayloadRow(Row, frozen=True):
    """The first response with a payload, by digest. Later captures of the payload refer to it.

    The row is dropped with that response: a revisit record must not refer to a lost record.
    """

    table = "payloads"
    partition_key = "crawl", "digest"
    decides = True
    kept_for, aged_by = "archive.captures_age", "fetched_at"
    about = ("url",)
    # Written after the segment's length, as the row of the capture.

    crawl: str
    digest: str
    """WARC-Payload-Digest of the body as received."""
    url: str
    fetched_at: float
    record_id: str
    shared_at: float = 0.0
    """Time of the newest capture of another URL that refers to it; 0 for none."""
