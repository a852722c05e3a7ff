"""The rows of captures and payloads, and the body that a revisit record refers to.

They are written after the length of their segment, so repair never truncates the record of a row.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from gossamer.erasures import erase_rows
from gossamer.events import Event, PageArchived, PageFetched
from gossamer.runtime.processor import Key
from gossamer.services.archive.records import Body, Capture, is_not_modified, is_shared
from gossamer.services.archive.rows import CaptureRow, PayloadRow
from gossamer.store import Store, iterate_partition
from gossamer.web.http import payload_digest

MAX_CAPTURES_SEARCHED = 10
"""Captures of a URL that are searched for the body that a 304 omits."""


class CaptureRows:
    """Finds, records and erases captures by URL, and payloads by digest."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._captures, self._payloads = store.table(CaptureRow), store.table(PayloadRow)

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows that the archive will read for *events*."""
        pages = (event for event in events if isinstance(event, PageFetched) and is_shared(event))
        yield [(PayloadRow, (page.crawl, payload_digest(page.body)), "") for page in pages]

    def has(self, page: PageFetched) -> bool:
        """Return whether there is a capture of the URL of *page* at its time."""
        return self._captures.get((page.crawl, page.visit.url), page.started_at) is not None

    def find_body(self, page: PageFetched, digest: str) -> Body | None:
        """Return the body that the record of *page* can omit: that of a 304, from the last capture
        with a body, or an equal one."""
        if is_shared(page):
            row = self._payloads.get((page.crawl, digest))
            # If the record is redelivered, the row may be of this visit, or of a later one.
            if row is None or row.fetched_at >= page.started_at:
                return None
            return Body(row.record_id, row.url, row.fetched_at, row.digest)
        if not is_not_modified(page):
            return None
        # Only captures from before this visit are read: if the record is redelivered, the visit has
        # a capture already.
        key = page.crawl, page.visit.url
        earlier = self._captures.scan(key, after=page.started_at, limit=MAX_CAPTURES_SEARCHED)
        return next((body for row in earlier if (body := _body_of(row))), None)

    def record(self, page: PageFetched, archived: PageArchived, captured: Capture) -> None:
        """Record the capture of *page*, and its payload or the reference to one."""
        self._captures.put(_capture_row(archived, captured.body, len(page.body)))
        if is_shared(page) and captured.kind == "response":
            self._record_payload(page, captured.body)
        elif captured.body.url not in ("", page.visit.url):
            self._record_reference(page, captured.body)

    def _record_payload(self, page: PageFetched, body: Body) -> None:
        """Let later captures of the payload refer to *body*, unless they refer to another."""
        if self._payloads.get((page.crawl, body.digest)) is None:
            row = PayloadRow(page.crawl, body.digest, body.url, body.fetched_at, body.record_id)
            self._payloads.put(row)

    def _record_reference(self, page: PageFetched, body: Body) -> None:
        """Note that *page* refers to the *body* of another URL, so that retention keeps it."""
        row = self._payloads.get((page.crawl, body.digest))
        if row and row.record_id == body.record_id and row.shared_at < page.started_at:
            self._payloads.put(replace(row, shared_at=page.started_at))

    def erase(self, crawl: str, urls: Iterable[str]) -> Counter[str]:
        """Erase all rows of *urls*; return the number of erased rows by table."""
        counts = Counter[str]()
        for url in urls:
            captures = [*iterate_partition(self._captures, (crawl, url))]
            keys = {(crawl, row.digest) for row in captures}
            payloads = self._payloads.get_all([(key, "") for key in keys])
            counts += erase_rows(self._store, captures, url.__eq__, payloads)
        return counts


def _body_of(row: CaptureRow) -> Body | None:
    url = row.body_url or row.url
    if row.record_type == "revisit":
        known = row.body_at and row.status in (200, 304)
        return Body(row.record_id, url, row.body_at, row.digest) if known else None
    # Errors and redirects do not have the body of a 304.
    is_page = 200 <= row.status < 300
    return Body(row.record_id, url, row.fetched_at, row.digest) if is_page else None


def _capture_row(archived: PageArchived, body: Body, size: int) -> CaptureRow:
    return CaptureRow(
        crawl=archived.crawl,
        url=archived.url,
        fetched_at=archived.fetched_at,
        status=archived.status,
        file=archived.file,
        offset=archived.offset,
        length=archived.length,
        digest=archived.digest,
        record_id=body.record_id,
        body_url=body.url if body.url != archived.url else "",
        body_at=body.fetched_at,
        record_type=archived.record_type,
        content_type=archived.content_type,
        size=size,
    )
