"""A restored store, or a log with lost records, is detected before any work."""

from pathlib import Path
from shutil import copy

import pytest

from gossamer.errors import GossamerError
from gossamer.events.topics import SEEDS, URLS_DISCOVERED
from gossamer.log import partition_of
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.sequential import sequential_loop
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.runtime.manual import sow
from tests.runtime.processors import Sower


class AfterAnother(Sower):
    """Consumes its own events. Another engine may have handled records without positions."""

    reads = (SEEDS, URLS_DISCOVERED)
    has_other_engine = True


def run(log: Path, store: Path, *urls: str, kind: type[Sower] = Sower) -> None:
    """Handle seeds with *urls* in a process with separate files for log and store."""
    databases = Database(log), Database(store)
    opened, rows = SqliteLog(databases[0]), SqliteStore(databases[1])
    sow(opened, *urls)
    loop = sequential_loop(kind(rows), opened, rows, lambda: 1.0)
    while loop.step():
        pass
    loop.close()
    for database in databases:
        database.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_restart_with_same_store_is_accepted(log: Path, store: Path) -> None:
    run(log, store, "http://a.example/")
    run(log, store, "http://b.example/")
    run(log, store)


def test_older_store_is_refused(log: Path, store: Path, tmp_path: Path) -> None:
    run(log, store, "http://a.example/")
    copy(store, tmp_path / "backup.db")
    run(log, store, "http://b.example/", "http://c.example/")
    with pytest.raises(
        GossamerError, match=r"store is older .*offset 3 of seeds.* up to 1\..*--al"
    ):
        run(log, tmp_path / "backup.db")


def test_older_log_is_refused(log: Path, store: Path, tmp_path: Path) -> None:
    run(log, store, "http://a.example/")
    copy(log, tmp_path / "backup.db")
    run(log, store, "http://b.example/", "http://c.example/")
    with pytest.raises(GossamerError, match=r"log is older .*ends at offset 1, .* up to 3"):
        run(tmp_path / "backup.db", store)


def test_records_of_other_engine_count_as_stored(log: Path, store: Path) -> None:
    place = "same place, so in this order"  # Of all seeds.
    here, *_ = (url for url in map(str, range(9)) if partition_of(url, 4) == partition_of(place, 4))
    there, *_ = (url for url in map(str, range(9)) if partition_of(url, 4) != partition_of(here, 4))
    run(log, store.with_name("other.db"), here, kind=AfterAnother)
    run(log, store, there, kind=AfterAnother)
    run(log, store, kind=AfterAnother)
