"""The processor: appends captures to the open segment, and keeps files, store and log in step."""

from collections.abc import Iterable
from pathlib import Path

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
from gossamer.log import BATCH
from gossamer.relevance import Facts, parse_relevance
from gossamer.runtime.processor import Answer, Processor
from gossamer.settings import ArchiveSettings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.telemetry import count
from gossamer.web.http import first_value
from gossamer.web.scope import Found
from gossamer.web.sniffing import whole_type
from services.archive.files.repair import repair
from services.archive.files.segment import Segment, complete, file_name, translate_errors
from services.archive.forbidden import is_forbidden
from services.archive.records import Body, Capture, capture, is_revisit, warcinfo
from services.archive.rows import CaptureRow, SegmentRow

LOOK_BACK = 10
"""Captures of a URL among which the body is looked for that a 304 leaves out."""
STANDALONE_WRITER = "archive"
"""The writer where there is only one: its files lie in the folder itself."""


class Archive(Processor):
    """Writes what was fetched to WARC files in *folder*, with *contact* as their operator, but for
    what asks the crawler *product* not to.

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
        product: str,
        writer: str = "",
    ) -> None:
        self._folder, self._prefix = folder / writer, f"{writer}/" if writer else ""
        self._settings, self._contact, self._writer = settings, contact, writer or STANDALONE_WRITER
        self._product, self._not_archived = product, frozenset[str](settings.not_archived)
        self._claimant = Claimant(store, self.name)
        self._rows, self._captures = store.table(SegmentRow), store.table(CaptureRow)
        self._erasures = Erasures(store, self.name)
        self._settled = SegmentRow(writer=self._writer)
        self._relevant = ""
        """Which pages the crawl keeps; empty: all."""
        self._serial = 0
        self._open: dict[str, Segment] = {}
        """By crawl."""
        self._full: list[Segment] = []

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim the folder, and go back to the last commit: pages written since come again, perhaps
        to another writer."""
        self.release()
        self._claimant.claim([self._writer], now)
        self.restart(partitions, now)

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Go back to the last commit."""
        self.release()
        self._erasures.load()
        with translate_errors(self._folder):
            self._serial = repair(self._folder, self._rows.get(self._writer))
        self._settled = SegmentRow(writer=self._writer, serial=self._serial)
        self._rows.put(self._settled)

    def handle(self, event: Event, now: float) -> Answer:
        """Write the capture of a page; return where it lies."""
        if isinstance(event, CrawlDefined):
            self._relevant = event.relevant
        if isinstance(event, VisitsErased):
            self._erase(event)
        if not isinstance(event, PageFetched) or self._is_irrelevant(event):
            return []
        if self._erasures.covers(event.visit):
            return []
        if is_forbidden(event, self._not_archived, self._product):
            count("gossamer_not_archived_total")
            return []
        self._end_old(now)
        segment = self._open.get(event.crawl)
        file = segment.file if segment else self._next_file(event.crawl, now)
        # Before anything is written: a page that no record can hold goes to the dead letters.
        made = capture(event, file, self._body(event))
        segment = segment or self._begin(file, event.crawl, now)
        offset = segment.append(made.response + made.request + made.metadata)
        count("gossamer_archived_bytes_total", segment.size - offset)
        if segment.size > self._settings.segment_size:
            self._full.append(self._open.pop(event.crawl))
        if event.visit.purpose is not Purpose.PAGE:
            return []
        archived = _archived(event, made, self._prefix + file, offset, now)
        self._captures.put(_capture_row(archived, made.body))
        return [archived]

    def _erase(self, event: VisitsErased) -> None:
        """Erase the rows of captures; what lies in the files stays."""
        count = 0
        for url in event.urls:
            key, after = (event.crawl, url), None
            while rows := self._captures.scan(key, after):
                after, count = rows[-1].fetched_at, count + len(rows)
            if after is not None:
                self._captures.drop(key)
        self._erasures.add(event.erasure, {CaptureRow.table: count}, event.part)

    def _is_irrelevant(self, page: PageFetched) -> bool:
        """Return whether the crawl does not keep *page*, by what is known before it is read."""
        answered = page.status == 304 or 200 <= page.status < 300
        if not self._relevant or not answered or page.visit.purpose is not Purpose.PAGE:
            return False
        kind = None if page.status == 304 else whole_type(page.headers, page.body)
        facts = Facts(Found(page.visit.url, page.visit.depth), kind)
        return parse_relevance(self._relevant).evaluate(facts).inside is False

    def _body(self, page: PageFetched) -> Body | None:
        """Return the body that *page*, a 304, leaves out: of the last capture that has it."""
        if not is_revisit(page):
            return None
        # Those before this visit: its record may come again.
        key = page.crawl, page.visit.url
        earlier = self._captures.scan(key, after=page.started_at, limit=LOOK_BACK)
        return next((body for row in earlier if (body := _body_of(row))), None)

    def _next_file(self, crawl: str, now: float) -> str:
        return file_name(crawl, self._serial + 1, self._writer, now)

    def _begin(self, file: str, crawl: str, now: float) -> Segment:
        segment = self._open[crawl] = Segment(self._folder, file, now)
        self._serial += 1
        segment.append(warcinfo(crawl, file, now, self._contact))
        count("gossamer_archived_bytes_total", segment.size)
        return segment

    def _end_old(self, now: float) -> None:
        for crawl, segment in list(self._open.items()):
            if now >= segment.begun_at + self._settings.segment_age:
                self._full.append(self._open.pop(crawl))

    def due(self) -> float | None:
        """Return when an open segment is old enough; 0 while full ones can get their final name."""
        if self._settled.full:
            return 0.0
        begun = min((segment.begun_at for segment in self._open.values()), default=None)
        return None if begun is None else begun + self._settings.segment_age

    def wake(self, now: float, most: int = BATCH) -> Answer:
        """End the segments that are old enough; what is left to do is done by `settle`."""
        self._end_old(now)
        return ()

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
        for segment in self._open.values():
            segment.sync()
        self._rows.put(current)
        self._settled = current

    def close(self) -> None:
        """Complete what is settled; call it at the end of a run, after the last commit.

        What is not settled keeps its `.open`, and the next start repairs it.
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
        )

    def _complete(self, files: Iterable[str]) -> None:
        for file in files:
            complete(self._folder, file)

    def release(self) -> None:
        """Close the files as they are; the next start repairs them."""
        for segment in (*self._full, *self._open.values()):
            segment.close()
        self._open, self._full = {}, []


def _archived(page: PageFetched, made: Capture, file: str, offset: int, now: float) -> PageArchived:
    return PageArchived(
        crawl=page.crawl,
        at=now,
        url=page.visit.url,
        site=page.site,
        fetched_at=page.started_at,
        status=page.status,
        content_type=first_value(page.headers, "content-type"),
        digest=made.body.digest,
        record_type=made.kind,
        file=file,
        offset=offset,
        length=len(made.response),
        trace=page.visit.trace,
    )


def _body_of(row: CaptureRow) -> Body | None:
    if 200 <= row.status < 300:
        return Body(row.record_id, row.fetched_at, row.digest)
    # What a 304 refers to. All others are errors and redirects, which the server does not mean.
    known = row.status == 304 and row.body_at
    return Body(row.record_id, row.body_at, row.digest) if known else None


def _capture_row(archived: PageArchived, body: Body) -> CaptureRow:
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
        body_at=body.fetched_at,
    )
