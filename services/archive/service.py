"""The archive's processor: appends captures to segments, and commits them with store and log.

Pages that ask not to be archived, in a header or a meta element, are skipped. So are pages whose
use for a purpose of the crawl is excluded, and walls, unless a setting archives them. Meta elements
are searched at the beginning of the markup, without the parser, because the parser and the archive
work on a page at the same time. All statements about the use of a page are stored with its capture.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import structlog
from msgspec.structs import replace

from gossamer.erasures import Erasures
from gossamer.events import (
    CrawlDefined,
    Event,
    PageArchived,
    PageFetched,
    Purpose,
    VisitsErased,
)
from gossamer.events.topics import PAGES_FETCHED
from gossamer.log import MAX_POLL_RECORDS
from gossamer.relevance import Facts, parse_relevance
from gossamer.runtime.processor import Key, Output, Processor
from gossamer.settings import ArchiveSettings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.telemetry import count, set_gauge
from gossamer.web.coding import decode
from gossamer.web.directives import find_in_markup, find_signals, meta_names, parse_directives
from gossamer.web.http import all_values, first_value, joined_values, payload_digest
from gossamer.web.scope import Found
from gossamer.web.sniffing import whole_type
from gossamer.web.usage import (
    Action,
    UsagePolicy,
    is_reserved,
    judge,
    limit_statements,
    names_of_meta,
    policy_of,
    read_meta,
)
from services.archive.buffer import Buffer
from services.archive.records import (
    Body,
    Capture,
    capture,
    dns,
    is_not_modified,
    is_shared,
    is_wanted,
    warcinfo,
)
from services.archive.retention import Retention
from services.archive.rows import CaptureRow, PayloadRow, SegmentRow
from services.archive.segments import (
    SUFFIXES,
    Segment,
    complete,
    file_name,
    repair,
    translate_errors,
)
from services.archive.uploading import Start, start_thread

MAX_CAPTURES_SEARCHED = 10
"""Captures of a URL that are searched for the body that a 304 omits."""
STANDALONE_WRITER = "archive"
"""The only writer of a standalone crawl, with its files in the folder itself."""
CAPTURED_PURPOSES = (Purpose.PAGE, Purpose.ROBOTS, Purpose.USAGE, Purpose.REQUISITE)
"""The purposes of visits whose captures have a row. Only those of pages are published."""
MAX_HEAD_BYTES = 64 << 10
"""Bytes of the decoded body that are searched for meta elements."""
TYPICAL_CAPTURE_BYTES = 64 << 10
"""Bytes of a capture, generously, by which the last space is divided into steps."""

logger = structlog.get_logger()


class Archive(Processor):
    """Writes fetched pages to WARC files in *folder*, which name *contact* as the operator.

    Pages that forbid the crawler *product* to archive them are not archived. In a fleet each
    instance is a *writer*, with a folder of that name inside *folder*.
    """

    name = "archive"
    reads = (PAGES_FETCHED,)

    def __init__(
        self,
        folder: Path,
        store: Store,
        settings: ArchiveSettings,
        contact: str,
        product: str,
        writer: str = "",
        start_upload: Start = start_thread,
    ) -> None:
        """Raise BadSettings if a volume cannot be used."""
        self._root, self._folder = folder, folder / writer
        self._prefix = f"{writer}/" if writer else ""
        self._settings, self._contact, self._writer = settings, contact, writer or STANDALONE_WRITER
        self._product, self._not_archived = product, frozenset[str](settings.not_archived)
        self._wanted = frozenset[str](settings.records)
        self._claimant = Claimant(store, self.name)
        self._rows, self._captures = store.table(SegmentRow), store.table(CaptureRow)
        self._payloads = store.table(PayloadRow)
        self._erasures = Erasures(store, self.name)
        self._buffer = Buffer(
            folder,
            writer,
            store,
            self._erasures,
            settings.volumes,
            settings.buffer,
            start_upload,
        )
        self._may_pause = self._buffer.is_used or bool(writer)
        """Whether a full disk pauses the archive, rather than ends a crawl on the same disk."""
        self._is_ending = False
        self._left: int | None = None
        """Bytes that may still be written to the folder. None if a full disk ends the crawl."""
        self._settled = SegmentRow(writer=self._writer)
        self._crawl: CrawlDefined | None = None
        """The definition of the crawl."""
        self._usage: UsagePolicy | None = None
        """The purposes of the crawl."""
        self._serial = 0
        self._open: dict[str, Segment] = {}
        """Crawl → its open segment."""
        self._full: list[Segment] = []
        self._retention = Retention(
            self._folder, self._prefix, self._writer, store, settings, self._unfinished
        )
        self._addresses = dict[str, set[tuple[str, str]]]()
        """Crawl → host keys with their addresses, as recorded in its open segment."""

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim the writer's name, and go back to the last commit.

        Pages written since that commit are delivered again, perhaps to another writer.
        """
        self.release()
        self._claimant.claim([self._writer], now)
        self.restart(partitions, now)

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Go back to the last commit."""
        self.release()
        self._erasures.load()
        self._retention.restart(now)
        row = self._rows.get(self._writer)
        with translate_errors(self._folder):
            self._serial = repair(self._folder, row)
            self._buffer.load(row)
        self._settled = self._current_row()
        self._rows.put(self._settled)

    def handle(self, event: Event, now: float) -> Output:
        """Write the capture of a page; return the event with its position."""
        if isinstance(event, CrawlDefined):
            self._crawl, self._usage = event, policy_of(event)
        if isinstance(event, VisitsErased):
            self._erase(event)
        if not isinstance(event, PageFetched) or self._is_irrelevant(event):
            return []
        if self._erasures.covers(event.visit) or not is_wanted(event, self._wanted):
            return []
        event, robots_meta = add_meta_statements(event, self._product)
        is_hidden_wall = event.wall is not None and not self._settings.walls
        if (
            is_hidden_wall
            or self._is_excluded(event)
            or is_forbidden(event, robots_meta, self._not_archived, self._product)
        ):
            count("gossamer_not_archived_total")
            return []
        self._finish_old_segments(now)
        segment = self._open.get(event.crawl)
        file = segment.file if segment else self._next_file(event.crawl, now)
        # The records are made before anything is written, since an error here sends the page to the
        # dead letters.
        digest = payload_digest(event.body)
        captured = capture(event, file, digest, self._find_body(event, digest), self._wanted)
        segment = segment or self._begin_segment(file, event, now)
        records = captured.response + captured.others + self._dns(event, file)
        offset = segment.append(records)
        count("gossamer_archived_bytes_total", segment.size - offset)
        if segment.size > self._settings.segment_size:
            self._full.append(self._open.pop(event.crawl))
        if event.visit.purpose not in CAPTURED_PURPOSES:
            return []
        archived = _make_event(event, captured, self._prefix + file, offset, now)
        self._captures.put(_capture_row(archived, captured.body, len(event.body)))
        if is_shared(event) and captured.kind == "response":
            self._record_payload(event, captured.body)
        elif captured.body.url not in ("", event.visit.url):
            self._record_reference(event, captured.body)
        if event.visit.purpose is not Purpose.PAGE:
            return []
        if self._buffer.is_used:
            self._buffer.hold_back(archived)
            return []
        return [replace(archived, uri=(self._root.absolute() / archived.file).as_uri())]

    def _dns(self, page: PageFetched, file: str) -> bytes:
        """Return a record of the address of *page*'s host, if the segment has none."""
        looked_up = page.host, page.address
        if "dns" not in self._wanted or looked_up in self._addresses[page.crawl]:
            return b""
        self._addresses[page.crawl].add(looked_up)
        return dns(page, file)

    def _erase(self, event: VisitsErased) -> None:
        """Erase the rows of captures and payloads. `Retention` erases the records in the files."""
        captures_erased = payloads_erased = 0
        for url in event.urls:
            key, after = (event.crawl, url), None
            while rows := self._captures.scan(key, after):
                after, captures_erased = rows[-1].fetched_at, captures_erased + len(rows)
                payloads_erased += self._drop_payloads(rows)
            if after is not None:
                self._captures.drop(key)
        erased = {CaptureRow.table: captures_erased, PayloadRow.table: payloads_erased}
        self._erasures.add(event.erasure, erased, event.part)
        self._retention.look()

    def _drop_payloads(self, captures: Iterable[CaptureRow]) -> int:
        """Drop the rows of payloads whose first response is one of *captures*; return how many."""
        dropped = 0
        for capture_row in captures:
            key = capture_row.crawl, capture_row.digest
            payload = self._payloads.get(key) if capture_row.record_type == "response" else None
            if payload and payload.record_id == capture_row.record_id:
                self._payloads.drop(key)
                dropped += 1
        return dropped

    def _is_irrelevant(self, page: PageFetched) -> bool:
        """Return whether *page* is irrelevant to the crawl, by its URL and content type."""
        has_content = page.status == 304 or 200 <= page.status < 300
        relevant = self._crawl.relevant if self._crawl else ""
        if not relevant or not has_content or page.visit.purpose is not Purpose.PAGE:
            return False
        kind = None if page.status == 304 else whole_type(page.headers, page.body)
        facts = Facts(Found(page.visit.url, page.visit.depth), kind)
        return parse_relevance(relevant).evaluate(facts).inside is False

    def _is_excluded(self, page: PageFetched) -> bool:
        """Return whether statements about the use of *page* exclude it from the crawl."""
        if self._usage is None or not page.visit.purpose.is_collected:
            return False
        return self._usage.decide(judge(page.usage_statements)).action is not Action.FETCH

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows that `handle` will read for *events*."""
        pages = (event for event in events if isinstance(event, PageFetched) and is_shared(event))
        yield [(PayloadRow, (page.crawl, payload_digest(page.body)), "") for page in pages]

    def _find_body(self, page: PageFetched, digest: str) -> Body | None:
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

    def _next_file(self, crawl: str, now: float) -> str:
        suffix = SUFFIXES[self._settings.compression]
        return file_name(crawl, self._serial + 1, self._writer, now, suffix)

    def _begin_segment(self, file: str, page: PageFetched, now: float) -> Segment:
        segment = self._open[page.crawl] = Segment(self._folder, file, now)
        self._serial += 1
        self._addresses[page.crawl] = set()
        segment.append(warcinfo(page, self._crawl, file, now, self._contact))
        count("gossamer_archived_bytes_total", segment.size)
        return segment

    def _finish_old_segments(self, now: float) -> None:
        for crawl, segment in list(self._open.items()):
            if now >= segment.begun_at + self._settings.segment_age:
                self._full.append(self._open.pop(crawl))

    def room(self) -> int:
        """Return how many records may be handled now: 0 while the disk or the buffer is full."""
        if self._is_ending:
            return 0
        if not self._may_pause:
            return MAX_POLL_RECORDS
        was_paused, self._left = self._is_paused(), self._buffer.left(self._unfinished_bytes())
        if self._is_paused() != was_paused:
            logger.warning("paused" if self._is_paused() else "continues", reason=self.limitation())
            set_gauge("gossamer_archive_paused", self._is_paused())
        return (
            0 if self._left <= 0 else min(1 + self._left // TYPICAL_CAPTURE_BYTES, MAX_POLL_RECORDS)
        )

    def _unfinished_bytes(self) -> int:
        return sum(segment.size for segment in (*self._full, *self._open.values()))

    def _is_paused(self) -> bool:
        return self._left is not None and self._left <= 0

    def limitation(self) -> str:
        """Return why the archive is paused, or ""."""
        if not self._is_paused():
            return ""
        cause = self._buffer.fault or "the buffer or its disk is full"
        return f"the archive is paused until {self._folder} has space: {cause}"

    def note(self) -> str:
        """Return why complete files wait, or the progress of an erasure or of retention, or ""."""
        return self._waiting_note() or self._retention.note()

    def _waiting_note(self) -> str:
        if not self._buffer.fault:
            return ""
        return (
            f"{len(self._buffer.waiting)} WARC files wait in {self._folder}: {self._buffer.fault}"
        )

    def end(self) -> None:
        """Finish the open segments, and handle no more records."""
        self._is_ending = True
        self._finish_all_segments()

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to do after `end`, or no volume takes a file."""
        is_complete = not (self._full or self._settled.full or self._settled.open)
        is_stored = is_complete and self._buffer.due() is None
        return is_stored or bool(self._buffer.fault)

    def _finish_all_segments(self) -> None:
        self._full += self._open.values()
        self._open = {}

    def _unfinished(self) -> set[str]:
        """Return the names of all segments that are not complete, or not in a volume yet."""
        files = {segment.file for segment in (*self._full, *self._open.values())}
        return files | {*self._settled.full, *self._settled.open, *self._buffer.waiting}

    def _must_finish_segments(self) -> bool:
        """Return whether only the completion of open segments can free space."""
        is_stuck = self._is_paused() and not (self._buffer.waiting or self._full)
        return self._buffer.is_used and is_stuck and bool(self._open)

    def due(self) -> float | None:
        """Return when an open segment is full by age, or when buffer or retention have work; 0
        while full segments are to be renamed."""
        if self._settled.full or self._full or self._must_finish_segments():
            return 0.0
        times = [segment.begun_at + self._settings.segment_age for segment in self._open.values()]
        times += [at for at in (self._buffer.due(), self._retention.due()) if at is not None]
        return min(times, default=None)

    def wake(self, now: float, most: int = MAX_POLL_RECORDS) -> Output:
        """Finish segments that are full by age, and publish captures of uploaded files; `settle`
        completes segments."""
        self._finish_old_segments(now)
        if self._retention.wake(now) or self._must_finish_segments():
            self._finish_all_segments()
        return self._buffer.wake(now, most)

    def settle(self) -> None:
        """Sync the segments, and store their lengths."""
        # The loop calls `settle` again only after it has committed the last settled row.
        self._buffer.settle()
        if self._current_row() == self._settled:
            return
        self._complete(self._settled.full)
        current = self._current_row()
        while self._full:
            self._full[0].sync()
            self._full.pop(0).close()
        for segment in self._open.values():
            segment.sync()
        self._rows.put(current)
        self._settled = current

    def close(self) -> None:
        """Complete the settled segments; called at the end of a run, after the last commit.

        Other segments keep the suffix `.open`, and the next start repairs them.
        """
        current = self._current_row()
        if current == replace(self._settled, full=()):
            self._complete((*self._settled.full, *current.open))
        self.release()

    def _current_row(self) -> SegmentRow:
        return SegmentRow(
            writer=self._writer,
            serial=self._serial,
            open={segment.file: segment.size for segment in self._open.values()},
            full=tuple(full.file for full in self._full),
            waiting=dict(self._buffer.waiting),
            stored=dict(self._buffer.stored),
            fault=self.limitation() or self._waiting_note(),
        )

    def _complete(self, files: Iterable[str]) -> None:
        for file in files:
            complete(self._folder, file)
            self._buffer.add(file)

    def release(self) -> None:
        """Close the files without completing them; the next start repairs them."""
        for segment in (*self._full, *self._open.values()):
            segment.close()
        self._open, self._full = {}, []


