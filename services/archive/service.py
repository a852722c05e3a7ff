"""The archive's processor: appends captures to segments, and commits them with store and log.

`exclusions` decides what is archived. All statements about the use of a page are stored with its
capture.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import structlog
from msgspec.structs import replace

from gossamer.crawl import accept
from gossamer.erasures import Erasures, tombstones_of
from gossamer.events import (
    CrawlDefined,
    Event,
    PageArchived,
    PageFetched,
    Purpose,
    VisitsErased,
)
from gossamer.events.topics import PAGES_ARCHIVED, PAGES_FETCHED
from gossamer.log import MAX_POLL_RECORDS
from gossamer.runtime.processor import Key, Output, Processor
from gossamer.services.archive.buffer import Buffer
from gossamer.services.archive.capture_rows import CaptureRows
from gossamer.services.archive.exclusions import Exclusions
from gossamer.services.archive.index import Place, index_records, make_line
from gossamer.services.archive.records import RESPONSE, Capture, capture, date, dns, warcinfo
from gossamer.services.archive.retention import Retention
from gossamer.services.archive.rows import STANDALONE_WRITER, SegmentRow
from gossamer.services.archive.segments import (
    SUFFIXES,
    Segment,
    complete,
    file_name,
    repair,
    translate_errors,
)
from gossamer.services.archive.uploading import Start, start_thread
from gossamer.settings import ArchiveSettings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.telemetry import count, set_gauge
from gossamer.web.http import first_value, payload_digest
from gossamer.web.usage import judge

CAPTURED_PURPOSES = (Purpose.PAGE, Purpose.ROBOTS, Purpose.USAGE, Purpose.REQUISITE)
"""The purposes of visits whose captures have a row. Only those of pages are published."""
FOLLOWED_PURPOSES = (Purpose.ROBOTS, Purpose.USAGE)
"""The purposes of visits whose intermediate captures have a row, too: `gossamer usage` follows the
redirects."""
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
        self._wanted = frozenset[str](settings.records)
        self._claimant = Claimant(store, self.name)
        self._rows, self._captures = store.table(SegmentRow), CaptureRows(store)
        self._exclusions = Exclusions(settings, product)
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
        self._definitions = dict[str, CrawlDefined]()
        """Crawl → its definition."""
        self._serial = 0
        self._open: dict[str, Segment] = {}
        """Crawl → its open segment."""
        self._full: list[Segment] = []
        self._retention = Retention(
            self._folder, self._prefix, self._writer, store, settings, self._unfinished_files
        )
        self._addresses = dict[str, set[tuple[str, str]]]()
        """Crawl → host keys with their addresses, as recorded in its open segment."""
        self._lines = dict[str, list[str]]()
        """Segment that is not complete → the lines of its index."""

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
        """Write the capture of a page; return the event with its position. Erase captures; return
        their tombstones."""
        match event:
            case CrawlDefined():
                self._define(event)
            case VisitsErased():
                return self._erase(event)
            case PageFetched() if not self._is_left_out(event):
                if page := self._exclusions.admit(event):
                    return self._archive(page, now)
        return []

    def _define(self, crawl: CrawlDefined) -> None:
        accept(crawl, self._definitions.get(crawl.crawl))
        self._definitions[crawl.crawl] = crawl
        self._exclusions.define(crawl)
        if crawl.removed and (segment := self._open.pop(crawl.crawl, None)):
            self._full.append(segment)

    def _is_left_out(self, page: PageFetched) -> bool:
        """Return whether *page* was erased, is of a removed crawl, or is an imported capture that
        the archive has."""
        if (crawl := self._definitions.get(page.crawl)) and crawl.removed:
            return True
        is_imported = page.visit.imported is not None
        return self._erasures.covers(page.visit) or (is_imported and self._captures.has(page))

    def _archive(self, page: PageFetched, now: float) -> Output:
        """Append the records of *page*; return the event to publish now, if any."""
        self._finish_old_segments(now)
        segment = self._open.get(page.crawl)
        file = segment.file if segment else self._next_file(page.crawl, now)
        # The records are made before anything is written, since an error here sends the page to the
        # dead letters.
        digest = payload_digest(page.body)
        captured = capture(page, file, digest, self._captures.find_body(page, digest), self._wanted)
        segment = segment or self._begin_segment(file, page, now)
        lookup = self._dns(page, file)
        offset = segment.append(captured.response + captured.others + lookup)
        self._lines[file].append(_make_line(page, captured, file, offset))
        if lookup:
            self._lines[file] += index_records([lookup], file, segment.size - len(lookup))
        count("gossamer_archived_bytes_total", segment.size - offset, crawl=page.crawl)
        if segment.size > self._settings.segment_size:
            self._full.append(self._open.pop(page.crawl))
        purposes = FOLLOWED_PURPOSES if page.intermediate else CAPTURED_PURPOSES
        if page.visit.purpose not in purposes:
            return []
        archived = _make_event(page, captured, self._prefix + file, offset, now)
        self._captures.record(page, archived, captured)
        if page.visit.purpose is not Purpose.PAGE:
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

    def _erase(self, event: VisitsErased) -> Output:
        """Erase the rows of captures and payloads; return a tombstone for each URL. `Retention`
        erases the records in the files, unless the crawl is removed: its files stay."""
        erased = self._captures.erase(event.crawl, event.urls)
        if event.removal:
            return []
        self._erasures.add(event.erasure, erased, event.part)
        self._retention.look()
        return tombstones_of(event, PAGES_ARCHIVED.name)

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows that `handle` will read for *events*."""
        return self._captures.reads_of(events)

    def _next_file(self, crawl: str, now: float) -> str:
        suffix = SUFFIXES[self._settings.compression]
        return file_name(crawl, self._serial + 1, self._writer, now, suffix)

    def _begin_segment(self, file: str, page: PageFetched, now: float) -> Segment:
        segment = self._open[page.crawl] = Segment(self._folder, file, now)
        self._serial += 1
        self._addresses[page.crawl], self._lines[file] = set(), []
        segment.append(warcinfo(page, self._definitions.get(page.crawl), file, now, self._contact))
        count("gossamer_archived_bytes_total", segment.size, crawl=page.crawl)
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
        was_paused = self._is_paused()
        self._left = self._buffer.measure_space(self._unfinished_bytes())
        if self._is_paused() != was_paused:
            if self._is_paused():
                logger.warning(
                    "archive paused: its disk or buffer is full", reason=self.limitation()
                )
            else:
                logger.warning("archive continues: its disk and buffer have space")
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

    def _unfinished_files(self) -> set[str]:
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
            complete(self._folder, file, self._lines.pop(file, None))
            self._buffer.add(file)

    def release(self) -> None:
        """Close the files without completing them; the next start repairs them."""
        for segment in (*self._full, *self._open.values()):
            segment.close()
        self._open, self._full, self._lines = {}, [], {}


def _make_line(page: PageFetched, captured: Capture, file: str, offset: int) -> str:
    """Return the line of the index about the first record of a capture."""
    at, place = date(page.started_at), Place(file, offset, len(captured.response))
    digest, head = captured.body.digest or None, captured.head
    return str(make_line(captured.kind, page.visit.url, at, RESPONSE, digest, head, place))


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
