"""Messages about bad files and full disks: they name the problem, the file and a remedy."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.errors import Corrupt, GossamerError, NoSpace
from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database

ROOT = Path(__file__).resolve().parents[2]
TOPIC = "pages.archived"


def fill_database(path: Path, count: int = 300) -> Database:
    database = Database(path)
    SqliteLog(database).append(
        Message(TOPIC, str(n), b"%d " % n * 500, str(n)) for n in range(count)
    )
    return database


def records(path: Path) -> int:
    database = Database(path)
    database.check()
    count = SqliteLog(database).lag("nobody", TOPIC)
    database.close()
    return count


def foreign_database() -> bytes:
    with closing(sqlite3.connect(":memory:")) as foreign:
        foreign.execute("CREATE TABLE bookmarks (url)")
        return foreign.serialize()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"hello, " * 2000, None),
        (b"\0" * 100_000, None),
        (os.urandom(10_000), None),
        (foreign_database(), "not a data file of this version of Gossamer"),
    ],
    ids=["text", "zeros", "noise", "database"],
)
def test_other_file_is_refused_by_name_unchanged(
    tmp_path: Path, content: bytes, reason: str | None
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(Corrupt, match=reason) as refused:
        Database(path)
    assert str(path) in str(refused.value) and "--data" in str(refused.value)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_text_that_is_not_utf_8_is_damage(tmp_path: Path) -> None:
    database = Database(tmp_path / "gossamer.db")
    with pytest.raises(Corrupt, match=r"gossamer\.db is damaged \(a text is not UTF-8\)"):
        database.read("SELECT CAST(x'ff80' AS TEXT)", ())


@pytest.mark.parametrize("where", [0.3, 0.5, 0.7])
def test_corrupt_page_is_detected(tmp_path: Path, where: float) -> None:
    path = tmp_path / "gossamer.db"
    fill_database(path).close()
    size = path.stat().st_size
    page = int(size * where) // 8192
    with path.open("r+b") as file:
        file.seek(page * 8192)
        file.write(random.Random(7).randbytes(8192))
    before = path.read_bytes()
    database = Database(path)
    with pytest.raises(Corrupt, match=r"is damaged \(.*\): restore it from a backup") as refused:
        database.check()
    database.close()
    assert str(path) in str(refused.value) and "--data" in str(refused.value)
    assert path.read_bytes() == before


def test_truncated_file_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "gossamer.db"
    fill_database(path).close()
    os.truncate(path, path.stat().st_size // 2)

    def use() -> None:
        database = Database(path)
        try:
            database.check()
        finally:
            database.close()

    with pytest.raises(Corrupt, match=str(path)):
        use()


def test_sound_file_passes_the_check(tmp_path: Path) -> None:
    fill_database(tmp_path / "gossamer.db").close()
    assert records(tmp_path / "gossamer.db") == 300


@pytest.mark.parametrize("create", [True, False])
def test_missing_folder_is_named(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "nowhere" / "gossamer.db"
    with pytest.raises(GossamerError, match=r"cannot be opened .* --data") as refused:
        Database(path, create)
    assert str(path) in str(refused.value)
    assert not path.parent.exists()


def test_missing_file_is_not_created_if_it_must_exist(tmp_path: Path) -> None:
    with pytest.raises(GossamerError, match=r"gossamer\.db cannot be opened"):
        Database(tmp_path / "gossamer.db", create=False)
    assert os.listdir(tmp_path) == []


WITHOUT_RIGHTS = """
import os, sys
from pathlib import Path
from gossamer.errors import GossamerError
from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
if os.getuid() == 0:
    os.setuid(65534)
try:
    SqliteLog(Database(Path(sys.argv[1]))).append([Message("seeds", "k", b"v", "k")])
except GossamerError as error:
    sys.exit(str(error))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that other users can read."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, False])
def test_read_only_folder_is_named(folder: Path, there: bool) -> None:
    path = folder / "gossamer.db"
    if there:
        fill_database(path).close()
    folder.chmod(0o555)
    command = [sys.executable, "-c", WITHOUT_RIGHTS, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, "the write succeeded"
    assert f"{path} cannot be opened for writing (" in done.stderr
    assert "its folder exists and is writable" in done.stderr and "--data" in done.stderr
    folder.chmod(0o755)
    assert os.listdir(folder) == (["gossamer.db"] if there else [])
    assert not there or records(path) == 300


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """Return a file system of a megabyte; without the right to mount one, a normal folder."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    may = os.getuid() == 0 and shutil.which("mount")
    mounted = may and subprocess.run(mount, capture_output=True).returncode == 0
    yield folder
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_full_disk_is_named_and_loses_no_record(small_disk: Path) -> None:
    path = small_disk / "gossamer.db"
    database = Database(path)
    log = SqliteLog(database)
    if not os.path.ismount(small_disk):
        with database.transaction() as db:
            db.execute("PRAGMA max_page_count = 100")
    kept = 0
    with pytest.raises(NoSpace, match="free some, then run the same command again") as refused:
        while True:
            log.append([Message(TOPIC, str(kept), b"x" * 10_000, str(kept))] * 2)
            kept += 2
    assert str(small_disk) in str(refused.value)
    assert log.lag("nobody", TOPIC) == kept > 0
    database.close()
    assert records(path) == kept


def test_full_file_is_named_and_can_be_written_after_space_is_freed(tmp_path: Path) -> None:
    database = fill_database(tmp_path / "gossamer.db", 10)
    log = SqliteLog(database)
    with database.transaction() as db:
        db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(NoSpace, match=str(tmp_path)):
        log.append([Message(TOPIC, "k", b"x" * 1_000_000, "k")])
    with database.transaction() as db:
        db.execute("PRAGMA max_page_count = 10000")
    log.append([Message(TOPIC, "k", b"x" * 1_000_000, "k")])
    database.close()
    assert records(tmp_path / "gossamer.db") == 11


def test_locked_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.sqlite.BUSY_TIMEOUT", 0.05)
    first, second = fill_database(tmp_path / "gossamer.db", 1), Database(tmp_path / "gossamer.db")
    with (
        first.transaction(),
        pytest.raises(GossamerError, match=r"gossamer\.db is locked by another"),
        second.transaction(),
    ):
        pass
    first.close()
    second.close()
