"""The files: the only place of the archive that writes, syncs and renames.

A segment has its final name from the start, with `.open` behind it until it is complete.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from gossamer.errors import GossamerError
from gossamer.sqlite import no_space

OPEN_SUFFIX = ".open"
UNCOMMITTED_SUFFIX = ".uncommitted"
"""Behind the name of a file that was parked by repair."""
FILE_NAME = re.compile(
    r"gossamer-[A-Za-z0-9._]+-\d{14}-(?P<serial>\d{5,})-[A-Za-z0-9._-]+\.warc\.gz"
    r"(?P<mark>\.open|\.uncommitted)?"
)
LONGEST_WORD = 100
NO_SPACE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def file_name(crawl: str, serial: int, writer: str, now: float) -> str:
    """Return the name of *writer*'s segment *serial*, begun at *now* (epoch seconds).

    In the order that annex C of the WARC standard proposes; no two writers of a fleet give the
    same.
    """
    at = datetime.fromtimestamp(now, UTC)
    return f"gossamer-{_word(crawl)}-{at:%Y%m%d%H%M%S}-{serial:05}-{writer}.warc.gz"


def _word(crawl: str) -> str:
    return re.sub("[^A-Za-z0-9._]", "_", crawl)[:LONGEST_WORD] or "_"


class Segment:
    """A new file, open for appending. Once closed it is never opened for writing again."""

    def __init__(self, folder: Path, file: str, begun_at: float) -> None:
        self.file, self.size, self.begun_at = file, 0, begun_at
        self._folder, self._entry_synced = folder, False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        with translate_errors(folder):
            self._handle = os.open(folder / (file + OPEN_SUFFIX), flags, 0o644)

    def append(self, data: bytes) -> int:
        """Write *data* and return its offset; on failure cut off what was written of it."""
        offset, rest = self.size, memoryview(data)
        with translate_errors(self._folder):
            try:
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, offset)
                # If that failed too, the rest is beyond the committed length, and repair cuts it.
                self.size = os.fstat(self._handle).st_size
                raise
        self.size += len(data)
        return offset

    def sync(self) -> None:
        """Make durable what was appended, and the first time the file's entry in its folder."""
        with translate_errors(self._folder):
            os.fsync(self._handle)
            if not self._entry_synced:
                sync(self._folder)
                self._entry_synced = True

    def close(self) -> None:
        """Close the file as it is; the name keeps its `.open`."""
        os.close(self._handle)


def complete(folder: Path, file: str) -> None:
    """Rename *file* to its final name, unless that is done; durable."""
    with translate_errors(folder), suppress(FileNotFoundError):
        os.replace(folder / (file + OPEN_SUFFIX), folder / file)
        sync(folder)


def truncate(path: Path, length: int) -> None:
    """Shorten a file to *length* bytes; durable."""
    with translate_errors(path.parent):
        os.truncate(path, length)
        sync(path)


def parked(path: Path) -> Path:
    """Rename a file that is `.open`, so that nobody takes it for a segment; durable."""
    aside = path.with_name(path.name.removesuffix(OPEN_SUFFIX) + UNCOMMITTED_SUFFIX)
    with translate_errors(path.parent):
        os.replace(path, aside)
        sync(path.parent)
    return aside


def remove(path: Path) -> None:
    """Remove a file; durable."""
    with translate_errors(path.parent):
        os.unlink(path)
        sync(path.parent)


def sync(path: Path) -> None:
    """Have the disk keep a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Raise GossamerError for an OSError in *folder*, with a message that says what to do.

    It stops the run, since no page may go to the dead letters because a disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE_ERRNOS:
            raise no_space(folder) from error
        raise GossamerError(
            f"{folder} cannot be written to: {error}; repair that, then run the same command "
            "again; nothing is lost"
        ) from error
