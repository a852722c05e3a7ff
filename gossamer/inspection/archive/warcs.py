"""The WARC files of a crawl with their indexes, wherever they are, also while it runs.

A file is in the local folder or in a volume of the archive. An open file counts up to its committed
length. Nothing here holds a whole file or index in memory.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError
from gossamer.events import DEFAULT_CRAWL
from gossamer.services.archive.index import INDEX_SUFFIX, index_file
from gossamer.services.archive.rows import STANDALONE_WRITER, SegmentRow
from gossamer.services.archive.segments import SUFFIXES, is_of_crawl
from gossamer.volumes import Missing, Volume, find_file, read_file

if TYPE_CHECKING:
    from gossamer.inspection.crawls.crawl import OpenCrawl

WARC_SUFFIXES = tuple(SUFFIXES.values())
CHUNK_BYTES = 1 << 20
MERGED_BYTES = 64 << 20
"""Bytes of all indexes that are in memory while they are merged."""
MIN_CHUNK_BYTES = 8 << 10


@dataclass(frozen=True)
class WarcFile:
    """A WARC file of a crawl."""

    name: str
    """Its name relative to the folder or the volume, as in `captures`."""
    length: int
    """Bytes of the file; of an open file, the committed ones."""
    is_open: bool = False

    @property
    def basename(self) -> str:
        """The name without the folder of the writer. It is unique in a fleet."""
        return self.name.rpartition("/")[2]


class WarcFiles:
    """The WARC files in *folder*, the local one, and in *volumes*."""

    def __init__(
        self,
        folder: Path | None,
        volumes: Sequence[Volume] = (),
        rows: Iterable[SegmentRow] = (),
        crawl: str = DEFAULT_CRAWL,
    ) -> None:
        """The files of *crawl*. *rows*: the rows of the writers, read before the files are listed
        here: a file that is completed in between would be missed."""
        self._folder = folder if folder is not None and folder.is_dir() else None
        self._volumes, self._crawl = volumes, crawl
        self.absent = list[str]()
        """Open files that are on other machines."""
        found = {file.name: file for file in self._complete_files()}
        for row in rows:
            for file in self._unfinished_files(row):
                found.setdefault(file.name, file)
        self.files = [found[name] for name in sorted(found)]

    def _complete_files(self) -> Iterator[WarcFile]:
        local = [Volume(self._folder.absolute().as_uri())] if self._folder else []
        for volume in (*local, *self._volumes):
            for name in volume.names():
                is_ours = name.endswith(WARC_SUFFIXES) and is_of_crawl(name, self._crawl)
                length = volume.size(name) if is_ours else None
                if length is not None:
                    yield WarcFile(name, length)

    def _unfinished_files(self, row: SegmentRow) -> Iterator[WarcFile]:
        prefix = "" if row.writer == STANDALONE_WRITER else f"{row.writer}/"
        for file, length in (*row.open.items(), *((file, None) for file in row.full)):
            if not is_of_crawl(file, self._crawl):
                continue
            try:
                volume, name = find_file(self._folder, self._volumes, prefix + file)
            except Missing:
                self.absent.append(prefix + file)
                continue
            yield WarcFile(prefix + file, length or volume.size(name) or 0, is_open=True)

    def leave_out_zstd(self) -> int:
        """Leave out the files with zstd, which pywb and readers of WACZ files cannot read; return
        their number. Raise GossamerError if there are no others."""
        kept = [file for file in self.files if not file.name.endswith(SUFFIXES["zstd"])]
        left_out = len(self.files) - len(kept)
        if left_out and not kept:
            raise GossamerError(
                "all WARC files are compressed with zstd, which this command cannot use: set "
                "archive.compression to gzip for new captures; gossamer show and gossamer cdx read "
                "all of them"
            )
        self.files = kept
        return left_out

    def uris(self, file: WarcFile) -> list[str]:
        """Return the URIs at which *file* may be found now, or after it has been completed."""
        volume, name = find_file(self._folder, self._volumes, file.name)
        return list(dict.fromkeys((volume.uri(name), volume.uri(file.name))))

    def read(self, file: WarcFile, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Yield the bytes of *file* from *start* to *end*, in chunks."""
        yield from self._chunks(file.name, start, file.length if end is None else end, CHUNK_BYTES)

    def _chunks(self, name: str, start: int, end: int, size: int) -> Iterator[bytes]:
        for at in range(start, end, size):
            yield read_file(self._folder, self._volumes, name, at, min(at + size, end))

    def lines(self, file: WarcFile, chunk_bytes: int = CHUNK_BYTES) -> Iterator[str]:
        """Yield the sorted lines of the index of *file*; without an index, derive them."""
        name = file.name + INDEX_SUFFIX
        length = None
        if not file.is_open:
            with suppress(Missing):
                volume, found = find_file(self._folder, self._volumes, name)
                length = volume.size(found)
        if length is None:
            yield from index_file(self.read(file), file.basename)
            return
        yield from split_lines(self._chunks(name, 0, length, chunk_bytes))

    def merged_lines(self) -> Iterator[str]:
        """Yield the lines of the indexes of all files, sorted."""
        size = max(MIN_CHUNK_BYTES, min(CHUNK_BYTES, MERGED_BYTES // max(1, len(self.files))))
        return heapq.merge(*(self.lines(file, size) for file in self.files))


def split_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the whole lines of a text in UTF-8, with their ends."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() + "\n" for line in whole)


def list_warcs(crawl: "OpenCrawl") -> WarcFiles:
    """Return the WARC files of *crawl* as they are now."""
    rows = [*crawl.store().table(SegmentRow).everything()]
    return WarcFiles(crawl.warc, [Volume(url) for url in crawl.volumes], rows, crawl.id)
