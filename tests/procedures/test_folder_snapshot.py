"""Snapshots of a folder: taken during a crawl, restored, and crawled to the end."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from gossamer import clock
from gossamer.console.cli.main import main
from gossamer.errors import GossamerError, Locked
from gossamer.events import Outcome
from gossamer.inspection.basics import folder as folder_module
from gossamer.inspection.basics.folder import Folder
from gossamer.log.control import newest_events
from gossamer.log.sqlite import SqliteLog
from gossamer.procedures.restore import PARTS, restore_snapshot
from gossamer.procedures.snapshot import take_snapshot
from gossamer.runtime.identity import identify
from gossamer.services.archive.index import INDEX_SUFFIX
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.flow.virtual import START, VirtualCrawl

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


def run(*arguments: object) -> None:
    assert main([*map(str, arguments)]) == 0


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
    take_snapshot(running.folder, tmp_path / "copy")
    running.crawl.run(until=running.crawl.now + seconds)
    running.die()
    before = records(running.folder)
    restore_snapshot(tmp_path / "copy", Folder(running.folder.path), may_replace=True)
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


@pytest.mark.parametrize("is_killed", [False, True])
def test_retry_after_newer_than_the_snapshot_is_kept(
    tmp_path: Path, running: FolderCrawl, is_killed: bool
) -> None:
    take_snapshot(running.folder, tmp_path / "copy")
    running.crawl.run(until=START + 60)
    running.die()
    folder = Folder(running.folder.path)
    restore_snapshot(tmp_path / "copy", folder, may_replace=True)
    if is_killed:  # It was killed before its last step, and is run again.
        folder.database.rename(f"{folder.database}.restoring")
        restore_snapshot(tmp_path / "copy", folder, may_replace=True)
    running.open()
    assert running.crawl.run()
    asked = [start for start, _, url in running.crawl.requests if url.startswith("http://b.test/")]
    assert len([start for start in asked if BUSY_FROM <= start < BUSY_UNTIL]) == 1
    assert max(asked) >= BUSY_UNTIL


def test_operator_settings_newer_than_the_snapshot_are_kept(
    tmp_path: Path, running: FolderCrawl, capsys: pytest.CaptureFixture[str]
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
    capsys.readouterr()
    run("restore", tmp_path / "copy", "--data", data, "--replace")
    said = capsys.readouterr().out
    assert (
        "Erased after the snapshot, and restored with it; gossamer forget erases them again:\n"
        "  a.test\n" in said
    )
    run("blocklist", "--data", data)
    said = capsys.readouterr().out
    assert "c.test" in said
    assert "d.test" in said
    assert "gone.example" not in said
    run("audit", "--data", data)
    said = capsys.readouterr().out
    assert "block d.test" in said and "unblock gone.example" in said and "forget a.test" in said
    running.open()
    assert running.crawl.run()
    assert not [url for _, _, url in running.crawl.requests[before:] if "//d.test" in url]


def test_snapshot_is_restored_without_its_warc_files(
    tmp_path: Path, running: FolderCrawl, capsys: pytest.CaptureFixture[str]
) -> None:
    data, copy = running.folder.path, tmp_path / "copy"
    run("snapshot", copy, "--data", data)
    said = capsys.readouterr().out
    assert (
        f"Snapshot of {data} at 2023-11-14 22:13:50 UTC written to {copy}: the database (" in said
    )
    assert "a list of 1 WARC file (" in said
    assert f"gossamer restore {copy} --data {data} --replace" in said
    run("restore", copy, "--data", tmp_path / "other")
    (file,) = (path.name.removesuffix(".open") for path in warc_files(running.folder))
    said = capsys.readouterr().out
    assert "The crawl of 2023-11-14 22:13:50 UTC is restored in" in said
    assert f"WARC files missing or incomplete in {tmp_path / 'other' / 'warc'}:\n  {file}\n" in said
    run("pages", "--data", tmp_path / "other")
    assert "http://a.test/1" in capsys.readouterr().out


def test_files_newer_than_the_snapshot_are_listed(
    tmp_path: Path, running: FolderCrawl, capsys: pytest.CaptureFixture[str]
) -> None:
    run("snapshot", tmp_path / "copy", "--data", running.folder.path)
    running.crawl.archive.close()
    (older,) = warc_files(running.folder)
    running.open()
    running.crawl.run(until=running.crawl.now + 30)
    running.die()
    capsys.readouterr()
    run("restore", tmp_path / "copy", "--data", running.folder.path, "--replace")
    (newer,) = warc_files(running.folder) - {older}
    said = capsys.readouterr().out
    assert f"with captures newer than the snapshot:\n  {newer.name}\n" in said
    assert older.name not in said


def test_snapshot_is_written_into_a_new_folder_only(tmp_path: Path, running: FolderCrawl) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    take_snapshot(running.folder, copy)
    before = {path: path.read_bytes() for path in copy.iterdir()}
    with pytest.raises(GossamerError, match="is not empty: name a new folder"):
        take_snapshot(running.folder, copy)
    assert {path: path.read_bytes() for path in copy.iterdir()} == before
    with pytest.raises(GossamerError, match="has no crawl"):
        take_snapshot(Folder(tmp_path / "nothing"), tmp_path / "more")
    assert not (tmp_path / "more").exists()


def test_incomplete_snapshot_or_other_format_is_refused(
    tmp_path: Path, running: FolderCrawl
) -> None:
    copy, other = tmp_path / "copy", Folder(tmp_path / "other")
    take_snapshot(running.folder, copy)
    description, database = copy / "snapshot.json", copy / "gossamer.db"
    text, content = description.read_bytes(), database.read_bytes()
    assert {*copy.iterdir()} == {description, database}

    def assert_refused(reason: str) -> None:
        with pytest.raises(GossamerError, match=reason):
            restore_snapshot(copy, other, may_replace=False)

    description.unlink()
    assert_refused("is not a complete snapshot")
    newer = {**msgspec.json.decode(text), "format": 2, "version": "0.2.0", "more": []}
    description.write_bytes(msgspec.json.encode(newer))
    assert_refused("a snapshot of Gossamer 0.2.0, with database format 2")
    description.write_bytes(text[:-20])
    assert_refused("is damaged")
    description.write_bytes(text)
    for damaged in (content[:-8192], content[:8192] + bytes(8192) + content[16384:], b"", b"text"):
        database.write_bytes(damaged)
        assert_refused("use another snapshot")
    database.unlink()
    assert_refused("use another snapshot")
    assert not other.path.exists()
    database.write_bytes(content)
    restore_snapshot(copy, other, may_replace=False)


def test_crawl_is_replaced_only_by_its_own_snapshot_on_request(
    tmp_path: Path, running: FolderCrawl
) -> None:
    copy, folder = tmp_path / "copy", Folder(running.folder.path)
    take_snapshot(folder, copy)
    before = folder.database.read_bytes()
    with pytest.raises(GossamerError, match="--replace replaces it"):
        restore_snapshot(copy, folder, may_replace=False)
    holder = Folder(folder.path)
    holder.lock()
    with pytest.raises(Locked, match="another crawl"):
        restore_snapshot(copy, folder, may_replace=True)
    assert folder.database.read_bytes() == before
    other = Folder(tmp_path / "other")
    crawl_folder = other.create()
    identify(crawl_folder.log, crawl_folder.store, START)
    with pytest.raises(GossamerError, match="and the snapshot is of the crawl"):
        restore_snapshot(copy, Folder(other.path), may_replace=True)


def test_damaged_crawl_is_replaced_and_what_is_lost_is_named(
    tmp_path: Path, running: FolderCrawl, capsys: pytest.CaptureFixture[str]
) -> None:
    take_snapshot(running.folder, tmp_path / "copy")
    running.die()
    running.folder.database.write_bytes(b"nothing of ours")
    run("restore", tmp_path / "copy", "--data", running.folder.path, "--replace")
    said = capsys.readouterr().out
    assert "Not read in the replaced database, so what is newer than the snapshot is lost:" in said
    for part in PARTS:
        assert part in said


def _damage_table(path: Path, table: str) -> None:
    """Overwrite the first page of *table*."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = database.execute("PRAGMA page_size").fetchone()
        found = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (page,) = database.execute(found, (table,)).fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"x" * size)


def test_part_of_a_damaged_crawl_that_can_be_read_is_kept(
    tmp_path: Path, running: FolderCrawl
) -> None:
    take_snapshot(running.folder, tmp_path / "copy")
    running.crawl.now += 1
    run("block", "d.test", "--data", running.folder.path)
    running.die()
    _damage_table(running.folder.database, "hosts")
    restored = restore_snapshot(tmp_path / "copy", Folder(running.folder.path), may_replace=True)
    (lost,) = restored.lost
    assert lost.startswith("delays and Retry-After of hosts")
    opened = Folder(running.folder.path).open()
    with closing(opened.database):
        assert any("d.test" in key for key in newest_events(opened.log))
    running.open()
    assert running.crawl.run()
