"""`gossamer snapshot` and `gossamer restore` on a fleet, quiesced while its tables are copied."""

import io
import itertools
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer import clock
from gossamer.console.cli import restore, snapshot
from gossamer.events import CrawlDefined, SeedAdded
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime import loop as loop_module
from gossamer.runtime import quiescing
from gossamer.runtime.identity import check_folder, identify
from gossamer.runtime.loop import Loop
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.archive.rows import SegmentRow
from gossamer.services.archive.service import Archive
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.frontier.service import Frontier
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.settings import ArchiveSettings, DedupSettings, FrontierSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.support.transcripts import Transcript

FILE = "gossamer-default-20261126000000-00000-archive-1.warc.gz"


class Terminal(io.StringIO):
    """A terminal with typed input."""

    def isatty(self) -> bool:
        return True


class SmallFleet:
    """A fleet of frontier, dedup and archive; its log and its store are files."""

    def __init__(self, folder: Path) -> None:
        self.file, self.warc = folder / "store.db", folder / "warc"
        self.log = SqliteLog(Database(folder / "log.db"))
        self.fleet = identify(self.log, self.store(), 1.0)
        check_folder(self.warc, self.fleet)
        self.log.append([encode(CrawlDefined(at=1.0, scope="any()", max_depth=3))])
        self.loops: list[Loop] = []
        (self.warc / "archive-1").mkdir()
        (self.warc / "archive-1" / FILE).write_bytes(b"WARC.")
        other = self.store()
        other.table(SegmentRow).put(SegmentRow(writer="archive-2"))
        other.flush()
        self.start()

    def store(self) -> SqliteStore:
        return SqliteStore(Database(self.file))

    def start(self) -> None:
        stores = [self.store() for _ in range(3)]
        frontier = Frontier(FrontierSettings(), stores[0], 60.0, self.log.partitions, alone=True)
        dedup = Dedup(SeenTable(stores[1]), stores[1], DedupSettings())
        archive = Archive(self.warc, stores[2], ArchiveSettings(), "me", "me", "archive-1")
        self.loops = [
            sequential_loop(processor, self.log, store, clock.now)
            for processor, store in zip((frontier, dedup, archive), stores, strict=True)
        ]

    def stop(self) -> None:
        for loop in self.loops:
            loop.close()
        self.loops = []

    def step(self) -> None:
        for loop in self.loops:
            loop.step()

    def add_seeds(self, *urls: str) -> None:
        self.log.append([encode(SeedAdded(url=url)) for url in urls])
        for _ in range(5):
            self.step()

    def admitted_urls(self) -> Iterator[str]:
        yield from sorted(row.url for row in self.store().table(QueuedUrl).everything())

    @contextmanager
    def open(self, *_: object) -> Iterator[tuple[SqliteLog, SqliteStore]]:
        yield self.log, self.store()


@pytest.fixture
def small_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallFleet:
    monkeypatch.setattr(loop_module, "PAUSED_POLL_TIMEOUT", 0.0)
    monkeypatch.setenv("GOSSAMER_KAFKA__SERVERS", "simulated")
    monkeypatch.setenv("GOSSAMER_ARCHIVE__FOLDER", str(tmp_path / "warc"))
    small_fleet = SmallFleet(tmp_path)
    for module in (snapshot, restore):
        monkeypatch.setattr(module, "open_fleet", small_fleet.open)
    now = itertools.count()
    monkeypatch.setattr(clock, "steady", lambda: 0.001 * next(now))
    monkeypatch.setattr(clock, "pause", lambda seconds: small_fleet.step())
    return small_fleet


@pytest.fixture
def run_command(transcript: Transcript, small_fleet: SmallFleet) -> Transcript:
    """Return a function that runs a command on the fleet and returns its output."""
    transcript.name(small_fleet.fleet, "FLEET")
    transcript.name(sys.executable, "python")
    return transcript


def copy_command(small_fleet: SmallFleet, copy: Path, status: int = 0) -> str:
    """Return a command that copies the tables to *copy*, and ends with *status*."""
    code = (
        f"import sqlite3; to = sqlite3.connect('{copy}'); "
        f"sqlite3.connect('{small_fleet.file}').backup(to); raise SystemExit({status})"
    )
    return shlex.join([sys.executable, "-c", code])


