"""Snapshots of a folder: taken during a crawl, restored, and crawled to the end."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from console.cli.main import main
from gossamer import clock
from gossamer.events import Outcome
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.identity import identify
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from inspection import folder as folder_module
from inspection.folder import Folder
from services.archive.index import INDEX_SUFFIX
from services.archive.rows import CaptureRow
from services.fetcher.outcome import Failure, Reply
from services.frontier.rows import UrlRow
from tests.flow.virtual import START, VirtualCrawl
from tests.support.transcripts import Transcript

SEED = "http://a.test/"
HTML = (("Content-Type", "text/html; charset=utf-8"),)
DELAY = 5.0
PAGES = {
    f"http://{host}.test/{page}": [
        f"http://{host}.test/{(page or 0) + 1}",
        f"http://{chr(ord(host) + 1)}.test/0",
    ]
    for host in "abcdef"
    for page in range(6)
} | {SEED: ["http://a.test/0"]}
WANTED = PAGES.keys() | {f"http://{host}.test/6" for host in "abcdef"} | {"http://g.test/0"}


BUSY_FROM, BUSY_UNTIL = START + 31, START + 1000


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    if url.startswith("http://b.test/") and BUSY_FROM <= now < BUSY_UNTIL:
        after = (("Retry-After", f"{BUSY_UNTIL - now:.0f}"),)
        return 0.3, Reply(status=503, headers=after, started_at=now, took=0.3)
    if url not in PAGES:
        return 0.3, Reply(status=404, started_at=now, took=0.3)
    anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in PAGES[url])
    body = f"<html><title>{url}</title><body><h1>This is {url}</h1>{anchors}".encode()
    return 0.3, Reply(status=200, headers=HTML, body=body, started_at=now, took=0.3)


@dataclass
class FolderCrawl:
    """A crawl in virtual time, in a folder on disk."""

    folder: Folder
    crawl: VirtualCrawl

    def open(self) -> None:
        self.crawl.database = Database(self.folder.database)
        self.crawl.log = SqliteLog(self.crawl.database)
        identify(self.crawl.log, SqliteStore(self.crawl.database), START)
        self.crawl.crash()

    def die(self) -> None:
        """Stop as a killed crawl does."""
        self.crawl.archive.release()
        self.crawl.database.close()


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderCrawl]:
    """A crawl on `data` that is partly done."""
    monkeypatch.setattr(folder_module, "LOCK_TIMEOUT", 0.0)
    folder = Folder(tmp_path / "data")
    folder.make()
    running = FolderCrawl(folder, VirtualCrawl(folder.warc, web, delay=DELAY, batch=2))
    monkeypatch.setattr(clock, "now", lambda: running.crawl.now)
    running.open()
    running.crawl.define(SEED)
    running.crawl.run(until=START + 30)
    assert 4 < len(running.crawl.requests) < len(WANTED)
    yield running
    running.die()


def run(*arguments: object, status: int = 0) -> None:
    assert main([*map(str, arguments)]) == status


def assert_polite(crawl: VirtualCrawl) -> None:
    free_at: dict[str, float] = {}
    for start, end, url in sorted(crawl.requests):
        host = url.split("/")[2]
        assert start >= free_at.get(host, 0.0), f"{url} was asked for too soon"
        free_at[host] = end + DELAY


def assert_captures_lie_where_the_rows_say(folder: Folder) -> None:
    captures = [*folder.open().store.table(CaptureRow).everything()]
    assert {row.url for row in captures if not row.url.endswith("/robots.txt")} == WANTED
    for row in captures:
        with (folder.warc / row.file).open("rb") as file:
            file.seek(row.offset)
            record = next(ArchiveIterator(file, record_types=WarcRecordType.response))
            assert record.headers["WARC-Target-URI"].strip("<>") == row.url


def warc_files(folder: Folder) -> set[Path]:
    """Return the WARC files, open or complete, without their indexes."""
    return {path for path in folder.warc.iterdir() if path.suffix != INDEX_SUFFIX}


def records(folder: Folder) -> set[str | None]:
    """Return the ids of all responses in WARC files under any name."""
    found = set[str | None]()
    for path in warc_files(folder):
        with path.open("rb") as file:
            found |= {
                one.record_id for one in ArchiveIterator(file, record_types=WarcRecordType.response)
            }
    return found


@pytest.mark.parametrize("seconds", [0, 1, 4, 25, 90])
def test_restored_crawl_ends_politely(tmp_path: Path, running: FolderCrawl, seconds: int) -> None:
    run("snapshot", tmp_path / "copy", "--data", running.folder.path)
    running.crawl.run(until=running.crawl.now + seconds)
    running.die()
    before = records(running.folder)
    run("restore", tmp_path / "copy", "--data", running.folder.path, "--replace")
    running.open()
    assert running.crawl.run()
    running.crawl.archive.close()
    outcomes = {
        row.url: row.outcome for row in running.folder.open().store.table(UrlRow).everything()
    }
    assert outcomes.keys() == WANTED
    assert {*outcomes.values()} == {Outcome.PAGE, Outcome.GONE}
    assert_polite(running.crawl)
    assert_captures_lie_where_the_rows_say(running.folder)
    assert records(running.folder) >= before, (
        "pages archived after the snapshot stay in the archive"
    )
    assert all(path.name.endswith(".warc.gz") for path in warc_files(running.folder))


def test_retry_after_newer_than_the_snapshot_is_kept(tmp_path: Path, running: FolderCrawl) -> None:
    run("snapshot", tmp_path / "copy", "--data", running.folder.path)
    running.crawl.run(until=START + 60)
    running.die()
    run("restore", tmp_path / "copy", "--data", running.folder.path, "--replace")
    running.open()
    assert running.crawl.run()
    asked = [start for start, _, url in running.crawl.requests if url.startswith("http://b.test/")]
    assert len([start for start in asked if BUSY_FROM <= start < BUSY_UNTIL]) == 1
    assert max(asked) >= BUSY_UNTIL


def test_operator_settings_newer_than_the_snapshot_are_kept(
    tmp_path: Path, running: FolderCrawl, transcript: Transcript
) -> None:
    data = running.folder.path
    run("block", "gone.example", "c.test", "--data", data)
    run("snapshot", tmp_path / "copy", "--data", data)
    running.crawl.now += 1
    run("block", "d.test", "--data", data)
    run("unblock", "gone.example", "--data", data)
    run("forget", "a.test", "--yes", "--data", data)
    running.crawl.run(until=running.crawl.now + 30)
    running.die()
    before = len(running.crawl.requests)
    transcript("restore", tmp_path / "copy", "--data", data, "--replace")
    transcript("blocklist", "--data", data)
    transcript("audit", "--data", data)
    running.open()
    assert running.crawl.run()
    assert not [url for _, _, url in running.crawl.requests[before:] if "//d.test" in url]


def test_snapshot_is_restored_without_its_warc_files(
    tmp_path: Path, running: FolderCrawl, transcript: Transcript
) -> None:
    data, copy = running.folder.path, tmp_path / "copy"
    transcript("snapshot", copy, "--data", data)
    transcript("restore", copy, "--data", tmp_path / "other")
    pages = transcript.json_lines("pages", "--data", tmp_path / "other")
    assert "http://a.test/1" in {page["url"] for page in pages}


def test_files_newer_than_the_snapshot_are_listed(
    tmp_path: Path, running: FolderCrawl, transcript: Transcript
) -> None:
    run("snapshot", tmp_path / "copy", "--data", running.folder.path)
    running.crawl.archive.close()
    (older,) = warc_files(running.folder)
    running.open()
    running.crawl.run(until=running.crawl.now + 30)
    running.die()
    transcript("restore", tmp_path / "copy", "--data", running.folder.path, "--replace")
    assert len(warc_files(running.folder) - {older}) == 1


def test_snapshot_is_written_into_a_new_folder_only(
    tmp_path: Path, running: FolderCrawl, transcript: Transcript
) -> None:
    (tmp_path / "copy").mkdir()
    run("snapshot", tmp_path / "copy", "--data", running.folder.path)
    before = {path: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    transcript("snapshot", tmp_path / "copy", "--data", running.folder.path, status=1)
    assert {path: path.read_bytes() for path in (tmp_path / "copy").iterdir()} == before
    transcript("snapshot", tmp_path / "more", "--data", tmp_path / "nothing", status=1)
    assert not (tmp_path / "more").exists()


def test_incomplete_snapshot_or_other_format_is_refused(
    tmp_path: Path, running: FolderCrawl, transcript: Transcript
) -> None:
    copy, other = tmp_path / "copy", tmp_path / "other"
    run("snapshot", copy, "--data", running.folder.path)
    description, database = copy / "snapshot.json", copy / "gossamer.db"
    text, content = description.read_bytes(), database.read_bytes()
    assert {*copy.iterdir()} == {description, database}

    description.unlink()
    transcript("restore", copy, "--data", other, status=1)
    newer = {**msgspec.json.decode(text), "format": 2, "version": "0.2.0", "more": []}
    description.write_bytes(msgspec.json.encode(newer))
    transcript("restore", copy, "--data", other, status=1)
    description.write_bytes(text[:-20])
    transcript("restore", copy, "--data", other, status=1)
    description.write_bytes(text)
    for damaged in (content[:-8192], content[:8192] + bytes(8192) + content[16384:], b"", b"text"):
        database.write_bytes(damaged)
        transcript("restore", copy, "--data", other, status=1)
    database.unlink()
    transcript("restore", copy, "--data", other, status=1)
    assert not other.exists()
    database.write_bytes(content)
    run("restore", copy, "--data", other)


def test_crawl_is_replaced_only_by_its_own_snapshot_on_request(
    tmp_path: Path, running: FolderCrawl, transcript: Transcript
) -> None:
    copy, data = tmp_path / "copy", running.folder.path
    run("snapshot", copy, "--data", data)
    before = running.folder.database.read_bytes()
    transcript("restore", copy, "--data", data, status=1)
    holder = Folder(data)
    holder.lock()
    transcript("restore", copy, "--data", data, "--replace", status=1)
    assert running.folder.database.read_bytes() == before
    other = Folder(tmp_path / "other")
    crawl_folder = other.create()
    identify(crawl_folder.log, crawl_folder.store, START)
    transcript("restore", copy, "--data", other.path, "--replace", status=1)


def test_damaged_crawl_is_replaced(tmp_path: Path, running: FolderCrawl) -> None:
    run("snapshot", tmp_path / "copy", "--data", running.folder.path)
    running.die()
    running.folder.database.write_bytes(b"nothing of ours")
    run("restore", tmp_path / "copy", "--data", running.folder.path, "--replace")
    running.open()
    assert running.crawl.run()


def test_snapshot_and_align_are_exclusive(tmp_path: Path, transcript: Transcript) -> None:
    for arguments in (["--align", tmp_path], []):
        transcript("restore", *arguments, status=2)
    transcript("restore", "--align", "--replace", status=2)
