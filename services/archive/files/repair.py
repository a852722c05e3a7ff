"""Repairs at the start what a crash left behind.

| found                                    | because                        | done                 |
|------------------------------------------|--------------------------------|----------------------|
| the committed open segment, too long     | died before the next commit    | truncated, completed |
| the committed open segment, as committed | died after the commit          | completed            |
| the committed open segment, too short    | power cut                      | salvaged, warning    |
| the committed open segment, missing      | somebody moved it              | warning              |
| a full segment still called `.open`      | died before it was renamed     | completed            |
| `.open`, serial above the committed      | died before its first commit   | removed              |
| any other `.open`                        | the store was lost or replaced | salvaged, warning    |

To *salvage* a file is to keep its whole records and cut off the rest; without any it is removed.
The committed open segment may have its final name already, if a run completed it but could not
commit. No other complete file is touched.
"""

import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import structlog

from services.archive.files.segment import NAME, OPEN, complete, remove, truncate
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
        if row.file:
            _restore(folder, row.file, row.length)
    for path, serial in _open(folder):
        if row and serial > row.serial:
            remove(path)
        else:
            logger.warning("segment that nobody finished: its whole records are kept", file=path)
            _salvage(path)
    return max([row.serial if row else 0, *_serials(folder)])


def _restore(folder: Path, file: str, length: int) -> None:
    found = [path for path in (folder / (file + OPEN), folder / file) if path.exists()]
    if not found:
        logger.warning("segment is not there; if you moved it, all is well", file=folder / file)
    elif (size := found[0].stat().st_size) < length:
        logger.warning(
            "segment is shorter than it was, as after a power cut: its whole records are kept",
            file=folder / file,
            bytes_lost=length - size,
        )
        _salvage(found[0])
    else:
        if size > length:
            truncate(found[0], length)
        complete(folder, file)


def _salvage(path: Path) -> None:
    ends = list(members(path))
    # The first member is the warcinfo record; alone it describes nothing.
    if len(ends) < 2:
        remove(path)
        return
    if ends[-1] < path.stat().st_size:
        truncate(path, ends[-1])
    complete(path.parent, path.name.removesuffix(OPEN))


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
    matches = [(path, NAME.fullmatch(path.name)) for path in sorted(folder.iterdir())]
    return [(path, int(match["serial"])) for path, match in matches if match and match["open"]]


def _serials(folder: Path) -> list[int]:
    matches = [NAME.fullmatch(path.name) for path in folder.iterdir()]
    return [int(match["serial"]) for match in matches if match]