def test_fleet_continues_from_a_snapshot_with_restored_tables(
    small_fleet: SmallFleet, tmp_path: Path, run_command: Transcript
) -> None:
    small_fleet.add_seeds("http://a.example/")
    target, copy = tmp_path / "s", tmp_path / "copy.db"
    run_command("snapshot", target, "--run", copy_command(small_fleet, copy))
    small_fleet.add_seeds("http://b.example/")
    small_fleet.stop()
    small_fleet.file = copy
    run_command("restore", target)
    # This log removes consumed records.
    small_fleet.start()
    small_fleet.step()
    assert [*small_fleet.admitted_urls()] == ["http://a.example/"]


def test_restore_without_restored_tables_is_refused(
    small_fleet: SmallFleet, tmp_path: Path, run_command: Transcript
) -> None:
    small_fleet.add_seeds("http://a.example/")
    run_command("snapshot", tmp_path / "s", "--run", "true")
    small_fleet.add_seeds("http://b.example/")
    small_fleet.stop()
    run_command("restore", tmp_path / "s", status=1)


def test_snapshot_of_another_fleet_is_refused(
    small_fleet: SmallFleet, tmp_path: Path, run_command: Transcript
) -> None:
    run_command("snapshot", tmp_path / "s", "--run", "true")
    written = (tmp_path / "s" / "snapshot.json").read_text()
    (tmp_path / "s" / "snapshot.json").write_text(written.replace(small_fleet.fleet, "another"))
    run_command("restore", tmp_path / "s", status=1)


def test_snapshot_describes_the_copy(
    small_fleet: SmallFleet, tmp_path: Path, run_command: Transcript
) -> None:
    small_fleet.add_seeds("http://a.example/")
    run_command("snapshot", tmp_path / "s", "--run", "true")
    found = json.loads((tmp_path / "s" / "snapshot.json").read_text())
    assert (found["fleet"], found["keyspace"]) == (small_fleet.fleet, "gossamer")
    assert sum(found["offsets"]["dedup"]["seeds"].values()) == 1
    assert {"frontier", "dedup", "archive"} == {row["group"] for row in found["checkpoints"]}
    assert found["files"] == {"archive-1/" + FILE: 5}


@pytest.mark.slow
def test_failed_copy_leaves_no_snapshot_and_the_fleet_continues(
    small_fleet: SmallFleet, tmp_path: Path, run_command: Transcript
) -> None:
    for command, limit in (("exit 7", "60s"), ("sleep 600", "15s")):
        run_command("snapshot", tmp_path / "s", "--limit", limit, "--run", command, status=1)
        assert not [*(tmp_path / "s").iterdir()]
    small_fleet.add_seeds("http://a.example/")
    assert [*small_fleet.admitted_urls()] == ["http://a.example/"]


def test_snapshot_without_a_command_waits_for_enter(
    tmp_path: Path, run_command: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal("\n")
    monkeypatch.setattr(sys, "stdin", terminal)
    run_command("snapshot", tmp_path / "s")
    assert terminal.read() == ""
    run_command("snapshot", tmp_path / "t", status=1)


def test_snapshot_without_a_command_and_terminal_is_refused(
    tmp_path: Path, run_command: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    run_command("snapshot", tmp_path / "s", status=2)


def test_dedup_on_faust_is_refused(
    tmp_path: Path, run_command: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_DEDUP__ENGINE", "faust")
    run_command("snapshot", tmp_path / "s", "--run", "true", status=2)


def test_stopped_service_is_reported(
    small_fleet: SmallFleet,
    tmp_path: Path,
    run_command: Transcript,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quiescing, "QUIESCE_TIMEOUT", 0.5)
    small_fleet.loops.pop().close()
    run_command("snapshot", tmp_path / "s", "--run", "true", status=1)


def test_snapshot_of_a_folder_is_refused_for_a_fleet(
    tmp_path: Path, run_command: Transcript
) -> None:
    run_command("snapshot", tmp_path / "s", "--run", "true")
    (tmp_path / "s" / "gossamer.db").touch()
    run_command("restore", tmp_path / "s", "--data", "x", status=1)
    (tmp_path / "s" / "snapshot.json").write_text('{"format": 1}')
    run_command("restore", tmp_path / "s", status=1)
