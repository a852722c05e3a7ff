"""The files: the only place of the archive that writes, syncs and renames.

A segment is named as it will be when complete; while it is open its name ends in `.open` besides.
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

OPEN = ".open"
NAME = re.compile(r"(?P<file>gossamer-\d{14}-(?P<serial>\d{5,})\.warc\.gz)(?P<open>\.open)?")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def file_name(serial: int, now: float) -> str:
    """Return the name of segment *serial*, begun at *now* (epoch seconds)."""
    return f"gossamer-{datetime.fromtimestamp(now, UTC):%Y%m%d%H%M%S}-{serial:05}.warc.gz"


class Segment:
    """A file that is open, and ours alone; it is never opened again."""

    def __init__(self, folder: Path, file: str) -> None:
        self.file, self.size = file, 0
        self._folder, self._listed = folder, False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        with told(folder):
            self._handle = os.open(folder / (file + OPEN), flags, 0o644)

    def append(self, data: bytes) -> int:
        """Write *data* and return its offset; on failure leave the file as it was."""
        offset, rest = self.size, memoryview(data)
        with told(self._folder):
            try:
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, offset)
                # If even that failed, the file is longer than anybody will ever settle.
                self.size = os.fstat(self._handle).st_size
                raise
        self.size += len(data)
        return offset

    def sync(self) -> None:
        """Make durable what was appended, and at first the file's being there."""
        with told(self._folder):
            os.fsync(self._handle)
            if not self._listed:
                _sync(self._folder)
                self._listed = True

    def close(self) -> None:
        """Let go of the file, as it is."""
        os.close(self._handle)


def complete(folder: Path, file: str) -> None:
    """Take the open mark off *file*, if it is there; durable."""
    with told(folder), suppress(FileNotFoundError):
        os.replace(folder / (file + OPEN), folder / file)
        _sync(folder)


def cut(path: Path, length: int) -> None:
    """Shorten a file to *length* bytes; durable."""
    with told(path.parent):
        os.truncate(path, length)
        _sync(path)


def remove(path: Path) -> None:
    """Remove a file; durable."""
    with told(path.parent):
        os.unlink(path)
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Say what the system says of *folder* in words that tell a person what to do.

    A page must never go to the dead letters because a disk is full: what is raised stops the run.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise no_space(folder) from error
        raise GossamerError(
            f"{folder} cannot be written to: {error}; mend that, then run the same command again; "
            "nothing is lost"
        ) from error
