"""The files that `gossamer import` reads: WARC and ARC files, alone, in a WACZ file, or in those
that a JSON file lists (Multi-WACZ).

The bytes of a file say what it is: names of downloaded files are changed too often. A file that is
something else is a source with a problem, so that the other files are imported.
"""

import gzip
import json
import os
import re
import struct
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import SEEK_CUR, SEEK_END, SEEK_SET, BufferedReader, RawIOBase
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, NamedTuple, cast
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from backports import zstd

from gossamer.captures import (
    DICTIONARY_MAGIC,
    MAX_RECORD_BYTES,
    WARC_START,
    BadCapture,
    Capture,
    begins_warc,
    parse_record,
    read_dictionary,
    split_head,
    unpack_record,
)
from gossamer.errors import BadSettings
from gossamer.services.archive.arc import MAX_LINE_BYTES, RECORD_LINE, arc_length, as_warc
from gossamer.services.archive.arc import START as ARC_START
from gossamer.services.archive.reading import (
    CHUNK_BYTES,
    LINE_ENDS,
    MAX_HEAD_BYTES,
    MAX_LINE_END_BYTES,
    RECORD_START,
    PlainRecordReader,
    RecordHead,
    RecordReader,
    read_chunks,
    record_length,
)
from gossamer.web.coding import GZIP, GZIP_MAGIC, ZSTD_MAGIC

