"""The identity of a fleet: parts of another fleet and older parts are refused."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from gossamer.errors import GossamerError
from gossamer.events import FleetBegun
from gossamer.inspection.basics.folder import Folder
from gossamer.log.codec import encode
from gossamer.log.control import newest_events
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.identity import IdentityRow, check_folder, check_topics, identify
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.suffixes import SuffixList, packaged_list, use_list
from gossamer.web.url import host_key, site_of
from tests.support.rows import put_rows

OLDER = SuffixList("1999-01-01_00-00-00_UTC", zlib.compress(b"example\na.example"))
"""A list in which the hosts of a.example are sites of their own."""


@pytest.fixture
def packaged_again() -> Iterator[None]:
    """Use the packaged list after the test."""
    yield
    use_list(packaged_list())


def new_log() -> SqliteLog:
    return SqliteLog(Database(":memory:"))


def new_store() -> SqliteStore:
    return SqliteStore(Database(":memory:"))


def of_another_list(where: str, log: SqliteLog, store: SqliteStore) -> None:
    """State another suffix list in the store or on the topics."""
    if where == "topics":
        begun = FleetBegun(
            at=0.0, id="one", partitions=4, suffix_list=OLDER.version, suffixes=OLDER.packed
        )
        log.append([encode(begun)])
    else:
        row = IdentityRow("store", "one", 4, OLDER.version, OLDER.packed)
        store.table(IdentityRow).put(row)
        store.flush()


def test_first_process_states_identity_for_later_ones() -> None:
    log, store = new_log(), new_store()
    assert check_topics(log) is None
    ids = {identify(log, store, 1.0) for _ in range(3)}
    stated = newest_events(log)["fleet_begun/-"]
    assert isinstance(stated, FleetBegun)
    assert ids == {stated.id}
    assert (stated.partitions, stated.suffix_list) == (4, packaged_list().version)
    assert log.lag("nobody", "control") == 1, "restarts append nothing"


def test_identity_is_completed_after_crash() -> None:
    log, store = new_log(), new_store()
    first = identify(new_log(), store, 1.0)
    store.table(IdentityRow).drop("topics")
    store.flush()
    assert identify(log, store, 2.0) == first
    assert check_topics(log)


def test_new_store_with_old_topics_is_refused() -> None:
    log = new_log()
    identify(log, new_store(), 1.0)
    with pytest.raises(GossamerError, match=r"the store has no fleet.* gossamer restore --align"):
        identify(log, new_store(), 2.0)


def test_lost_control_topic_is_refused() -> None:
    store = new_store()
    identify(new_log(), store, 1.0)
    with pytest.raises(GossamerError, match=r"control .* is lost.* gossamer restore --align"):
        identify(new_log(), store, 2.0)


def test_parts_of_two_fleets_are_refused() -> None:
    log, store = new_log(), new_store()
    identify(log, new_store(), 1.0)
    identify(new_log(), store, 1.0)
    with pytest.raises(GossamerError, match=r"kafka\.prefix and cassandra\.keyspace"):
        identify(log, store, 2.0)


@pytest.mark.usefixtures("packaged_again")
@pytest.mark.parametrize("where", ["topics", "store"])
def test_crawl_goes_on_with_the_suffix_list_that_it_was_begun_with(where: str) -> None:
    log, store = new_log(), new_store()
    of_another_list(where, log, store)
    if where == "store":
        identify(log, store, 1.0)
    else:
        assert check_topics(log)
    assert site_of("http://shop.a.example/") == "shop.a.example"
    identify(new_log(), new_store(), 2.0)
    assert site_of("http://shop.a.example/") == "a.example", "a new crawl has the packaged list"


def test_other_number_of_partitions_is_refused() -> None:
    log, store = new_log(), new_store()
    identify(log, store, 1.0)
    log.partitions = 8
    with pytest.raises(GossamerError, match=r"started with 4 partitions.* 8 now"):
        identify(log, store, 1.0)


def test_folder_of_another_fleet_is_refused(tmp_path: Path) -> None:
    check_folder(tmp_path / "warc", "one")
    check_folder(tmp_path / "warc", "one")
    with pytest.raises(GossamerError, match=r"warc belongs to the fleet one, .* to the fleet two"):
        check_folder(tmp_path / "warc", "two")


def test_folder_with_unreadable_identity_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_bytes(b"{")
    with pytest.raises(GossamerError, match=r"fleet\.json cannot be read"):
        check_folder(tmp_path, "one")


def test_list_without_its_rules_is_refused_with_instructions() -> None:
    log = new_log()
    begun = FleetBegun(at=0.0, id="one", partitions=4, suffix_list=OLDER.version)
    log.append([encode(begun)])
    with pytest.raises(GossamerError, match=rf"{OLDER.version}.*the release of Gossamer"):
        check_topics(log)


@pytest.mark.usefixtures("packaged_again")
@pytest.mark.parametrize("command", ["status", "why"])
def test_commands_find_the_sites_of_an_older_list(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "http://shop.a.example/"
    assert main(["seed", "--data", str(tmp_path), url]) == 0
    opened = Folder(tmp_path).open()
    use_list(OLDER)
    host = HostRow(site_of(url), host_key(url), Condition.READY)
    put_rows(opened.store, host)
    of_another_list("topics", opened.log, opened.store)
    use_list(packaged_list())
    assert main([command, "--data", str(tmp_path), *([url] if command == "why" else [])]) == 0
    assert "Suffix" not in capsys.readouterr().err
