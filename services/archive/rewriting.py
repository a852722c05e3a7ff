"""Rewrites complete WARC files, in a folder or in a volume, without some of their records.

A file is rewritten under its name. Each erased record is replaced by a *filler* of its length
(`fillers`), so that the positions of all other records stay valid: rows, `pages.archived` and
indexes need no new position. The new bytes are a copy that replaces the file in one step, after it
has been synced. A crash leaves the old file or the new one, and perhaps a partial copy with the
suffix `.rewriting`, which the next start of the writer removes. The lines of erased records are
removed from the file's index before.

The copy has holes in place of the fillers, so it takes less space than the file did. Object stores
have no holes. Equal erasures lead to equal bytes, since a file may be in several places.
"""

import json
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from gossamer.services.archive.fillers import make_filler
from gossamer.services.archive.index import INDEX_SUFFIX
from gossamer.services.archive.reading import CHUNK_BYTES, RecordHead, RecordReader
from gossamer.services.archive.records import ZSTD_SUFFIX, date, make_urn
from gossamer.services.archive.segments import (
    FILE_NAME,
    UNCOMMITTED_SUFFIX,
    remove_segment,
    sync,
    translate_errors,
)
from gossamer.volumes import Volume

REWRITING_SUFFIX = ".rewriting"
"""Suffix of the partial copy of a file."""


class Run(NamedTuple):
    """Consecutive records of a file."""

    offset: int
    length: int


class Runs:
    """The records of one file that are replaced by fillers, in the order of their offsets."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.erased = 0
        """Number of records to erase, without the fillers of earlier rewritings."""
        self.length = 0
        """Bytes of these records."""

    def add(self, record: RecordHead) -> None:
        """Add a record behind all earlier ones."""
        if not record.is_filler:
            self.erased += 1
            self.length += record.length
        last = self._runs[-1] if self._runs else None
        if last and last.offset + last.length == record.offset:
            self._runs[-1] = Run(last.offset, last.length + record.length)
        else:
            self._runs.append(Run(record.offset, record.length))

    def found(self) -> Sequence[Run]:
        """Return all runs."""
        return self._runs


class Place(Protocol):
    """A complete file in a folder or in a volume."""

    file: str
    """Its name, without a folder."""
    chunk_bytes: int
    """Bytes of one read."""

    def size(self) -> int:
        """Return the length in bytes, or 0 if the file is missing."""

    def size_on_disk(self) -> int:
        """Return the bytes that the file takes: in a folder, without its holes."""

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from *start* to *end*."""

    def replace(self, copy: Path) -> None:
        """Replace the file by *copy*, durably and in one step. The copy is gone then."""

    def remove(self) -> None:
        """Remove the file and its index, durably."""

    def index(self) -> bytes | None:
        """Return the index of the file, or None if it has none."""

    def replace_index(self, data: bytes) -> None:
        """Replace the index, durably and in one step."""


class LocalFile:
    """A file in a folder."""

    chunk_bytes = CHUNK_BYTES

    def __init__(self, path: Path) -> None:
        self.file, self._path = path.name, path
        self._index = path.with_name(path.name + INDEX_SUFFIX)

    def size(self) -> int:
        """See `Place`."""
        return self._path.stat().st_size if self._path.exists() else 0

    def size_on_disk(self) -> int:
        """See `Place`."""
        return size_on_disk(self._path)

    def read(self, start: int, end: int) -> bytes:
        """See `Place`."""
        with translate_errors(self._path.parent), self._path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def replace(self, copy: Path) -> None:
        """See `Place`. The file keeps its time of modification."""
        self._replace(copy, self._path)

    def remove(self) -> None:
        """See `Place`."""
        remove_segment(self._path.parent, self.file)

    def index(self) -> bytes | None:
        """See `Place`."""
        return self._index.read_bytes() if self._index.exists() else None

    def replace_index(self, data: bytes) -> None:
        """See `Place`."""
        copy = self._index.with_name(self._index.name + REWRITING_SUFFIX)
        with translate_errors(copy.parent):
            copy.write_bytes(data)
        self._replace(copy, self._index)

    def _replace(self, copy: Path, path: Path) -> None:
        with translate_errors(path.parent):
            before = path.stat()
            os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
            sync(copy)
            os.replace(copy, path)
            sync(path.parent)


