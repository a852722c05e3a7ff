"""Shared by the archive's tests: pages, a crawl's data folder, and independent readers."""

import gzip
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from fastwarc.warc import ArchiveIterator, WarcRecordType

from gossamer import clock
from gossamer.events import Event, PageArchived, PageFetched, Visit
from gossamer.log.blobs import refer
from gossamer.log.codec import decode, encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.archive.index import INDEX_SUFFIX
from gossamer.services.archive.segments import UNCOMMITTED_SUFFIX
from gossamer.services.archive.service import Archive
from gossamer.services.archive.uploading import Start, start_thread
from gossamer.settings import ArchiveSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.volumes import PARTIAL_SUFFIX, Volume
from gossamer.web.http import Headers
from gossamer.web.url import HostKey, Site

INLINE_BODY = 700_000
NOW = 1_700_000_000.25
HTML: Headers = (("Content-Type", "text/html; charset=utf-8"),)


def page(number: int = 1, body: bytes = b"<p>Hello", **fields: Any) -> PageFetched:
    """Return the fetch of page *number* of a site."""
    url = f"http://site{number % 3}.example/page/{number}?q=1"
    plain = PageFetched(
        at=NOW + number,
        site=Site(f"site{number % 3}.example"),
        host=HostKey(url[:20]),
        visit=Visit(f"1.{number}.0@{url}", url, depth=2, via="1.0.0@http://site0.example/"),
        started_at=NOW + number,
        took=0.125,
        address="192.0.2.7",
        request_headers=(("Host", url.split("/")[2]), ("User-Agent", "gossamer")),
        status=200,
        reason="OK",
        headers=HTML,
        body=body,
    )
    return msgspec.structs.replace(plain, **fields)


class Crawl:
    """One run of the archive on the data in *folder*, as in a process."""

    def __init__(
        self,
        folder: Path,
        segment_size: int = 1 << 30,
        warcs: Path | None = None,
        start_upload: Start = start_thread,
        writer: str = "",
        **options: Any,
    ):
        folder.mkdir(exist_ok=True)
        self.folder, self.now = warcs or folder / "warc", NOW
        self.database = Database(folder / "crawl.db")
        self.blobs = Volume((folder / "blobs").resolve().as_uri())
        self.log = SqliteLog(self.database, blobs=self.blobs)
        self.store = SqliteStore(self.database)
        settings = ArchiveSettings(segment_size=segment_size, **options)
        self.archive = Archive(
            self.folder, self.store, settings, "me@example.org", "gossamer", writer, start_upload
        )
        self.runner = sequential_loop(self.archive, self.log, self.store, lambda: self.now)

    def fetch(self, *pages: PageFetched) -> None:
        """Append pages to the log, as the fetcher does."""
        self.log.append([encode(refer(fetched, self.blobs, INLINE_BODY)) for fetched in pages])

    def take(self, *pages: PageFetched) -> None:
        """Append pages to the log, and archive them."""
        self.fetch(*pages)
        self.work()

    def work(self) -> None:
        """Archive all pages on the log, and do all other work that is due."""
        while self.runner.step() or self._is_due():
            pass

    def _is_due(self) -> bool:
        # After a takeover, a step only polls.
        due = self.runner.due()
        return due is not None and due <= self.now

    def work_until(self, is_done: Callable[[], bool]) -> None:
        """Take steps at the real pace of uploads until *is_done*. The clock goes on."""
        while not is_done():
            if not self.runner.step():
                clock.pause(0.01)
            self.now += 0.1

    def events(self, topic: str = "pages.archived") -> list[Any]:
        """Return every event on *topic* that is not a tombstone."""
        tail, found = self.log.tail([topic]), list[Event]()
        while records := tail.poll(0):
            found += [decode(record) for record in records if record.value]
        return found

    def end(self) -> None:
        self.runner.close()
        self.archive.close()
        self.kill()

    def kill(self) -> None:
        """Close the files, as the system does for a killed process."""
        self.database.close()


def archive_pages(folder: Path, *pages: PageFetched, **options: Any) -> list[PageArchived]:
    """Archive *pages* in one run that ends normally; return the published events."""
    crawl = Crawl(folder, **options)
    crawl.take(*pages)
    events = crawl.events()
    crawl.end()
    return events


def files(folder: Path) -> list[Path]:
    """Return the files of the WARC folder without parked ones and indexes."""
    others = (UNCOMMITTED_SUFFIX, INDEX_SUFFIX, PARTIAL_SUFFIX)
    return [path for path in sorted(folder.iterdir()) if path.suffix not in others]


def only_file(folder: Path) -> Path:
    (file,) = files(folder)
    return file


def records(file: Path, kind: WarcRecordType = WarcRecordType.any_type) -> list[tuple[Any, bytes]]:
    """Return headers and content of each record, read by FastWARC with verified digests."""
    with file.open("rb") as stream:
        found = []
        for record in ArchiveIterator(
            stream, record_types=kind, parse_http=False, strict_mode=True
        ):
            assert record.verify_block_digest(consume=False), record.headers
            found.append((record.headers, record.reader.read()))
    return found


def all_records(
    folder: Path, kind: WarcRecordType = WarcRecordType.any_type
) -> list[tuple[Any, bytes]]:
    """Return headers and content of each record of all files in *folder*."""
    return [record for file in files(folder) for record in records(file, kind)]


def responses(folder: Path) -> list[str]:
    """Return the URLs of all response records, in all files."""
    found = all_records(folder, WarcRecordType.response)
    return [headers["WARC-Target-URI"] for headers, _ in found]


def members(file: Path) -> list[tuple[int, bytes]]:
    """Return offset and content of each gzip member, read by zlib; all must be whole."""
    rest, found = file.read_bytes(), list[tuple[int, bytes]]()
    size = len(rest)
    while rest:
        member = zlib.decompressobj(31)
        found.append((size - len(rest), member.decompress(rest)))
        assert member.eof, f"{file} ends in a partial record"
        rest = member.unused_data
    return found


def record_at(folder: Path, event: PageArchived) -> bytes:
    """Return the record at the position in *event*, extracted as a replay tool does."""
    data = (folder / event.file).read_bytes()[event.offset : event.offset + event.length]
    return gzip.decompress(data)


def assert_readable(folder: Path) -> None:
    """Check every file with `warcio check`, and its gzip members one by one."""
    found = files(folder)
    assert [path for path in found if not path.name.endswith(".warc.gz")] == []
    for path in found:
        assert path.stat().st_size
        starts = [content.split(b"\r\n", 2)[:2] for _, content in members(path)]
        assert starts[0] == [b"WARC/1.1", b"WARC-Type: warcinfo"]
        assert {version for version, _ in starts} == {b"WARC/1.1"}
        assert len(starts) % 3 == 1 and len(starts) > 1
    if found:
        check([str(path) for path in found])


def check(paths: Iterable[str]) -> None:
    run_tool("warcio", "check", *paths)


def run_tool(name: str, *arguments: str) -> str:
    """Run a tool of another project, which must succeed; return its output."""
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reference_index(paths: Iterable[Path]) -> str:
    """Return the sorted index that cdxj-indexer makes of files."""
    return run_tool("cdxj-indexer", "--sort", *map(str, paths))
