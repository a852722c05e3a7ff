"""Whoever tells sites apart by another list than a crawl was begun with, does not touch it."""

from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.errors import GossamerError
from gossamer.events import SuffixListPinned
from gossamer.log.codec import encode
from gossamer.log.control import in_force
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.pinned import PinnedRow, check_topics, pin
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.suffixes import SUFFIX_LIST
from standalone.folder import Folder

OTHER = "1999-01-01_00-00-00_UTC"


def of_another(where: str, log: SqliteLog, store: SqliteStore) -> None:
    """Fill one of the two with another list."""
    if where == "topics":
        log.append([encode(SuffixListPinned(at=0.0, list=OTHER))])
    else:
        store.table(PinnedRow).put(PinnedRow("public suffix list", OTHER))
        store.flush()


def test_the_first_process_writes_its_list_down_and_the_next_ones_go_by_it() -> None:
    database = Database(":memory:")
    log, store = SqliteLog(database), SqliteStore(database)
    assert not check_topics(log)
    for _ in range(3):
        pin(log, store, 1.0)
    pinned = in_force(log)["suffix_list_pinned/default"]
    assert isinstance(pinned, SuffixListPinned) and pinned.list == SUFFIX_LIST
    row = store.table(PinnedRow).get("public suffix list")
    assert row and row.version == SUFFIX_LIST


def test_restarts_append_nothing_to_control() -> None:
    database = Database(":memory:")
    log, store = SqliteLog(database), SqliteStore(database)
    for _ in range(3):
        pin(log, store, 1.0)
    assert log.backlog("nobody", "control") == 1


@pytest.mark.parametrize("where", ["topics", "store"])
def test_a_process_with_another_list_refuses_to_start_and_says_what_to_do(where: str) -> None:
    database = Database(":memory:")
    log, store = SqliteLog(database), SqliteStore(database)
    of_another(where, log, store)
    with pytest.raises(GossamerError, match=f"(?s)the {where} .*{OTHER}.*Go on with the version"):
        pin(log, store, 1.0)


def test_the_number_of_partitions_is_fixed_for_a_crawl() -> None:
    database = Database(":memory:")
    log, store = SqliteLog(database), SqliteStore(database)
    pin(log, store, 1.0)
    log.partitions = 8
    with pytest.raises(GossamerError, match=r"begun with 4 partitions.* 8 now"):
        pin(log, store, 1.0)


@pytest.mark.parametrize("words", [["crawl", "--contact", "a@b.example"], ["seed"], ["why"]])
def test_no_command_touches_a_crawl_of_another_list(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    assert main(["seed", "--data", str(tmp_path), "http://a.example/"]) == 0
    opened = folder.open()
    of_another("topics", opened.log, opened.store)
    kept = opened.log.backlog("nobody", "seeds")
    assert main([*words, "--data", str(tmp_path), "http://a.example/"]) == 1
    assert OTHER in capsys.readouterr().err
    assert opened.log.backlog("nobody", "seeds") == kept