START_BYTES = 64 << 10
"""Bytes of a file that say what it is. Some writers fill the header of the first gzip member."""
DAMAGED_ZIP = (BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error)
"""Errors of a ZIP file or a member of it that is damaged, encrypted or of an unknown kind."""
DAMAGED = (*DAMAGED_ZIP, gzip.BadGzipFile, zstd.ZstdError)
"""Errors of a file that cannot be unpacked."""
ZIP_MAGIC = b"PK\x03\x04"
WACZ_SUFFIX = ".wacz"
LOCAL_HEADER = struct.Struct("<4s14xL4xHH")
"""Signature, compressed size, and the lengths of the name and of the extra field (APPNOTE,
4.3.7)."""
DESCRIPTOR_MAGIC, DESCRIPTOR_SIZES = b"PK\x07\x08", (16, 24)
"""The beginning of the descriptor behind a member whose header has no size, and its lengths."""
UNKNOWN_SIZES = (0, 0xFFFFFFFF)
"""The compressed size of a header that does not have it."""
NO_LIST = "the list of its files, which is at its end, is missing or damaged"
DESCRIPTION = "datapackage.json"
MAX_DESCRIPTION_BYTES = 16 << 20
MULTI_WACZ = "multi-wacz-package"
"""The profile of a description whose resources are WACZ files, whatever their names are."""
JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
URL_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The beginning of a URL. A letter alone is a drive of Windows."""
OUTSIDE = "its path leads out of the folder of the list"
ON_SERVER, NOT_THERE = "listed file that is on a server", "listed file that is not there"
MAX_DEPTH = 2
"""WACZ files in which another one is opened: a collection of collections."""
TOO_DEEP = "it is in too many WACZ files, one in another"
ENCRYPTED = 1
"""The flag of an encrypted member."""
EMPTY = "it is empty"
NOT_A_WARC = "it is not a WARC, ARC or WACZ file"
OTHER_COMPRESSIONS = {
    b"\x04\x22\x4d\x18": ("LZ4", "lz4 -d"),
    b"\x02\x21\x4c\x18": ("LZ4", "lz4 -d"),  # The older format.
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ\0": ("xz", "unxz"),
}
"""First bytes of a file → its compression, which is not read, and the command that unpacks it."""
PACKED_TOGETHER = "records are not compressed one by one"
NO_DICTIONARY = "its records need a dictionary, which is not in the file"


MAX_RESTARTS = 1000
"""Damaged parts of a file behind which the next record is searched."""
MAX_FALSE_MARKS = 100
"""Places that look like the first record, if the beginning of a file is damaged."""
MARK_BYTES = 24
"""Bytes that the beginning of a record has at most."""
ARCHIVE_NAME = re.compile(r"(?i)(?:^|/)(?!\._)[^/]*\.w?arc(?:\.(?:gz|zst|lz4|bz2|xz))?(?:\.open)?$")
"""The names of WARC and ARC files, but not of those in which macOS has their attributes."""
GZIP_MEMBER = GZIP_MAGIC + b"\x08"
"""The first bytes of a gzip member with deflate."""


class PackedTogether(BadCapture):
    """A gzip member or zstd frame has several records, or a part of one: they have no positions in
    the file."""


class Damage(NamedTuple):
    """A part of a file that cannot be read."""

    start: int
    end: int | None
    """None at the end of the file."""
    record: str = ""
    """Type and URL of the record that begins there; "" if they are missing."""

    def __str__(self) -> str:
        if self.end == self.start:
            return f"is damaged before byte {self.end}"
        end = "on" if self.end is None else f"to {self.end}"
        where = f", in the {self.record}" if self.record else ""
        return f"is damaged from byte {self.start} {end}{where}"


@dataclass(frozen=True)
class Source:
    """A WARC or ARC file, or a member of a WACZ file."""

    name: str
    written_at: float
    """When the file was last changed: no capture in it is later."""
    open: Callable[[], AbstractContextManager[BinaryIO]]
    problem: str = ""
    """Why the file cannot be read; "" if it can."""
    missing: str = ""
    """The kind of a listed file that is missing; "" if it is there."""
    dictionaries: set[int] = field(default_factory=set)
    """Positions of the dictionaries behind the first one, if files of zstd were joined. They are
    known for the records that were read."""


def sources_of(path: Path) -> list[Source]:
    """Return the WARC and ARC files at *path*: the file itself, or those in a WACZ file, also in
    one of several WACZ files (Multi-WACZ), or those that a JSON file lists.

    Raise BadSettings if there is no such file.
    """
    if not path.is_file():
        raise BadSettings(f"{path} is not a file")
    return _find_sources(path, path.name, is_listed=False)


def _find_sources(path: Path, name: str, *, is_listed: bool) -> list[Source]:
    try:
        written_at = path.stat().st_mtime
        with path.open("rb") as file:
            start = file.read(START_BYTES)
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error}") from error
    alone = Source(name, written_at, lambda: path.open("rb"))
    if _unpack(start).startswith(GZIP_MAGIC):
        # It was compressed again, as a server does while it sends a file.
        alone = unpack(alone)
        start = _unpack(start)
    if is_archive(start):
        return [alone]
    if not is_listed and JSON_START.match(start):
        with path.open("rb") as file:
            listed = _find_archives_in(file.read(MAX_DESCRIPTION_BYTES))
        if listed:
            return [found for one in listed for found in _find_listed(path, alone, one)]
    if not start.startswith(ZIP_MAGIC):
        if ARCHIVE_NAME.search(path.name):
            return [alone]  # Its beginning may be damaged.
        return [replace(alone, problem=_describe_other(start))]
    return _members_of(alone)


def _is_empty(start: bytes) -> bool:
    try:
        return not (gzip.decompress(start) if start.startswith(GZIP_MAGIC) else start)
    except DAMAGED:
        return False


def _find_listed(path: Path, description: Source, listed: str) -> list[Source]:
    """Return the files at *listed*, which the JSON file *path* lists. A path never leads out of the
    folder of the list (Data Package, "Data Location"), because others may have written it."""
    found = replace(description, name=f"{description.name}/{listed}")
    if URL_SCHEME.match(listed):
        return [replace(found, missing=ON_SERVER)]
    relative = PureWindowsPath(listed)
    beside = path.parent.joinpath(*relative.parts)
    if relative.anchor or ".." in relative.parts:
        return [replace(found, problem=OUTSIDE)]
    if not beside.is_file():
        return [replace(found, missing=NOT_THERE)]
    return _find_sources(beside, found.name, is_listed=True)


def _describe_other(start: bytes) -> str:
    """Return why a file that begins with *start* is not read."""
    if _is_empty(start):
        return EMPTY
    for magic, (name, command) in OTHER_COMPRESSIONS.items():
        if start.startswith(magic):
            return f"it is compressed with {name}, which is not read: use {command} first"
    return NOT_A_WARC


def _members_of(source: Source, depth: int = 0) -> list[Source]:
    """Return the WARC and ARC files in the WACZ file *source*, which is in *depth* others, and
    those in WACZ files in it."""
    if depth > MAX_DEPTH:
        return [replace(source, problem=TOO_DEEP)]
    found = list[Source]()
    try:
        with source.open() as file, ZipFile(file) as packed:
            for one in sorted(packed.infolist(), key=lambda one: one.filename):
                is_inner = one.filename.lower().endswith(WACZ_SUFFIX)
                if not is_inner and not _is_archive_member(packed, one.filename):
                    continue
                name, opener = f"{source.name}/{one.filename}", _opener_of(source, one)
                member = Source(name, source.written_at, opener)
                found += _members_of(member, depth + 1) if is_inner else [member]
            for path in _missing_members(packed):
                kind = ON_SERVER if URL_SCHEME.match(path) else NOT_THERE
                found.append(replace(source, name=f"{source.name}/{path}", missing=kind))
    except (OSError, ValueError, struct.error, *DAMAGED) as error:
        is_read = not isinstance(error, OSError)
        if is_read and (rescued := _find_unlisted_members(source)):
            return [replace(source, problem=NO_LIST), *rescued]
        return [replace(source, problem=f"it cannot be read: {error}")]
    return found or [replace(source, problem="it has no WARC file")]


def _missing_members(packed: ZipFile) -> list[str]:
    """Return the WARC, ARC and WACZ files that the description of a WACZ file lists, and that are
    not in it under any path: the collection is on other servers, or a part of it was lost."""
    names, listed = {PureWindowsPath(name).name for name in packed.namelist()}, list[str]()
    for member in packed.namelist():
        if PureWindowsPath(member).name != DESCRIPTION:
            continue
        with suppress(*DAMAGED_ZIP), packed.open(member) as file:
            listed += _find_archives_in(file.read(MAX_DESCRIPTION_BYTES))
    return [path for path in listed if PureWindowsPath(path).name not in names]


def _find_archives_in(description: bytes) -> list[str]:
    """Return the path or URL of each archive in the *description* of a WACZ file or of several.

    Invalid entries are skipped.
    """
    try:
        package = json.loads(description.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return []
    resources = package.get("resources") if isinstance(package, dict) else None
    if not isinstance(resources, list):
        return []
    are_all_archives = package.get("profile") == MULTI_WACZ
    found = list[str]()
    for resource in resources:
        paths = resource.get("path") if isinstance(resource, dict) else None
        for path in paths if isinstance(paths, list) else [paths]:
            if not isinstance(path, str) or not path.strip():
                continue
            name = path.partition("?")[0] if URL_SCHEME.match(path) else path
            is_archive_name = ARCHIVE_NAME.search(name) or name.lower().endswith(WACZ_SUFFIX)
            if are_all_archives or is_archive_name:
                found.append(path)
    return list(dict.fromkeys(found))


def _find_unlisted_members(source: Source) -> list[Source]:
    """Return the WARC and ARC files in the WACZ file *source*, which was cut off, by their own
    headers. A file without a size ends before the next header."""
    found = list[Source]()
    with source.open() as file:
        size, at = file.seek(0, SEEK_END), _find(file, ZIP_MAGIC, 0)
        while at is not None:
            header = read_range(file, at, at + LOCAL_HEADER.size)
            if len(header) < LOCAL_HEADER.size:
                break
            _, length, name_length, extra_length = LOCAL_HEADER.unpack(header)
            name = file.read(name_length).decode(errors="replace")
            start = at + LOCAL_HEADER.size + name_length + extra_length
            at = _find(file, ZIP_MAGIC, start)
            if is_archive(read_range(file, start, start + START_BYTES)):
                end = min(size, start + length)
                if length in UNKNOWN_SIZES:
                    end = _end_of(file, start, at or size)
                opener = partial(_open_part, source, start, end - start)
                found.append(Source(f"{source.name}/{name}", source.written_at, opener))
                at = _find(file, ZIP_MAGIC, end)
    return found


def _end_of(file: BinaryIO, start: int, end: int) -> int:
    """Return the end of the member from *start*, before its descriptor at *end*, if it has one."""
    for size in DESCRIPTOR_SIZES:
        if end - size > start and read_range(file, end - size, end).startswith(DESCRIPTOR_MAGIC):
            return end - size
    return end


def _is_archive_member(packed: ZipFile, name: str) -> bool:
    try:
        with packed.open(name) as member:
            start = member.read(START_BYTES)
            return is_archive(start) or bool(start and ARCHIVE_NAME.search(name))
    except DAMAGED_ZIP:
        # The member is damaged, encrypted or compressed by an unknown method. Its name decides
        # whether it is missed. In a WACZ file, WARC files are in the folder `archive`.
        return ".warc" in name or name.startswith("archive/")


def is_archive(start: bytes) -> bool:
    """Return whether a file that begins with *start* is a WARC or ARC file."""
    if start.startswith((ZSTD_MAGIC, DICTIONARY_MAGIC)):
        return True
    found = _unpack(start).lstrip()
    return begins_warc(found) or _begins_arc(found)


def _begins_arc(data: bytes) -> bool:
    """Return whether an ARC file, or the rest of one, begins with *data*."""
    return data.lstrip().startswith(ARC_START) or arc_length(data) is not None


def _unpack(start: bytes) -> bytes:
    """Return the beginning of the first gzip member that is not empty; *start* without one."""
    found, rest = b"", start
    try:
        while not found and rest.startswith(GZIP_MAGIC):
            member = zlib.decompressobj(GZIP)
            found, rest = member.decompress(rest, START_BYTES), member.unused_data
    except zlib.error:
        return b""
    return found if start.startswith(GZIP_MAGIC) else start


def _opener_of(source: Source, member: ZipInfo) -> Callable[[], AbstractContextManager[BinaryIO]]:
    """Return the function that opens *member*. Each capture is read by its position, to which the
    reader of `zipfile` would read all bytes before it."""
    if member.compress_type != ZIP_STORED or member.flag_bits & ENCRYPTED:
        return _Unpacked(partial(_open_member, source, member)).open
    if member.header_offset < 0:
        raise BadZipFile("the position of a member is negative")
    with source.open() as file:
        file.seek(member.header_offset)
        header = file.read(LOCAL_HEADER.size)
    magic, _, name_length, extra_length = LOCAL_HEADER.unpack(header)
    if magic != ZIP_MAGIC:
        raise BadZipFile("a local header is damaged")
    start = member.header_offset + LOCAL_HEADER.size + name_length + extra_length
    return partial(_open_part, source, start, member.file_size)


@contextmanager
def _open_part(source: Source, start: int, size: int) -> Iterator[BinaryIO]:
    with source.open() as file:
        raw = getattr(file, "raw", None)
        part = raw.part(start, size) if isinstance(raw, _Part) else _Part(file, start, size)
        yield cast(BinaryIO, BufferedReader(part))


class _Part(RawIOBase):
    """The bytes of *file* from *start* on, as a file of *size* bytes."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def part(self, start: int, size: int) -> "_Part":
        """Return a part of this part."""
        return _Part(self._file, self._start + start, size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._at = max(0, offset + {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = max(0, min(len(buffer), self._size - self._at))
        found = os.pread(self._file.fileno(), wanted, self._start + self._at)
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


@contextmanager
def _open_member(source: Source, member: ZipInfo) -> Iterator[BufferedReader]:
    with source.open() as file, ZipFile(file) as packed, packed.open(member) as opened:
        yield cast(BufferedReader, opened)


def unpack(source: Source) -> Source:
    """Return *source*, whose records are compressed together, as a plain file."""
    return replace(source, open=_Unpacked(partial(_open_packed, source)).open)


@contextmanager
def _open_packed(source: Source) -> Iterator[BufferedReader]:
    with source.open() as file:
        start = file.read(len(DICTIONARY_MAGIC))
        dictionary = None
        if _has_dictionary(start):
            dictionary = zstd.ZstdDict(read_dictionary(partial(read_range, file)))
        is_gzip = start.startswith(GZIP_MAGIC)
        file.seek(0)
        with gzip.open(file) if is_gzip else zstd.open(file, zstd_dict=dictionary) as opened:
            yield cast(BufferedReader, opened)


class _Unpacked:
    """A compressed file, which is unpacked into a temporary file when it is first opened."""

    def __init__(self, packed: Callable[[], AbstractContextManager[BufferedReader]]) -> None:
        self._packed = packed
        self._file: IO[bytes] | None = None
        self._size = 0

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the unpacked file."""
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115  # Closed with this object.
            weakref.finalize(self, self._file.close)
            self._unpack(self._file)
        yield cast(BinaryIO, BufferedReader(_Part(cast(BinaryIO, self._file), 0, self._size)))

    def _unpack(self, file: IO[bytes]) -> None:
        try:
            with self._packed() as packed:
                for chunk in iter(partial(packed.read1, START_BYTES), b""):
                    file.write(chunk)
        except DAMAGED:
            if not file.tell():
                raise
            # No record begins with a zero byte, so the reader reports damage here.
            file.write(b"\0")
        file.flush()
        self._size = file.tell()


def records_of(file: BinaryIO, dictionaries: set[int]) -> Iterator[RecordHead | Damage]:
    """Yield the records of *file*, as records of WARC, and the damaged parts between them.

    Add the position of each dictionary but the first to *dictionaries*, before its records. Raise
    BadCapture if it is not an archive, and PackedTogether if its records are not compressed one by
    one.
    """
    start = file.read(START_BYTES)
    dictionary = read_dictionary(partial(read_range, file)) if _has_dictionary(start) else None
    at, mark = _find_first_record(file, start)
    if dictionary is None and _needs_dictionary(start):
        raise BadCapture(NO_DICTIONARY)
    damaged_at, lost = 0 if at else -1, ""
    for _ in range(MAX_RESTARTS):
        reader = _reader_at(file, at, mark, dictionary)
        base = at if isinstance(reader, RecordReader) else 0
        is_cut, behind_dictionary = False, None
        for head in reader:
            if damaged_at >= 0:
                if not _is_blank(file, damaged_at, at):
                    yield Damage(min(damaged_at, at), at, lost)
                damaged_at = -1
            offset = base + head.offset
            if not head.head:
                other = _read_dictionary_at(file, offset)
                if other not in (None, dictionary):
                    dictionaries.add(offset)
                    dictionary, behind_dictionary = other, offset + head.length
                    break
            if head.unpacked_length:
                length = _content_end(head.head)
                _check_packing(head, length, is_cut)
                begins = _begins_record(head.head)
                is_cut = head.unpacked_length < length if length else begins
                has_whole_head = head.unpacked_length < MAX_HEAD_BYTES or not begins
                if length is None and has_whole_head:
                    if not head.head.strip(LINE_ENDS):
                        continue  # Some writers compress the lines behind a record alone.
                    yield Damage(offset, offset + head.length)
                    continue
            yield RecordHead(offset, head.length, as_warc(head.head) or head.head)
        if behind_dictionary is not None:
            at, mark = behind_dictionary, ZSTD_MAGIC
            continue
        if not reader.is_damaged:
            return
        if behind := _mark_at(file, base + reader.position, mark):
            at, mark = base + reader.position, behind
            continue
        if isinstance(reader, RecordReader):
            begun = RecordHead(base + reader.position, 0, bytes(reader.begun))
            _check_packing(begun, _content_end(begun.head), is_behind_cut=False)
        if damaged_at < 0:
            damaged_at = base + reader.position
            lost = _describe(_read_begun(reader, file))
        # A record whose Content-Length is too large has the beginning of the next one.
        behind_at = base + reader.position - (MARK_BYTES if mark == WARC_START else 0)
        next_at = _find(file, mark, max(at, behind_at) + 1)
        if next_at is None:
            break
        at = next_at
    if not _is_blank(file, damaged_at, None):
        yield Damage(damaged_at, None, lost)


def _find_first_record(file: BinaryIO, start: bytes) -> tuple[int, bytes]:
    """Return position and mark of the first record in *file*, which begins with *start*, or whose
    beginning is damaged or missing. Raise BadCapture without one."""
    if is_archive(start):
        return 0, _mark_of(start)
    if start.startswith(tuple(OTHER_COMPRESSIONS)):
        raise BadCapture(_describe_other(start))  # LZ4 has whole heads of records.
    for mark in (GZIP_MEMBER, ZSTD_MAGIC, WARC_START, ARC_START):
        at = _find(file, mark, 1)
        for _ in range(MAX_FALSE_MARKS):
            if at is None:
                break
            if is_archive(read_range(file, at, at + START_BYTES)):
                return at, mark
            at = _find(file, mark, at + 1)
    raise BadCapture(NOT_A_WARC)


def _read_dictionary_at(file: BinaryIO, at: int) -> bytes | None:
    """Return the dictionary at this place of *file*; None without one."""
    position = file.tell()
    try:
        return read_dictionary(_reader_behind(file, at))
    except BadCapture:
        return None
    finally:
        file.seek(position)  # A reader goes on there.


def _reader_behind(file: BinaryIO, at: int) -> Callable[[int, int], bytes]:
    """Return the function that reads bytes by their positions behind *at*."""
    return lambda start, end: read_range(file, at + start, at + end)


def _read_begun(reader: RecordReader | PlainRecordReader, file: BinaryIO) -> bytes:
    """Return the beginning of the damaged or partial record behind the last one of *reader*."""
    if isinstance(reader, RecordReader):
        return bytes(reader.begun)
    return read_range(file, reader.position, reader.position + MAX_HEAD_BYTES)


def _describe(begun: bytes) -> str:
    """Return type and URL of the record that has *begun*; "" if its head is not whole."""
    head = RecordHead(0, 0, as_warc(begun) or begun)
    is_whole = _begins_record(begun) and split_head(begun)[1] is not None
    return f"{head.kind} record of {head.url}" if is_whole and head.kind and head.url else ""


def _is_blank(file: BinaryIO, start: int, end: int | None) -> bool:
    """Return whether no more than empty lines are from *start* to *end* of *file*."""
    most, position = start + MAX_LINE_END_BYTES, file.tell()
    end = most + 1 if end is None else min(end, most + 1)
    found = read_range(file, start, max(start, end))
    file.seek(position)  # A reader goes on there.
    return 0 < len(found) <= MAX_LINE_END_BYTES and not found.strip(LINE_ENDS)


def _has_dictionary(start: bytes) -> bool:
    return start.startswith(DICTIONARY_MAGIC)


def _mark_of(start: bytes) -> bytes:
    """Return the bytes that each record begins with in a file that begins with *start*."""
    if _has_dictionary(start):
        return ZSTD_MAGIC
    for mark in (GZIP_MEMBER, GZIP_MAGIC, ZSTD_MAGIC):
        if start.startswith(mark):
            return mark
    if begins_warc(start.lstrip()):
        return WARC_START
    if _begins_arc(start):
        return ARC_START
    raise BadCapture(NOT_A_WARC)


def _mark_at(file: BinaryIO, at: int, mark: bytes) -> bytes:
    """Return the mark of the records from *at* on if two files of different kinds were joined
    there; "" otherwise. The records of the first file begin with *mark*."""
    start = read_range(file, at, at + START_BYTES)
    magic = (GZIP_MEMBER, ZSTD_MAGIC, DICTIONARY_MAGIC)
    is_packed = start.startswith(magic) and is_archive(start)
    is_warc, is_arc = RECORD_START.match(start) is not None, start.startswith(ARC_START)
    others = {WARC_START: is_packed or is_arc, ARC_START: is_packed or is_warc}
    return _mark_of(start) if others.get(mark, is_warc or is_arc) else b""


def _check_packing(head: RecordHead, length: int | None, is_behind_cut: bool) -> None:
    """Raise PackedTogether if the gzip member or zstd frame of *head* has more than its record of
    *length* bytes, or the rest of the record before, which *is_behind_cut*.

    Bytes behind a long record raise it, too, since they may be another record.
    """
    if is_behind_cut and head.head and not _begins_record(head.head):
        raise PackedTogether(PACKED_TOGETHER)
    if length is None:
        return
    rest = head.head[length:].lstrip(LINE_ENDS)
    is_unknown = length >= len(head.head) and head.unpacked_length - length > MAX_LINE_END_BYTES
    has_more = _begins_record(rest) or RECORD_START.search(rest) or RECORD_LINE.search(rest)
    if has_more or is_unknown:
        raise PackedTogether(PACKED_TOGETHER)


def _begins_record(data: bytes) -> bool:
    return begins_warc(data) or arc_length(data) is not None


def _content_end(data: bytes) -> int | None:
    """Return the length of the record that *data* begins with; None without one."""
    return record_length(data) or arc_length(data)


def _needs_dictionary(start: bytes) -> bool:
    try:
        return start.startswith(ZSTD_MAGIC) and zstd.get_frame_info(start).dictionary_id != 0
    except zstd.ZstdError:
        return False


def _reader_at(
    file: BinaryIO, at: int, mark: bytes, dictionary: bytes | None
) -> RecordReader | PlainRecordReader:
    file.seek(at)
    if mark in (WARC_START, ARC_START):
        length_of = record_length if mark == WARC_START else arc_length
        reader = PlainRecordReader(file, length_of)
        reader.position = at
        return reader
    return RecordReader(read_chunks(file.read), dictionary=dictionary)


def _find(file: BinaryIO, mark: bytes, at: int) -> int | None:
    """Return the position of the next record from *at* on, by its *mark*, or in an ARC file by its
    first line."""
    others = {WARC_START: RECORD_START, ARC_START: RECORD_LINE}
    sought = others.get(mark) or re.compile(re.escape(mark))
    if mark == ARC_START:
        at -= 1  # The line before it ends there.
    overlap = MAX_LINE_BYTES if mark == ARC_START else MARK_BYTES
    while True:
        file.seek(at)
        chunk = file.read(CHUNK_BYTES)
        if found := sought.search(chunk):
            return at + found.start()
        if len(chunk) < CHUNK_BYTES:
            return None
        at += len(chunk) - overlap


def read_capture_at(source: Source, offset: int, length: int) -> Capture:
    """Return the capture at this place of *source*. Raise BadCapture if there is none."""
    return parse_record(read_record_at(source, offset, length))


def read_record_at(source: Source, offset: int, length: int) -> bytes:
    """Return the record at this place of *source*, as a plain one of WARC. Raise BadCapture if
    there is none."""
    if length > MAX_RECORD_BYTES:
        raise BadCapture(f"the record has more than {MAX_RECORD_BYTES} bytes")
    with source.open() as file:
        packed = read_range(file, offset, offset + length)
        if arc_length(packed) is not None:
            return as_warc(packed) or b""
        behind = max((one for one in source.dictionaries if one <= offset), default=0)
        dictionary = partial(read_dictionary, _reader_behind(file, behind))
        record = unpack_record(packed, dictionary)
    return as_warc(record) or record


def read_range(file: BinaryIO, start: int, end: int) -> bytes:
    """Return the bytes of *file* from *start* to *end*."""
    file.seek(start)
    return file.read(end - start)
