"""Repairs at the start what a crash left behind.

| found                                  | because                        | done                 |
|----------------------------------------|--------------------------------|----------------------|
| a committed open segment, too long     | died before the next commit    | truncated, completed |
| a committed open segment, as committed | died after the commit          | completed            |
| a committed open segment, too short    | power cut                      | salvaged, warning    |
| a committed open segment, missing      | somebody moved it              | warning              |
| a full segment still called `.open`    | died before it was renamed     | completed            |
| `.open`, serial above the committed    | died before its first commit   | parked, warning   |
| any other `.open`                      | the store was lost or replaced | salvaged, warning    |

To *salvage* a file is to keep its whole records and cut off the rest. To *parked* is to call it
`.uncommitted`: the log brings its pages again, unless the store was put back to an older state, and
then it is the only copy. A file that holds no whole capture is removed. A complete file is never
changed, whatever the store says.
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
    parked,
    remove,
    truncate,
)
from services.archive.rows import SegmentRow

GZIP = 31
CHUNK = 1 << 20

logger = structlog.get_logger()


def repair(folder: Path, row: SegmentRow | None) -> int:
    """Leave only complete segments in *folder*, made if missing; return the highest serial.

    *row* is what was last committed; None if the store has no row of this writer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if row:
        for file in row.full:
            complete(folder, file)
        for file, length in row.open.items():
            _restore(folder, file, length)
    for path, serial in _open(folder):
        if row and serial > row.serial:
            _parked(path)
        else:
            logger.warning("segment that nobody finished: its whole records are kept", file=path)
            _salvage(path)
    return max([row.serial if row else 0, *_serials(folder)])


def _restore(folder: Path, file: str, length: int) -> None:
    path = folder / (file + OPEN_SUFFIX)
    if (folder / file).exists():
        return  # Completed at the end of its run, which could not say so any more.
    if not path.exists():
        logger.warning("segment is not there; if you moved it, all is well", file=folder / file)
    elif (size := path.stat().st_size) < length:
        logger.warning(
            "segment is shorter than it was, as after a power cut: its whole records are kept",
            file=folder / file,
            bytes_lost=length - size,
        )
        _salvage(path)
    else:
        if size > length:
            truncate(path, length)
        complete(folder, file)


def _parked(path: Path) -> None:
    if not _captures(path):
        remove(path)
        return
    logger.warning(
        "segment that was never committed is parked: its pages come again, so remove it, unless "
        "the store was put back to an older state",
        file=parked(path),
    )


def _salvage(path: Path) -> None:
    ends = _captures(path)
    if not ends:
        remove(path)
        return
    if ends[-1] < path.stat().st_size:
        truncate(path, ends[-1])
    complete(path.parent, path.name.removesuffix(OPEN_SUFFIX))


def _captures(path: Path) -> list[int]:
    """Return where each whole record ends, beyond the first, which is about the file itself."""
    return list(members(path))[1:]


def members(path: Path) -> Iterator[int]:
    """Yield the offset at which each gzip member ends, up to the first incomplete one."""
    end, position, rest = zlib.decompressobj(GZIP), 0, b""
    with path.open("rb") as file, suppress(zlib.error):
        while chunk := rest or file.read(CHUNK):
            position += 0 if rest else len(chunk)
            end.decompress(chunk, CHUNK)
            rest = end.unconsumed_tail
            if end.eof:
                rest, end = end.unused_data, zlib.decompressobj(GZIP)
                yield position - len(rest)


def _open(folder: Path) -> list[tuple[Path, int]]:
    matches = [(path, FILE_NAME.fullmatch(path.name)) for path in sorted(folder.iterdir())]
    return [
        (path, int(match["serial"]))
        for path, match in matches
        if match and match["mark"] == OPEN_SUFFIX
    ]


def _serials(folder: Path) -> list[int]:
    matches = [FILE_NAME.fullmatch(path.name) for path in folder.iterdir()]
    return [int(match["serial"]) for match in matches if match]
