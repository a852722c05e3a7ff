"""WACZ 1.1.1 (specs.webrecorder.net/wacz/1.1.1): WARC files, index and pages in one ZIP file.

Files, lines and pages are copied as they are read; memory has the index of one file at a time. WARC
files and the compressed index are stored in the ZIP without another compression, so that a reader
finds a record in it by an offset.

The index has another line for a capture if the keys by which pywb and ReplayWeb.page search its URL
differ, and for each other spelling of the URL by which a browser may ask. It leaves out captures of
a 304. Their records are in the WARC files, and their pages in the list.

The size of each file is known before its entry begins. A file of 2 GiB or more has the fields of
ZIP64 in both of its headers, and a smaller one in none: ReplayWeb.page computes where a file begins
from the entry in the central directory.

A signature is the anonymous one of WACZ Signing and Verification 0.1.0: ECDSA with SHA-256 over the
hash of `datapackage.json`, r and s one after another, with the public key beside it.
"""

import heapq
import json
import os
import re
import sqlite3
import zipfile
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from gossamer.errors import BadSettings
from gossamer.events import Page
from gossamer.inspection.archive.selection import Selection
from gossamer.inspection.archive.warcs import CHUNK_BYTES, WarcFile, WarcFiles, split_lines
from gossamer.services.archive.index import Line, index_line, is_replayed, timestamp_of
from gossamer.services.archive.reading import RecordReader
from gossamer.services.archive.records import SOFTWARE, date
from gossamer.web.coding import GZIP, INFLATERS
from gossamer.web.surt import viewer_key, viewer_spellings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

VERSION = "1.1.1"
INDEX_LINES = 1024
"""Lines in each compressed block of the index."""
SEARCHED_BYTES = 1 << 20
"""Compressed bytes of the list of pages that ReplayWeb.page searches, if it has texts."""
VIEWER_CODINGS = ("gzip", "br")
"""Each Content-Encoding that ReplayWeb.page decodes, in these letters."""
TIMESTAMP_DIGITS = 17
"""Milliseconds: ReplayWeb.page looks for the response of a revisit record at the time in the record
or later, and would find the version behind it at a time in seconds."""
CURVES = ("secp256r1", "secp384r1")
PAGES = "pages/pages.jsonl"
"""The list of all pages. The optional `pages/extraPages.jsonl` for those that are not seeds is not
written: ReplayWeb.page would search the texts of that list alone."""
_content_encoding = re.compile(rb"(?im)^content-encoding:([^\r\n]*)")


