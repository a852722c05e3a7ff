"""The machine: appends captures to the open segment, and keeps store, log and files in step."""

from pathlib import Path

from msgspec.structs import replace

from gossamer.config import ArchiveSettings
from gossamer.events import Event, PageArchived, PageFetched, Purpose
from gossamer.service import Answer, Machine
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.topics import PAGES_FETCHED
from services.archive.records import Capture, capture, warcinfo
from services.archive.repair import repair
from services.archive.rows import CaptureRow, SegmentRow
from services.archive.segment import Segment, complete, file_name, told

ALONE = "archive"


class Archive(Machine):
    """Writes what was fetched to WARC files in *folder*; *contact* is named in each as operator.

    In a fleet each instance is a *writer* with a folder of its own in there.
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
        self._folder, self._below = folder / writer, f"{writer}/" if writer else ""
        self._settings, self._contact, self._writer = settings, contact, writer or ALONE
        self._rows, self._captures = store.table(SegmentRow), store.table(CaptureRow)
        self._settled = SegmentRow(writer=self._writer)
        self._serial = 0
        self._segment: Segment | None = None
        self._full: list[Segment] = []

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Begin from what was last committed: what was written beyond it is somebody else's now."""
        self.let_go()
        with told(self._folder):
            self._serial = repair(self._folder, self._rows.get(self._writer))
        self._settled = SegmentRow(writer=self._writer, serial=self._serial)
        self._rows.put(self._settled)

    def handle(self, event: Event, now: float) -> Answer:
        """Write the capture of a page, and say where it lies."""
        if not isinstance(event, PageFetched):
            return []
        # Made before anything is written: a page that cannot be a record leaves no trace here.
        made = capture(event)
        segment = self._segment or self._begin(event, now)
        offset = segment.append(made.response + made.request + made.metadata)
        count("gossamer_archived_bytes_total", segment.size - offset)
        if segment.size > self._settings.segment_size:
            self._full.append(segment)
            self._segment = None
        if event.visit.purpose is not Purpose.PAGE:
            return []
        archived = _archived(event, made, self._below + segment.file, offset, now)
        self._captures.put(_capture_row(archived))
        return [archived]

    def _begin(self, page: PageFetched, now: float) -> Segment:
        segment = Segment(self._folder, file_name(self._serial + 1, now))
        self._segment, self._serial = segment, self._serial + 1
        segment.append(warcinfo(page, segment.file, now, self._contact))
        count("gossamer_archived_bytes_total", segment.size)
        return segment

    def settle(self) -> None:
        """Make the segments durable, and have the store told what counts of them."""
        standing = self._standing()
        if standing == self._settled:
            return
        # That we are asked again says that what was settled before is committed.
        self._complete(self._settled.full)
        while self._full:
            self._full[0].sync()
            self._full.pop(0).close()
        if self._segment:
            self._segment.sync()
        self._rows.put(standing)
        self._settled = standing

    def close(self) -> None:
        """Complete what is settled: for the end of a run, once the log has moved past it all.

        What is not settled stays as it is, marked open, for the next start to repair.
        """
        standing = self._standing()
        if standing == replace(self._settled, full=()):
            self._complete((*self._settled.full, *filter(None, [standing.file])))
        self.let_go()

    def _standing(self) -> SegmentRow:
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

    def let_go(self) -> None:
        """Close the files as they are: the next start repairs them."""
        for segment in (*self._full, *filter(None, [self._segment])):
            segment.close()
        self._segment, self._full = None, []


def _archived(page: PageFetched, made: Capture, file: str, offset: int, now: float) -> PageArchived:
    types = [value for name, value in page.headers if name.lower() == "content-type"]
    return PageArchived(
        crawl=page.crawl,
        at=now,
        url=page.visit.url,
        site=page.site,
        fetched_at=page.started_at,
        status=page.status,
        content_type=types[0] if types else "",
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
