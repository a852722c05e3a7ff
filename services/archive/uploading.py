"""Uploads complete WARC files to the first volume that takes them, in a thread.

A large file takes minutes, during which the loop of the archive must go on.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

import structlog

from gossamer.errors import BadSettings, GossamerError
from gossamer.services.archive.segments import companions
from gossamer.telemetry import count
from gossamer.volumes import Volume

END_BYTES = 64 << 10
"""Bytes at the end of an uploaded file that are compared with the local one. The last gzip member
contains a checksum of its content."""

logger = structlog.get_logger()

Start = Callable[[Callable[[], None]], None]
"""Starts a job. Tests run it at once."""


class Upload(NamedTuple):
    """The result of an upload."""

    file: str
    url: str = ""
    """The URL of the volume that has the file; "" if none has."""
    fault: str = ""
    """Why no volume took the file; "" if it exists nowhere."""


def start_thread(job: Callable[[], None]) -> None:
    """Run *job* in a thread that does not keep the process from ending."""
    threading.Thread(target=job, name="upload", daemon=True).start()


class Uploader:
    """Uploads one file at a time to one of *urls*, under its name in *root*: *prefix* + file."""

    def __init__(
        self, root: Path, prefix: str, urls: Sequence[str], start: Start = start_thread
    ) -> None:
        """Raise BadSettings if a volume cannot be used, or overlaps *root*."""
        self._folder, self._prefix, self._start = root / prefix, prefix, start
        self._volumes = [Volume(url) for url in urls]
        self._results: SimpleQueue[Upload] = SimpleQueue()
        self.file: str | None = None
        """The file that is being uploaded."""
        for volume in self._volumes:
            if volume.path and _overlap(volume.path.resolve(), root.resolve()):
                raise BadSettings(
                    f"archive.volumes: {volume.url} overlaps {root}, the folder of the archive: "
                    "name another folder"
                )

    def start(self, file: str) -> None:
        """Begin to upload *file*. No other upload may be running."""
        self.file = file
        self._start(lambda: self._results.put(self._upload(file)))

    def pop(self) -> Upload | None:
        """Return the result of the upload, if it has ended."""
        try:
            found = self._results.get_nowait()
        except Empty:
            return None
        self.file = None
        return found

    def _upload(self, file: str) -> Upload:
        faults: dict[str, str] = {}
        # A volume that has it already, from before a crash, comes before the first one.
        for is_stored in (self._find, self._put):
            for volume in self._volumes:
                try:
                    if is_stored(volume, file):
                        return Upload(file, volume.url)
                except (GossamerError, OSError) as error:
                    faults[volume.url] = str(error)
        for url, fault in faults.items():
            logger.warning("file not stored on a volume", volume=url, file=file, reason=fault)
            count("gossamer_archive_uploads_total", volume=url, result="failed")
        return Upload(file, fault="; ".join(faults.values()))

    def _find(self, volume: Volume, file: str) -> bool:
        """Return whether *volume* has *file*. It must be equal to the local one, if there is
        one."""
        name, path = self._prefix + file, self._folder / file
        size = volume.size(name)
        if size is None or not path.exists():
            return size is not None
        self._verify(volume, file)
        return True

    def _put(self, volume: Volume, file: str) -> bool:
        """Store *file* in *volume*. Return False if there is no local file."""
        path = self._folder / file
        if not path.exists():
            return False
        if volume.size(self._prefix + file) is not None:
            self._verify(volume, file)  # It is another file, and must not be replaced.
        # Readers of an index find the file, so the file comes first.
        volume.put(self._prefix + file, path)
        self._verify(volume, file)
        count("gossamer_archive_uploads_total", volume=volume.url, result="stored")
        return True

    def _verify(self, volume: Volume, file: str) -> None:
        """Compare the lengths and ends of the two copies of *file*, and store its companions."""
        name, path = self._prefix + file, self._folder / file
        length = path.stat().st_size
        start = max(0, length - END_BYTES)
        with path.open("rb") as stream:
            stream.seek(start)
            end = stream.read()
        if volume.size(name) != length or volume.read(name, start, length) != end:
            raise GossamerError(
                f"{volume.uri(name)} is not equal to {path}: give each crawl a volume of its own"
            )
        for companion in companions(self._folder, file):
            volume.put(self._prefix + companion, self._folder / companion)


def _overlap(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents
