"""Bytes and CPU of the archive, with and without references to equal bodies, and by compression.

    .venv/bin/python -m bench.archive --pages FOLDER [--captures 5000] [--coding gzip]

FOLDER has real pages, `NAME.html.gz`. 30 % of the captures are unchanged pages of an earlier
capture, 10 % are copies at another URL, and all others have a body of their own. With
`--coding gzip` servers compress bodies. Each line is one archive in a folder on SQLite: bytes of
its WARC files, and milliseconds of CPU a capture, with the store. FastWARC alone writes a response
and a request with the same compression and digests. The last lines compress the records of the
`zstd` line again, alone and with a dictionary of 110 kB, trained on a tenth of them.
"""

import argparse
import gzip
import random
import tempfile
import time
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path

from backports import zstd
from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType

from gossamer.events import PageFetched, Visit
from gossamer.settings import ArchiveSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site
from services.archive import records
from services.archive.segments import member_ends
from services.archive.service import Archive

START = 1_767_225_600.0
UNCHANGED, COPIES = 0.3, 0.1
PAGES_OF_A_COMMIT = 100
DICTIONARY_BYTES = 110_000
HEADERS = (
    ("Server", "nginx"),
    ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Connection", "keep-alive"),
    ("Cache-Control", "max-age=600"),
    ("ETag", '"68b1a2c3-1f2e"'),
)
REQUEST = (
    ("Host", "www.example.org"),
    ("User-Agent", "gossamer/0.1.0 (+https://bot.example.org; crawl@example.org)"),
    ("Accept", "text/html, application/xhtml+xml, */*;q=0.1"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
)


def read_pages(folder: Path) -> list[bytes]:
    """Return the pages in *folder*."""
    return [gzip.decompress(path.read_bytes()) for path in sorted(folder.glob("*.html.gz"))]


def fetched_pages(bodies: list[bytes], captures: int, coding: str) -> Iterator[PageFetched]:
    """Yield captures of pages, in the order of the crawl."""
    draw, number, serial = random.Random(1), count(), count()
    earlier = list[tuple[str, bytes]]()
    headers = HEADERS + ((("Content-Encoding", coding),) if coding else ())
    for visit in range(captures):
        kind = draw.random() if earlier else 1.0
        url, body = draw.choice(earlier) if earlier else ("", b"")
        if kind >= UNCHANGED:
            url = f"https://www.example.org/section/{next(number)}.html"
        if kind >= UNCHANGED + COPIES:
            body = bodies[next(serial) % len(bodies)] + b"<!-- %d -->" % visit
            body = gzip.compress(body, 6, mtime=0) if coding else body
        if kind >= UNCHANGED:
            earlier.append((url, body))
        yield PageFetched(
            at=START + visit,
            site=Site("example.org"),
            host=HostKey("https://www.example.org"),
            visit=Visit(f"1.{visit}.0@{url}", url, depth=2, via="1.0.0@https://www.example.org/"),
            started_at=START + visit,
            took=0.2,
            address="192.0.2.7",
            tls_version="tls/1.3",
            cipher_suite="TLS_AES_256_GCM_SHA384",
            request_headers=REQUEST,
            status=200,
            reason="OK",
            headers=headers,
            body=body,
        )


def archive(folder: Path, pages: list[PageFetched], compression: str) -> float:
    """Archive *pages* in *folder*; return the CPU seconds."""
    database = Database(folder / "crawl.db")
    store = SqliteStore(database)
    settings = ArchiveSettings.model_validate({"compression": compression})
    archiver = Archive(folder / "warc", store, settings, "crawl@example.org", "gossamer")
    archiver.assign(frozenset({0}), START)
    begun = time.process_time()
    for n, page in enumerate(pages, 1):
        archiver.handle(page, page.at)
        if n % PAGES_OF_A_COMMIT == 0 or n == len(pages):
            archiver.settle()
            store.flush()
    cpu = time.process_time() - begun
    archiver.close()
    database.close()
    return cpu


def fastwarc_alone(folder: Path, pages: list[PageFetched]) -> float:
    """Write a response and a request of each page with FastWARC; return the CPU seconds."""
    begun = time.process_time()
    writer = GzipWriter(str(folder / "fast.warc.gz"), records.COMPRESSION_LEVEL)
    for page in pages:
        for kind in (WarcRecordType.response, WarcRecordType.request):
            first = f"HTTP/1.1 {page.status} {page.reason}"
            named, body = page.headers, page.body
            if kind is WarcRecordType.request:
                first, named, body = f"GET {page.visit.url[23:]} HTTP/1.1", REQUEST, b""
            lines = [first, *(f"{name}: {value}" for name, value in named), "", ""]
            record = WarcRecord()
            record.init_headers(record_type=kind)
            record.headers["WARC-Target-URI"] = page.visit.url
            record.set_bytes_content("\r\n".join(lines).encode() + body)
            record.write(writer, checksum_data=True)
    writer.close()
    return time.process_time() - begun


def compress_again(file: Path) -> Iterator[tuple[str, int]]:
    """Yield a name and the bytes of all records of *file*, with and without a dictionary."""
    data = file.read_bytes()
    ends = [0, *member_ends(file)]
    found = [zstd.decompress(data[start:end]) for start, end in pairwise(ends)]
    yield "zstd, alone", sum(len(zstd.compress(one, 3)) for one in found)
    trained = zstd.train_dict(found[::10], DICTIONARY_BYTES)
    frames = (zstd.compress(one, 3, zstd_dict=trained) for one in found)
    yield "zstd, with dictionary", sum(map(len, frames)) + len(zstd.compress(trained.dict_content))


def show(name: str, size: int, captures: int, cpu: float | None = None) -> None:
    """Print a line of the table."""
    cost = f"{1000 * cpu / captures:8.3f}" if cpu is not None else " " * 8
    print(f"{name:32} {size / 1e6:9.1f} MB {size / captures:9.0f} bytes {cost}")


def main() -> None:
    """Print bytes and CPU of each archive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--captures", type=int, default=5000)
    parser.add_argument("--coding", choices=("", "gzip"), default="")
    chosen = parser.parse_args()
    pages = list(fetched_pages(read_pages(chosen.pages), chosen.captures, chosen.coding))
    show("bodies as received", sum(len(page.body) for page in pages), len(pages))
    smallest = records.MIN_SHARED_BYTES
    for name, compression, floor in (
        ("gzip, without references", "gzip", 1 << 40),
        ("gzip", "gzip", smallest),
        ("zstd", "zstd", smallest),
    ):
        records.MIN_SHARED_BYTES = floor
        with tempfile.TemporaryDirectory() as folder:
            cpu = archive(Path(folder), pages, compression)
            (file,) = (Path(folder) / "warc").iterdir()
            show(name, file.stat().st_size, len(pages), cpu)
            if compression == "zstd":
                for name_again, size in compress_again(file):
                    show(name_again, size, len(pages))
    with tempfile.TemporaryDirectory() as folder:
        cpu = fastwarc_alone(Path(folder), pages)
        show("FastWARC alone", (Path(folder) / "fast.warc.gz").stat().st_size, len(pages), cpu)


if __name__ == "__main__":
    main()
