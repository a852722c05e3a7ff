"""The files that `gossamer import` reads: WARC and ARC files, alone or in a WACZ file.

The bytes of a file say what it is: names of downloaded files are changed too often. A file that is
something else is a source with a problem, so that the other files are imported.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import BadZipFile, ZipFile

from gossamer.captures import (
    DICTIONARY_MAGIC,
    MAX_RECORD_BYTES,
    BadCapture,
    Capture,
    parse_record,
    read_dictionary,
    unpack_record,
)
from gossamer.errors import BadSettings
from gossamer.web.coding import GZIP, GZIP_MAGIC, ZSTD_MAGIC
from services.archive.arc import START as ARC_START
from services.archive.arc import arc_length, as_warc
from services.archive.reading import (
    PlainRecordReader,
    RecordReader,
    read_chunks,
    record_length,
)

START_BYTES = 64 << 10
"""Bytes of a file that say what it is. Some writers fill the header of the first gzip member."""
WARC_START = b"WARC/"
ZIP_MAGIC = b"PK\x03\x04"
NOT_A_WARC = "it is not a WARC, ARC or WACZ file"


@dataclass(frozen=True)
class Source:
    """A WARC or ARC file, or a member of a WACZ file."""

    name: str
    written_at: float
    """When the file was last changed: no capture in it is later."""
    open: Callable[[], AbstractContextManager[BinaryIO]]
    problem: str = ""
    """Why the file cannot be read; "" if it can."""


def sources_of(path: Path) -> list[Source]:
    """Return the WARC and ARC files at *path*: the file itself, or those in a WACZ file.

    Raise BadSettings if there is no such file.
    """
    if not path.is_file():
        raise BadSettings(f"{path} is not a file")
    try:
        written_at = path.stat().st_mtime
        with path.open("rb") as file:
            start = file.read(START_BYTES)
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error}") from error
    alone = Source(path.name, written_at, lambda: path.open("rb"))
    if is_archive(start):
        return [alone]
    if not start.startswith(ZIP_MAGIC):
        return [_with_problem(alone, NOT_A_WARC)]
    try:
        with ZipFile(path) as packed:
            names = sorted(one for one in packed.namelist() if _is_archive_member(packed, one))
    except (OSError, BadZipFile) as error:
        return [_with_problem(alone, f"it cannot be read: {error}")]
    if not names:
        return [_with_problem(alone, "it has no WARC file")]
    return [
        Source(f"{path.name}/{one}", written_at, partial(_open_member, path, one)) for one in names
    ]


def _with_problem(source: Source, problem: str) -> Source:
    return Source(source.name, source.written_at, source.open, problem)


def _is_archive_member(packed: ZipFile, name: str) -> bool:
    try:
        with packed.open(name) as member:
            return is_archive(member.read(START_BYTES))
    except (BadZipFile, NotImplementedError, RuntimeError, zlib.error):
        # The member is damaged, encrypted or compressed by an unknown method. Its name decides
        # whether it is missed.
        return ".warc" in name


def is_archive(start: bytes) -> bool:
    """Return whether a file that begins with *start* is a WARC or ARC file."""
    if start.startswith((ZSTD_MAGIC, DICTIONARY_MAGIC)):
        return True
    return _unpacked(start).lstrip().startswith((WARC_START, ARC_START))


def _unpacked(start: bytes) -> bytes:
    if not start.startswith(GZIP_MAGIC):
        return start
    try:
        return zlib.decompressobj(GZIP).decompress(start, len(ARC_START) + 64)
    except zlib.error:
        return b""


@contextmanager
def _open_member(path: Path, name: str) -> Iterator[BinaryIO]:
    with ZipFile(path) as packed, packed.open(name) as member:
        yield cast(BinaryIO, member)


def reader_of(file: BinaryIO) -> RecordReader | PlainRecordReader:
    """Return the reader of *file* by its first bytes. Raise BadCapture if it is not an archive."""
    start = file.read(START_BYTES)
    file.seek(0)
    if start.startswith((GZIP_MAGIC, ZSTD_MAGIC)):
        return RecordReader(read_chunks(file.read))
    if start.startswith(DICTIONARY_MAGIC):
        dictionary = read_dictionary(partial(read_range, file))
        file.seek(0)
        return RecordReader(read_chunks(file.read), dictionary=dictionary)
    if start.lstrip().startswith(WARC_START):
        return PlainRecordReader(file, record_length)
    if start.lstrip().startswith(ARC_START):
        return PlainRecordReader(file, arc_length)
    raise BadCapture(NOT_A_WARC)


def read_capture_at(source: Source, offset: int, length: int) -> Capture:
    """Return the capture at this place of *source*. Raise BadCapture if there is none."""
    if length > MAX_RECORD_BYTES:
        raise BadCapture(f"the record has more than {MAX_RECORD_BYTES} bytes")
    with source.open() as file:
        packed = read_range(file, offset, offset + length)
        if arc_length(packed) is not None:
            return parse_record(as_warc(packed) or b"")
        dictionary = partial(read_dictionary, partial(read_range, file))
        record = unpack_record(packed, dictionary)
    return parse_record(as_warc(record) or record)


def read_range(file: BinaryIO, start: int, end: int) -> bytes:
    """Return the bytes of *file* from *start* to *end*."""
    file.seek(start)
    return file.read(end - start)