def _make_event(
    page: PageFetched, captured: Capture, file: str, offset: int, now: float
) -> PageArchived:
    return PageArchived(
        crawl=page.crawl,
        at=now,
        url=page.visit.url,
        site=page.site,
        fetched_at=page.started_at,
        status=page.status,
        content_type=first_value(page.headers, "content-type"),
        digest=captured.body.digest,
        record_type=captured.kind,
        file=file,
        offset=offset,
        length=len(captured.response),
        trace=page.visit.trace,
        usage=judge(page.usage_statements),
        usage_statements=page.usage_statements,
    )


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


def add_meta_statements(page: PageFetched, product: str) -> tuple[PageFetched, list[str]]:
    """Return *page* with the statements of its meta elements about its use, and the contents of its
    robots meta elements for *product*."""
    if page.visit.purpose is not Purpose.PAGE or not 200 <= page.status < 300:
        return page, []
    codings = joined_values(page.headers, "content-encoding")
    head = decode(page.body, codings, MAX_HEAD_BYTES).data
    if b"<meta" not in head.lower():
        return page, []
    found = list(find_in_markup(head.decode("latin-1"), names_of_meta(product)))
    statements = (*page.usage_statements, *read_meta(found, product))
    page = replace(page, usage_statements=limit_statements(statements))
    return page, [content for name, content in found if name in meta_names(product)]


def is_forbidden(
    page: PageFetched, robots_meta: Iterable[str], forbidding: frozenset[str], product: str
) -> bool:
    """Return whether *page* has one of the *forbidding* signals for the crawler *product*, in its
    headers, its statements about usage, or the contents of robots meta elements."""
    values = (*all_values(page.headers, "x-robots-tag"), *robots_meta)
    found = parse_directives(values, product)
    signals = find_signals(found, is_reserved(page.usage_statements), False)
    return not forbidding.isdisjoint(signals)
