"""Writes, syncs and renames WARC files; no other module of the archive does.

A segment has its final name from the start, with the suffix `.open` until it is complete.
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
"""Suffix of a file that repair has parked."""
FILE_NAME = re.compile(
    r"gossamer-[A-Za-z0-9._]+-\d{14}-(?P<serial>\d{5,})-[A-Za-z0-9._-]+\.warc\.gz"
    r"(?P<mark>\.open|\.uncommitted)?"
)
MAX_CRAWL_NAME_CHARS = 100
NO_SPACE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def file_name(crawl: str, serial: int, writer: str, now: float) -> str:
    """Return the name of *writer*'s segment *serial*, begun at *now* (epoch seconds).

    The parts are in the order of annex C of the WARC standard. The name is unique in a fleet.
    """
    at = datetime.fromtimestamp(now, UTC)
    return f"gossamer-{_clean(crawl)}-{at:%Y%m%d%H%M%S}-{serial:05}-{writer}.warc.gz"


def _clean(crawl: str) -> str:
    return re.sub("[^A-Za-z0-9._]", "_", crawl)[:MAX_CRAWL_NAME_CHARS] or "_"


class Segment:
    """A new file, open for appending. A closed file is never opened for writing again."""

    def __init__(self, folder: Path, file: str, begun_at: float) -> None:
        self.file, self.size, self.begun_at = file, 0, begun_at
        self._folder, self._entry_synced = folder, False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        with translate_errors(folder):
            self._handle = os.open(folder / (file + OPEN_SUFFIX), flags, 0o644)

    def append(self, data: bytes) -> int:
        """Append *data* and return its offset; after an error, truncate the partial write."""
        offset, rest = self.size, memoryview(data)
        with translate_errors(self._folder):
            try:
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, offset)
                # If that failed too, repair truncates the file to the committed length.
                self.size = os.fstat(self._handle).st_size
                raise
        self.size += len(data)
        return offset

    def sync(self) -> None:
        """Sync the file to disk, and the first time also its entry in the folder."""
        with translate_errors(self._folder):
            os.fsync(self._handle)
            if not self._entry_synced:
                sync(self._folder)
                self._entry_synced = True

    def close(self) -> None:
        """Close the file; its name keeps the suffix `.open`."""
        os.close(self._handle)


def complete(folder: Path, file: str) -> None:
    """Rename *file* durably to its final name, unless that is done."""
    with translate_errors(folder), suppress(FileNotFoundError):
        os.replace(folder / (file + OPEN_SUFFIX), folder / file)
        sync(folder)


def truncate(path: Path, length: int) -> None:
    """Truncate a file durably to *length* bytes."""
    with translate_errors(path.parent):
        os.truncate(path, length)
        sync(path)


def park(path: Path) -> Path:
    """Rename an open file durably, so that it is not treated as a segment; return its new path."""
    parked = path.with_name(path.name.removesuffix(OPEN_SUFFIX) + UNCOMMITTED_SUFFIX)
    with translate_errors(path.parent):
        os.replace(path, parked)
        sync(path.parent)
    return parked


def remove(path: Path) -> None:
    """Remove a file durably."""
    with translate_errors(path.parent):
        os.unlink(path)
        sync(path.parent)


def sync(path: Path) -> None:
    """Sync a file, or the entries of a folder, to disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Raise GossamerError for an OSError in *folder*, with a message that tells what to do.

    The error stops the run. Otherwise a full disk would send pages to the dead letters.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE_ERRNOS:
            raise no_space(folder) from error
        raise GossamerError(
            f"{folder} cannot be written to: {error}. Fix this, then run the same command again; "
            "no pages are lost"
        ) from error