class Wacz:
    """A WACZ file while it is written to *path*; *now* in epoch seconds."""

    def __init__(self, path: Path, now: float) -> None:
        self._zip = ZipFile(path, "w", ZIP_STORED)
        self._now = datetime.fromtimestamp(now, UTC)
        self._resources = list[dict[str, str | int]]()
        self._lines = TemporaryFile()  # noqa: SIM115  # Closed by `discard`.
        self._line_ranges = list[tuple[int, int]]()
        self._captured = sqlite3.connect("")
        self._captured.execute("CREATE TABLE captured (url TEXT, at TEXT, PRIMARY KEY (url, at))")
        self._main: dict[str, str] = {}
        self.files = self.captures = self.pages = 0
        self.is_searched_in_part = False
        """Whether ReplayWeb.page searches the first pages of the list only."""
        self.undecoded = Counter[str]()
        """Content-Encoding that ReplayWeb.page does not decode → captures."""
        self.damaged = set[str]()
        """Files that cannot be read to their end."""

    @contextmanager
    def _entry(
        self, name: str, size: int, compression: int = ZIP_STORED
    ) -> Iterator[Callable[[bytes], None]]:
        info = ZipInfo(name, self._now.timetuple()[:6])
        info.compress_type = compression
        digest = sha256()
        is_large = size > zipfile.ZIP64_LIMIT
        with self._zip.open(info, "w", force_zip64=is_large) as entry:

            def write(data: bytes) -> None:
                entry.write(data)
                digest.update(data)

            yield write
        base = name.rpartition("/")[2].lower()
        hashed = f"sha256:{digest.hexdigest()}"
        resource: dict[str, str | int] = {
            "name": base,
            "path": name,
            "hash": hashed,
            "bytes": info.file_size,
        }
        self._resources.append(resource)

    def _add_file(
        self, name: str, file: IO[bytes], header: bytes = b"", compression: int = ZIP_DEFLATED
    ) -> None:
        """Add *header* and the content of *file*, a temporary one whose size is known now."""
        size = len(header) + file.tell()
        file.seek(0)
        with self._entry(name, size, compression) as write:
            write(header)
            for chunk in iter(partial(file.read, CHUNK_BYTES), b""):
                write(chunk)

    def add_warcs(self, warcs: WarcFiles, selection: Selection | None) -> None:
        """Add the files with all their captures, or with those of *selection*."""
        if selection is not None:
            for file in warcs.files:
                reader = RecordReader(warcs.read(file), file.basename)
                selection.add(file.name, reader)
                if reader.is_damaged:
                    self.damaged.add(file.name)
            selection.complete()
        for file in warcs.files:
            if selection is None or selection.has_all(file.name):
                self._add_warc(file, warcs.read(file), file.length)
            elif selection.ids(file.name):
                ranges = [*selection.ranges(file.name, RecordReader(warcs.read(file)))]
                size = sum(end - start for start, end in ranges)
                self._add_warc(file, _read_ranges(warcs, file, ranges), size)

    def _add_warc(self, file: WarcFile, chunks: Iterator[bytes], size: int) -> None:
        lines = list[str]()
        with self._entry(f"archive/{file.basename}", size) as write:
            copied = _tee(chunks, write)
            reader = RecordReader(copied, file.basename)
            for record in reader:
                if line := index_line(record, file.basename):
                    self.captures += 1
                    self.undecoded.update(_find_undecoded_codings(record.block))
                    if is_replayed(str(line)):
                        at = timestamp_of(record.date, TIMESTAMP_DIGITS)
                        lines += _lines_of(line._replace(timestamp=at), record.url)
                    self._captured.execute(
                        "INSERT OR IGNORE INTO captured VALUES (?, ?)", (record.url, record.date)
                    )
            for _ in copied:  # The rest of a damaged file.
                pass
        start = self._lines.tell()
        self._lines.write("".join(sorted(lines)).encode())
        self._line_ranges.append((start, self._lines.tell()))
        self.files += 1
        if reader.is_damaged:
            self.damaged.add(file.name)

    def add_index(self) -> None:
        """Add the index of the added files: blocks of lines, and an index of the blocks."""
        self._lines.flush()
        merged = heapq.merge(*(self._read_lines(*span) for span in self._line_ranges))
        with TemporaryFile() as blocks, TemporaryFile() as places:
            meta = {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
            places.write(f"!meta 0 {json.dumps(meta)}\n".encode())
            while block := [*islice(merged, INDEX_LINES)]:
                packer = zlib.compressobj(wbits=GZIP)
                packed = packer.compress("".join(block).encode()) + packer.flush()
                digest = f"sha256:{sha256(packed).hexdigest()}"
                place = {"offset": blocks.tell(), "length": len(packed), "digest": digest}
                blocks.write(packed)
                key, timestamp, _ = block[0].split(" ", 2)
                places.write(f"{key} {timestamp} {json.dumps(place)}\n".encode())
            self._add_file("indexes/index.cdx.gz", blocks, compression=ZIP_STORED)
            self._add_file("indexes/index.idx", places)

    def _read_lines(self, start: int, end: int) -> Iterator[str]:
        size = 64 << 10
        chunks = (
            os.pread(self._lines.fileno(), min(size, end - at), at)
            for at in range(start, end, size)
        )
        return split_lines(chunks)

    def add_pages(self, pages: Iterable[Page]) -> None:
        """Add the *pages* that have a capture here, all in one list."""
        has_text = False
        with TemporaryFile() as listed:
            for page in pages:
                if not self._is_captured(page):
                    continue
                self.pages += 1
                listed.write(_page_line(page))
                has_text = has_text or bool(page.text)
                if not page.depth and not self._main:
                    self._main = {"mainPageUrl": page.url, "mainPageDate": _iso(page.fetched_at)}
            header = {"format": "json-pages-1.0", "id": "pages", "title": "Pages"}
            header_line = json.dumps({**header, "hasText": has_text}).encode() + b"\n"
            self._add_file(PAGES, listed, header_line)
        is_long = self._zip.getinfo(PAGES).compress_size > SEARCHED_BYTES
        self.is_searched_in_part = has_text and is_long

    def _is_captured(self, page: Page) -> bool:
        query = "SELECT 1 FROM captured WHERE url = ? AND at = ?"
        found = self._captured.execute(query, (page.url, date(page.fetched_at)))
        return found.fetchone() is not None

    def close(
        self, title: str, key: "EllipticCurvePrivateKey | None", description: str = ""
    ) -> None:
        """Add `datapackage.json` with the hashes of all files, and its hash, signed with *key*."""
        created = _iso(self._now.timestamp())
        about = {"title": title} | ({"description": description} if description else {})
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            **about,
            "metadata": about,  # ReplayWeb.page reads both here.
            "created": created,
            "software": SOFTWARE,
            **self._main,
            "resources": self._resources,
        }
        data = json.dumps(package, indent=2).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(data).hexdigest()}"}
        signed = {"signedData": sign(digest["hash"], created, key)} if key else {}
        for name, content in (
            ("datapackage.json", data),
            ("datapackage-digest.json", json.dumps(digest | signed, indent=2).encode()),
        ):
            with self._entry(name, len(content), ZIP_DEFLATED) as write:
                write(content)
        self._zip.close()

    def discard(self) -> None:
        """Close all files, also if the file is not complete."""
        self._zip.close()
        self._lines.close()
        self._captured.close()


