"""The buffer of an archive with volumes: complete files in its folder, until they are uploaded.

| state     | in the writer's row   | what happens next                                            |
|-----------|-----------------------|--------------------------------------------------------------|
| waiting   | `waiting`             | the file is uploaded to the first volume that takes it       |
| stored    | `waiting`, `stored`   | its captures are published, with their place in that volume  |
| published | not any more          | its unpublished rows are dropped, then the file is removed   |

Each state is committed before work on the next one begins. So a capture is published only after
its file was uploaded and verified, and again after a crash only with the same place. A file is
removed only after all of its captures were published. `segments` lists what a start may find.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import structlog

from gossamer.erasures import Erasures
from gossamer.errors import retry_waits
from gossamer.events import PageArchived
from gossamer.services.archive.rows import CaptureRow, SegmentRow, UnpublishedRow
from gossamer.services.archive.segments import complete_segments, free_bytes, remove_segment
from gossamer.services.archive.uploading import Start, Upload, Uploader, start_thread
from gossamer.store import Store
from gossamer.telemetry import set_gauge

CHECK_INTERVAL = 0.5
"""Seconds between two checks whether the upload has ended."""
MIN_FREE_BYTES = 32 << 20
"""Free bytes of the disk below which the archive pauses."""

logger = structlog.get_logger()


class Buffer:
    """The complete files of a writer, which wait in its folder for a place in *volumes*.

    Tables and volumes name its files `WRITER/FILE`, relative to *root*, or `FILE` if *writer* is
    "". Without volumes, files stay in the folder, and nothing waits but the captures of an earlier
    run with volumes.
    """

    def __init__(
        self,
        root: Path,
        writer: str,
        store: Store,
        erasures: Erasures,
        volumes: Sequence[str],
        limit: int,
        start: Start = start_thread,
    ) -> None:
        """Raise BadSettings if a volume cannot be used."""
        self._root, self._folder, self._prefix = root, root / writer, f"{writer}/" if writer else ""
        self._limit, self._erasures = limit, erasures
        self._uploader = Uploader(root, self._prefix, volumes, start) if volumes else None
        self._unpublished = store.table(UnpublishedRow)
        self._captures = store.table(CaptureRow)
        self._retry_waits = retry_waits()
        self._clear()

    def _clear(self) -> None:
        self.waiting: dict[str, int] = {}
        """Complete file → its bytes, in the order of upload."""
        self.stored: dict[str, str] = {}
        """Waiting file → URL of its volume."""
        self._committed: dict[str, str] = {}
        """The part of `stored` that is committed."""
        self._after: int | None = None
        """Offset of the last emitted capture of the file that is being published."""
        self._emitted: list[str] = []
        """Files whose last capture was emitted in the current step."""
        self._published: list[str] = []
        """Files whose captures are committed to the log."""
        self._dropped: list[str] = []
        """Files that the row does not list any more, and that are to be removed."""
        self._check_at = 0.0
        self.fault = ""
        """Why no volume takes the next file; "" if one may."""

    @property
    def is_used(self) -> bool:
        """Whether files are uploaded to volumes."""
        return self._uploader is not None

    def load(self, row: SegmentRow | None) -> None:
        """Continue from the committed *row* of the writer, after the repair of the folder."""
        self._clear()
        files = complete_segments(self._folder)
        if row is None:
            # A restored or moved store has captures that were not published in it.
            rows = self._unpublished.everything()
            listed = [one.file.removeprefix(self._prefix) for one in rows if self._is_ours(one)]
        else:
            listed = [*row.stored, *row.waiting, *row.full, *row.open]
        if self._uploader:
            self.waiting = dict.fromkeys(listed, 0) | files
            self.stored = dict(row.stored) if row else {}
        else:
            # Captures of a run with volumes are published where the files are now.
            listed = [
                file for file in listed if self._unpublished.scan(self._prefix + file, limit=1)
            ]
            self.waiting = {file: files.get(file, 0) for file in listed}
            self.stored = dict.fromkeys(listed, self._root.absolute().as_uri())
            self.stored |= row.stored if row else {}

    def _is_ours(self, row: UnpublishedRow) -> bool:
        writer, _, file = row.file.rpartition("/")
        return self._prefix == (f"{writer}/" if writer else "") and bool(file)

    def add(self, file: str) -> None:
        """Add a complete file of the folder."""
        if self._uploader:
            self.waiting[file] = (self._folder / file).stat().st_size

    def hold_back(self, capture: PageArchived) -> None:
        """Store *capture* until its file is in a volume."""
        row = UnpublishedRow(capture.file, capture.offset, msgspec.json.encode(capture))
        self._unpublished.put(row)

    def measure_space(self, unfinished: int) -> int:
        """Return the bytes that may still be written, with *unfinished* bytes in segments that are
        not complete."""
        free = free_bytes(self._folder) - MIN_FREE_BYTES
        used = sum(self.waiting.values()) + unfinished
        set_gauge("gossamer_archive_buffer_bytes", used if self._uploader else 0)
        return min(free, self._limit - used) if self._uploader else free

    def due(self) -> float | None:
        """Return when `wake` shall be called next."""
        is_open = self._unfinished_publications() or self._published or self._dropped
        if is_open or self.stored != self._committed:
            return 0.0
        return self._check_at if self.waiting else None

    def wake(self, now: float, most: int) -> Iterator[PageArchived]:
        """Begin uploads, note those that have ended, and yield about *most* captures."""
        yield from self._publish(most)
        if self._uploader is None or now < self._check_at:
            return
        self._check_at = now + CHECK_INTERVAL
        if upload := self._uploader.pop():
            self._note(upload, now)
        following = next((file for file in self.waiting if file not in self.stored), None)
        if following and not self._uploader.file and now + CHECK_INTERVAL >= self._check_at:
            self._uploader.start(following)

    def _note(self, upload: Upload, now: float) -> None:
        if upload.url:
            self.fault, self._retry_waits = "", retry_waits()
            if upload.file in self.waiting:
                self.stored[upload.file] = upload.url
        elif upload.fault:
            self.fault = upload.fault
            self._check_at = now + next(self._retry_waits)
        elif upload.file in self.waiting:
            logger.error(
                "complete segment is missing in the folder and in all volumes; ignore this if you "
                "moved it: its captures are not published",
                file=self._folder / upload.file,
            )
            self._dropped.append(upload.file)
            self._forget(upload.file)

    def _unfinished_publications(self) -> list[str]:
        ended = {*self._emitted, *self._published}
        return [file for file in self._committed if file not in ended]

    def _publish(self, most: int) -> Iterator[PageArchived]:
        for file in self._unfinished_publications():
            rows = self._unpublished.scan(self._prefix + file, self._after, most)
            for row in rows:
                capture = msgspec.json.decode(row.event, type=PageArchived)
                if self._is_readable(capture, self.waiting.get(file, 0)):
                    uri = f"{self._committed[file]}/{capture.file}"
                    yield msgspec.structs.replace(capture, uri=uri)
            if len(rows) == most:
                self._after = rows[-1].offset
                return
            self._after, most = None, most - len(rows)
            self._emitted.append(file)

    def _is_readable(self, capture: PageArchived, size: int) -> bool:
        """Return whether *capture* is in its file of *size* bytes (0 if unknown), and was not
        erased."""
        if size and capture.offset + capture.length > size:
            return False  # Lost in a power failure.
        if not self._erasures.concerns(capture.url):
            return True
        key = capture.crawl, capture.url
        return self._captures.get(key, capture.fetched_at) is not None

    def settle(self) -> None:
        """Clean up after committed changes. This is called before each advance of the log, so all
        changes before the last call are committed."""
        for file in self._dropped:
            if self._uploader:
                remove_segment(self._folder, file)
        self._dropped = []
        for file in self._published:
            self._forget(file)
            self._dropped.append(file)
        self._published, self._emitted = self._emitted, []
        self._committed = dict(self.stored)

    def _forget(self, file: str) -> None:
        self._unpublished.drop(self._prefix + file)
        self.waiting.pop(file, None)
        self.stored.pop(file, None)
