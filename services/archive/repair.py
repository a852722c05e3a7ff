"""What a crash leaves behind, put right at the start.

| found                                     | why                              | then              |
|-------------------------------------------|----------------------------------|-------------------|
| the store's open segment, longer          | died before the log moved        | cut, completed    |
| the store's open segment, as long         | died later                       | completed         |
| the store's open segment, shorter or gone | power cut, or somebody's doing   | see below         |
| a full segment with the open mark         | died before it was taken off     | completed         |
| an open one newer than the store knows    | died before the log first moved  | removed           |
| any other open one                        | the store was lost or replaced   | see below         |

The store's open segment may have lost its mark already, if a run ended but could not commit.
Of a file about which the store knows nothing better, the records that are whole are kept, and a
person is told. Complete files are never removed.
"""

import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import structlog

from services.archive.rows import SegmentRow
from services.archive.segment import NAME, OPEN, complete, cut, remove

GZIP = 31
CHUNK = 1 << 20

logger = structlog.get_logger()


def repair(folder: Path, row: SegmentRow | None) -> int:
    """Leave only complete segments in *folder*, made if missing; return the highest serial.

    *row* is what was last committed; None if the store knows nothing of this folder.
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
            cut(found[0], length)
        complete(folder, file)


def _salvage(path: Path) -> None:
    ends = list(members(path))
    # A first member alone is a warcinfo record about nothing.
    if len(ends) < 2:
        remove(path)
        return
    if ends[-1] < path.stat().st_size:
        cut(path, ends[-1])
    complete(path.parent, path.name.removesuffix(OPEN))


def members(path: Path) -> Iterator[int]:
    """Yield the offset at which each gzip member ends, up to the first that is not whole."""
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