def sign(text: str, created: str, key: "EllipticCurvePrivateKey") -> dict[str, str]:
    """Return the signed data for *text*, the hash of the description."""
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    size = (key.key_size + 7) // 8
    numbers = decode_dss_signature(key.sign(text.encode(), ECDSA(SHA256())))
    signature = b"".join(number.to_bytes(size) for number in numbers)
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return {
        "hash": text,
        "signature": b64encode(signature).decode(),
        "publicKey": b64encode(public).decode(),
        "created": created,
        "software": SOFTWARE,
    }


def read_signing_key(path: Path) -> "EllipticCurvePrivateKey":
    """Return the key in *path*, PEM without a password. Raise BadSettings if it is not usable."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise BadSettings(f"archive.signing_key: {path} cannot be read as a PEM key") from error
    if not isinstance(key, EllipticCurvePrivateKey) or key.curve.name not in CURVES:
        raise BadSettings(
            f"archive.signing_key: {path} is not an ECDSA key on P-256 or P-384: create one with "
            "openssl ecparam -name secp384r1 -genkey -noout"
        )
    return key


def _lines_of(line: Line, url: str) -> list[str]:
    """Return the lines of a capture of *url*, which has *line*, for pywb and ReplayWeb.page."""
    found = {str(line)}
    for spelling in viewer_spellings(url):
        data = json.dumps(json.loads(line.data) | {"url": spelling})
        found.add(str(line._replace(key=viewer_key(spelling), data=data)))
    return sorted(found)


def _find_undecoded_codings(block: bytes) -> list[str]:
    """Return the Content-Encoding of a response if we decode it, and ReplayWeb.page does not."""
    values = _content_encoding.findall(block, 0, max(0, block.find(b"\r\n\r\n")))
    value = ", ".join(each.decode("latin-1").strip() for each in values)
    is_decoded = value in VIEWER_CODINGS
    codings = {coding.strip() for coding in value.lower().split(",")}
    return [] if is_decoded or codings.isdisjoint(INFLATERS) else [value]


def _tee(chunks: Iterable[bytes], write: Callable[[bytes], None]) -> Iterator[bytes]:
    for chunk in chunks:
        write(chunk)
        yield chunk


def _read_ranges(
    warcs: WarcFiles, file: WarcFile, ranges: Iterable[tuple[int, int]]
) -> Iterator[bytes]:
    for start, end in ranges:
        yield from warcs.read(file, start, end)


def _page_line(page: Page) -> bytes:
    line = {"id": page.trace or page.url, "url": page.url, "ts": _iso(page.fetched_at)}
    line |= {"title": page.title or page.url} | ({"text": page.text} if page.text else {})
    return json.dumps(line).encode() + b"\n"


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
