"""The processor: appends captures to the open segment, and keeps files, store and log in step."""

from pathlib import Path

from msgspec.structs import replace

from gossamer.events import Event, PageArchived, PageFetched, Purpose
from gossamer.events.topics import PAGES_FETCHED
from gossamer.runtime.processor import Answer, Processor
from gossamer.settings import ArchiveSettings
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.web.http import first_value
from services.archive.files.repair import repair
from services.archive.files.segment import Segment, complete, file_name, translate_errors
from services.archive.records import Capture, capture, warcinfo
from services.archive.rows import CaptureRow, SegmentRow

STANDALONE_WRITER = "archive"
"""The writer where there is only one: its files lie in the folder itself."""


class Archive(Processor):
    """Writes what was fetched to WARC files in *folder*, with *contact* as their operator.

    In a fleet each instance is a *writer*, with a folder of that name inside *folder*.
    """

    name = "archive"
    reads = (PAGES_FETCHED,)

    def __init__(
        self,
        folder: Path,
        store: Store,
        settings: ArchiveSettings,
        contact: str,
        writer: str = "",
    ) -> None:
        self._folder, self._prefix = folder / writer, f"{writer}/" if writer else ""
        self._settings, self._contact, self._writer = settings, contact, writer or STANDALONE_WRITER
        self._rows, self._captures = store.table(SegmentRow), store.table(CaptureRow)
        self._settled = SegmentRow(writer=self._writer)
        self._serial = 0
        self._segment: Segment | None = None
        self._full: list[Segment] = []

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Go back to the last commit: pages written since come again, perhaps to another writer."""
        self.release()
        with translate_errors(self._folder):
            self._serial = repair(self._folder, self._rows.get(self._writer))
        self._settled = SegmentRow(writer=self._writer, serial=self._serial)
        self._rows.put(self._settled)

    def handle(self, event: Event, now: float) -> Answer:
        """Write the capture of a page; return where it lies."""
        if not isinstance(event, PageFetched):
            return []
        # Before anything is written: a page that no record can hold goes to the dead letters.
        made = capture(event)
        segment = self._segment or self._begin(event, now)
        offset = segment.append(made.response + made.request + made.metadata)
        count("gossamer_archived_bytes_total", segment.size - offset)
        if segment.size > self._settings.segment_size:
            self._full.append(segment)
            self._segment = None
        if event.visit.purpose is not Purpose.PAGE:
            return []
        archived = _archived(event, made, self._prefix + segment.file, offset, now)
        self._captures.put(_capture_row(archived))
        return [archived]

    def _begin(self, page: PageFetched, now: float) -> Segment:
        segment = Segment(self._folder, file_name(self._serial + 1, now))
        self._segment, self._serial = segment, self._serial + 1
        segment.append(warcinfo(page, segment.file, now, self._contact))
        count("gossamer_archived_bytes_total", segment.size)
        return segment

    def settle(self) -> None:
        """Sync the segments, and put how much of them is valid into the store."""
        current = self._current_row()
        if current == self._settled:
            return
        # The runner settles again only after it has committed what was settled before.
        self._complete(self._settled.full)
        while self._full:
            self._full[0].sync()
            self._full.pop(0).close()
        if self._segment:
            self._segment.sync()
        self._rows.put(current)
        self._settled = current

    def close(self) -> None:
        """Complete what is settled; call it at the end of a run, after the last commit.

        What is not settled keeps its `.open`, and the next start repairs it.
        """
        current = self._current_row()
        if current == replace(self._settled, full=()):
            self._complete((*self._settled.full, *filter(None, [current.file])))
        self.release()

    def _current_row(self) -> SegmentRow:
        segment = self._segment
        return SegmentRow(
            writer=self._writer,
            serial=self._serial,
            file=segment.file if segment else "",
            length=segment.size if segment else 0,
            full=tuple(full.file for full in self._full),
        )

    def _complete(self, files: tuple[str, ...]) -> None:
        for file in files:
            complete(self._folder, file)

    def release(self) -> None:
        """Close the files as they are; the next start repairs them."""
        for segment in (*self._full, *filter(None, [self._segment])):
            segment.close()
        self._segment, self._full = None, []


def _archived(page: PageFetched, made: Capture, file: str, offset: int, now: float) -> PageArchived:
    return PageArchived(
        crawl=page.crawl,
        at=now,
        url=page.visit.url,
        site=page.site,
        fetched_at=page.started_at,
        status=page.status,
        content_type=first_value(page.headers, "content-type"),
        digest=made.digest,
        file=file,
        offset=offset,
        length=len(made.response),
        trace=page.visit.trace,
    )


def _capture_row(archived: PageArchived) -> CaptureRow:
    return CaptureRow(
        url=archived.url,
        fetched_at=archived.fetched_at,
        status=archived.status,
        file=archived.file,
        offset=archived.offset,
        length=archived.length,
        digest=archived.digest,
    )
