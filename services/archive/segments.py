"""The WARC files of a writer: writes, syncs and renames them, and repairs them after a crash.

No other module of the archive changes a segment before it is complete. A segment has its final
name from the start, with the suffix `.open` until it is complete. At the start of a writer,
`repair` completes its files:

| found                                      | cause                         | action             |
|--------------------------------------------|-------------------------------|--------------------|
| open segment, longer than committed        | crash before the next commit  | truncate, complete |
| open segment, of the committed length      | crash after the commit        | complete           |
| open segment, shorter than committed       | power failure                 | salvage, warn      |
| open segment, missing                      | file was moved                | warn               |
| full segment with the suffix `.open`       | crash before its renaming     | complete           |
| `.open` file with a serial above the row's | crash before its first commit | park, warn         |
| any other `.open` file                     | store was lost or replaced    | salvage, warn      |

*Salvage* keeps the whole records of a file, truncates the rest, and completes the file. *Park*
renames a file to `.uncommitted`. The pages of a parked file are delivered again, unless the store
was restored to an older state; in that case the file is the only copy. Both remove a file without a
whole capture. Repair never changes a complete file, even if the row lists it as open. A file is
indexed just before it is completed (`gossamer.services.archive.index`): repair reads it, and a
writer without a crash has the lines.

With volumes, complete files are uploaded, their captures are published, and the files are removed
(`buffer`). `Buffer.load` continues at the start of a writer:

| found                                      | cause                         | action             |
|--------------------------------------------|-------------------------------|--------------------|
| complete file, not in the row              | kill before its row or after  | upload, publish    |
|                                            | its publication; new setting  | what waits, remove |
| complete file, waiting in the row          | kill before or in its upload  | the same           |
| complete file, stored by the row           | kill in its publication       | publish, remove    |
| no file, stored by the row                 | file was removed              | publish            |
| no file, waiting in the row, in a volume   | file was removed              | publish            |
| no file, waiting in the row, in no volume  | file was removed              | drop captures, warn|

An upload that is repeated finds the file in the volume, with the same length and end.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import structlog

from gossamer.errors import GossamerError
from gossamer.services.archive.index import INDEX_SUFFIX, index_file
from gossamer.services.archive.reading import RecordReader, read_chunks
from gossamer.services.archive.rows import SegmentRow
from gossamer.sqlite import no_space
from gossamer.volumes import OPEN_SUFFIX, PARTIAL_SUFFIX

UNCOMMITTED_SUFFIX = ".uncommitted"
"""Suffix of a file that repair has parked."""
FILE_NAME = re.compile(
    r"gossamer-[A-Za-z0-9._]+-\d{14}-(?P<serial>\d{5,})-[A-Za-z0-9._-]+\.warc\.(gz|zst)"
    r"(?P<mark>\.open|\.uncommitted)?"
)
SUFFIXES = {"gzip": ".warc.gz", "zstd": ".warc.zst"}
"""Compression → suffix of a file."""
MAX_CRAWL_NAME_CHARS = 100
NO_SPACE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
COMPANION_SUFFIXES = (INDEX_SUFFIX,)
"""Suffixes of files beside a complete segment, which are uploaded and removed with it."""

logger = structlog.get_logger()


def file_name(
    crawl: str, serial: int, writer: str, now: float, suffix: str = SUFFIXES["gzip"]
) -> str:
    """Return the name of *writer*'s segment *serial*, begun at *now* (epoch seconds).

    The parts are in the order of annex C of the WARC standard. The name is unique in a fleet.
    """
    at = datetime.fromtimestamp(now, UTC)
    return f"gossamer-{_clean(crawl)}-{at:%Y%m%d%H%M%S}-{serial:05}-{writer}{suffix}"


def is_of_crawl(file: str, crawl: str) -> bool:
    """Return whether *file*, a name with or without the folder of its writer, is of *crawl*."""
    return file.rpartition("/")[2].startswith(f"gossamer-{_clean(crawl)}-")


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


def complete(folder: Path, file: str, lines: Sequence[str] | None = None) -> None:
    """Write the index of *file*, and rename it durably to its final name, unless that is done.

    The index is written first, so a complete file has one whenever a process is killed. *lines*:
    those of the index, in any order; if they are not known, the file is read.
    """
    with translate_errors(folder), suppress(FileNotFoundError):
        _write_index(folder, file, lines)
        os.replace(folder / (file + OPEN_SUFFIX), folder / file)
        sync(folder)


def _write_index(folder: Path, file: str, lines: Sequence[str] | None) -> None:
    partial = folder / (file + INDEX_SUFFIX + PARTIAL_SUFFIX)
    with (folder / (file + OPEN_SUFFIX)).open("rb") as segment, partial.open("w") as index:
        found = index_file(read_chunks(segment.read), file) if lines is None else sorted(lines)
        index.writelines(found)
        index.flush()
        os.fsync(index.fileno())
    os.replace(partial, folder / (file + INDEX_SUFFIX))


def complete_segments(folder: Path) -> dict[str, int]:
    """Return each complete segment in *folder* with its bytes, in the order of their serials."""
    found = sorted((serial, path) for path, serial, mark in _segments_in(folder) if not mark)
    return {path.name: path.stat().st_size for _, path in found}


def companions(folder: Path, file: str) -> list[str]:
    """Return the names of the files in *folder* that belong to the complete segment *file*."""
    names = [file + suffix for suffix in COMPANION_SUFFIXES]
    return [name for name in names if (folder / name).exists()]


def remove_segment(folder: Path, file: str) -> None:
    """Remove a complete segment and its companions from *folder*, if they are there."""
    with translate_errors(folder):
        # The segment is last: while it exists, the next start repeats this.
        for name in (*companions(folder, file), file):
            with suppress(FileNotFoundError):
                os.unlink(folder / name)
        sync(folder)


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk of *folder*."""
    with translate_errors(folder):
        return shutil.disk_usage(folder).free


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