class VolumeFile:
    """A file in a volume, under the name *prefix* + *file*. All methods raise VolumeUnavailable."""

    chunk_bytes = 8 << 20

    def __init__(self, volume: Volume, prefix: str, file: str) -> None:
        self.file, self._volume, self._name = file, volume, prefix + file
        self._index = self._name + INDEX_SUFFIX

    def size(self) -> int:
        """See `Place`."""
        return self._volume.size(self._name) or 0

    def size_on_disk(self) -> int:
        """See `Place`."""
        return self.size()

    def read(self, start: int, end: int) -> bytes:
        """See `Place`."""
        return self._volume.read(self._name, start, end)

    def replace(self, copy: Path) -> None:
        """See `Place`."""
        self._volume.put(self._name, copy)
        copy.unlink()

    def remove(self) -> None:
        """See `Place`."""
        # While the file exists, the next pass repeats this.
        self._volume.remove(self._index)
        self._volume.remove(self._name)

    def index(self) -> bytes | None:
        """See `Place`."""
        has_one = self._volume.size(self._index) is not None
        return self._volume.read(self._index) if has_one else None

    def replace_index(self, data: bytes) -> None:
        """See `Place`."""
        self._volume.put_bytes(self._index, data)


def find_files(folder: Path, marks: Iterable[str | None]) -> Iterator[LocalFile]:
    """Yield the files of a writer whose suffix is one of *marks*; None stands for complete ones."""
    with translate_errors(folder):
        for path in sorted(folder.iterdir()):
            match = FILE_NAME.fullmatch(path.name)
            if match and match["mark"] in marks:
                yield LocalFile(path)


def find_in_volume(volume: Volume, prefix: str) -> Iterator[VolumeFile]:
    """Yield the files of a writer in *volume*."""
    for name in volume.names(prefix.rstrip("/")):
        file = name.removeprefix(prefix)
        if name.startswith(prefix) and FILE_NAME.fullmatch(file):
            yield VolumeFile(volume, prefix, file)


def is_parked(file: str) -> bool:
    """Return whether repair has parked a file."""
    return file.endswith(UNCOMMITTED_SUFFIX)


def size_on_disk(path: Path) -> int:
    """Return the bytes that a file takes, without its holes, or 0 if it is missing."""
    return path.stat().st_blocks * 512 if path.exists() else 0


def remove_partial_copies(folder: Path) -> None:
    """Remove what a crash has left of a rewriting."""
    if folder.exists():
        with translate_errors(folder):
            for path in folder.glob(f"*{REWRITING_SUFFIX}"):
                path.unlink()


def read_records(place: Place) -> RecordReader:
    """Return a reader of the records of a file, which may be missing."""
    return RecordReader(_chunks(place), place.file)


def _chunks(place: Place, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    end = place.size() if end is None else end
    for at in range(start, end, place.chunk_bytes):
        yield place.read(at, min(end, at + place.chunk_bytes))


def rewrite(place: Place, runs: Sequence[Run], folder: Path, end: int | None = None) -> None:
    """Replace the records of *runs* by fillers, and remove them from the index.

    With *end*, the bytes behind it are cut off. *folder* has space for a copy.
    """
    if (index := place.index()) is not None:
        place.replace_index(b"".join(_kept_lines(index, runs)))
    copy = folder / (place.file + REWRITING_SUFFIX)
    size = place.size() if end is None else end
    with translate_errors(folder), copy.open("wb") as target:
        _copy(place, target, [*runs, Run(size, 0)])
    place.replace(copy)


def _copy(place: Place, target: IO[bytes], runs: Sequence[Run]) -> None:
    """Copy the bytes between *runs*, of which the last is empty, and write the fillers."""
    position = 0
    for run in runs:
        for chunk in _chunks(place, position, run.offset):
            target.write(chunk)
        position = run.offset + run.length
        if run.length:
            record_id = make_urn(f"{place.file} {run.offset} erased")
            suffix = ZSTD_SUFFIX if ".warc.zst" in place.file else ".gz"
            at = date(parse_begin(place.file))
            for here, data in make_filler(run.length, suffix, record_id, at):
                target.seek(run.offset + here)
                target.write(data)
            target.seek(position)
    target.truncate(position)


def _kept_lines(index: bytes, runs: Sequence[Run]) -> Iterator[bytes]:
    """Yield the lines of a CDXJ index whose records are not in *runs*."""
    starts = [run.offset for run in runs]
    for line in index.splitlines(keepends=True):
        offset = int(json.loads(line.split(b" ", 2)[2])["offset"])
        before = bisect_right(starts, offset) - 1
        if before < 0 or offset >= runs[before].offset + runs[before].length:
            yield line


def parse_begin(file: str) -> float:
    """Return when a segment was begun, by its name, in epoch seconds."""
    return datetime.strptime(file.split("-")[2], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
