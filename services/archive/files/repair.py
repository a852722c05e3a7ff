"""Repairs the files of a writer at its start, after a crash.

| found                                      | cause                         | action             |
|--------------------------------------------|-------------------------------|--------------------|
| open segment, longer than committed        | crash before the next commit  | truncate, complete |
| open segment, of the committed length      | crash after the commit        | complete           |
| open segment, shorter than committed       | power failure                 | salvage, warn      |
| open segment, missing                      | file was moved                | warn               |
| full segment with the suffix `.open`       | crash before its renaming     | complete           |
| `.open` file with a serial above the row's | crash before its first commit | park, warn         |
| any other `.open` file                     | store was lost or replaced    | salvage, warn      |

To *salvage* a file is to keep its whole records and truncate the rest. To *park* a file is to
rename it to `.uncommitted`: its pages are delivered again, unless the store was restored to an
older state. Then the file is the only copy. A file without a whole capture is removed. A complete
file is never changed, even if the row lists it as open.
"""

import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import structlog

from services.archive.files.segment import (
    FILE_NAME,
    OPEN_SUFFIX,
    complete,
    park,
    remove,
    truncate,
)
from services.archive.rows import SegmentRow

GZIP_WINDOW_BITS = 31
CHUNK_BYTES = 1 << 20

logger = structlog.get_logger()


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
    for path, serial in _find_open_segments(folder):
        if row and serial > row.serial:
            _park(path)
        else:
            logger.warning("unfinished segment: keeping its whole records", file=path)
            _salvage(path)
    return max([row.serial if row else 0, *_serials(folder)])


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
    """Yield the end offset of each gzip member, up to the first incomplete one."""
    member, position, rest = zlib.decompressobj(GZIP_WINDOW_BITS), 0, b""
    with path.open("rb") as file, suppress(zlib.error):
        while chunk := rest or file.read(CHUNK_BYTES):
            position += 0 if rest else len(chunk)
            member.decompress(chunk, CHUNK_BYTES)
            rest = member.unconsumed_tail
            if member.eof:
                rest, member = member.unused_data, zlib.decompressobj(GZIP_WINDOW_BITS)
                yield position - len(rest)


def _find_open_segments(folder: Path) -> list[tuple[Path, int]]:
    matches = [(path, FILE_NAME.fullmatch(path.name)) for path in sorted(folder.iterdir())]
    return [
        (path, int(match["serial"]))
        for path, match in matches
        if match and match["mark"] == OPEN_SUFFIX
    ]


def _serials(folder: Path) -> list[int]:
    matches = [FILE_NAME.fullmatch(path.name) for path in folder.iterdir()]
    return [int(match["serial"]) for match in matches if match]