def repair(folder: Path, row: SegmentRow | None) -> int:
    """Leave only complete segments in *folder*, and return the highest serial.

    *row*: the row of this writer at the last commit, or None. The folder is created if it is
    missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if row:
        for file in row.full:
            complete(folder, file)
        for file, length in row.open.items():
            _restore(folder, file, length)
    for path, serial, mark in sorted(_segments_in(folder)):
        if mark == OPEN_SUFFIX and row and serial > row.serial:
            _park(path)
        elif mark == OPEN_SUFFIX:
            logger.warning("unfinished segment: keeping its whole records", file=path)
            _salvage(path)
    return max([row.serial if row else 0, *(serial for _, serial, _ in _segments_in(folder))])


def _restore(folder: Path, file: str, length: int) -> None:
    path = folder / (file + OPEN_SUFFIX)
    if (folder / file).exists():
        return  # Completed at the end of its run, after the last commit.
    if not path.exists():
        logger.warning("segment is missing; ignore this if you moved it", file=folder / file)
    elif (size := path.stat().st_size) < length:
        logger.warning(
            "segment is shorter than its committed length, as after a power failure: keeping its "
            "whole records",
            file=folder / file,
            bytes_lost=length - size,
        )
        _salvage(path)
    else:
        if size > length:
            truncate(path, length)
        complete(folder, file)


def _park(path: Path) -> None:
    if not _capture_ends(path):
        remove(path)
        return
    logger.warning(
        "parked a segment that was never committed: its pages are archived again, so remove it, "
        "unless the store was restored to an older state",
        file=park(path),
    )


def _salvage(path: Path) -> None:
    ends = _capture_ends(path)
    if not ends:
        remove(path)
        return
    if ends[-1] < path.stat().st_size:
        truncate(path, ends[-1])
    complete(path.parent, path.name.removesuffix(OPEN_SUFFIX))


def _capture_ends(path: Path) -> list[int]:
    """Return the end offset of each whole record, without the first, which describes the file."""
    return list(member_ends(path))[1:]


def member_ends(path: Path) -> Iterator[int]:
    """Yield the end offset of each gzip member or zstd frame, up to the first incomplete one."""
    with path.open("rb") as file:
        for record in RecordReader(read_chunks(file.read)):
            yield record.offset + record.length


def _segments_in(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield each segment in *folder* with its serial, and its mark; "" if it is complete."""
    for path in folder.iterdir():
        if match := FILE_NAME.fullmatch(path.name):
            yield path, int(match["serial"]), match["mark"] or ""
