"""The data of each release, with which the present code continues."""

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from msgspec.structs import replace

from gossamer import clock
from gossamer.console.cli.main import main
from gossamer.events import FleetPaused
from gossamer.events.topics import URLS_SEEN
from gossamer.inspection.basics.folder import Folder
from gossamer.log import Message, Record
from gossamer.log.codec import decode, encode, tombstone
from gossamer.log.sqlite import SqliteLog
from gossamer.procedures.copying import Side
from gossamer.procedures.move import move
from gossamer.procedures.restore import restore_snapshot
from gossamer.procedures.snapshot import take_snapshot
from gossamer.procedures.tables import TABLES
from gossamer.runtime.identity import identify
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.sqlite import Database
from gossamer.store.cassandra.cql import Columns, all_columns_of
from gossamer.store.sqlite import SqliteStore
from gossamer.web.suffixes import use_list, used_list
from tests.flow.torn import Fate
from tests.flow.virtual import VirtualCrawl
from tests.releases import (
    DELAY,
    KEPT,
    SETTINGS,
    Moment,
    Release,
    advice,
    answer_from,
    kept_versions,
    seen_in,
    unpack,
)
from tests.releases.web import BLOCKED, BUSY, CRAWL_DELAY, ERASED, RETRY_AFTER, SLOW

LONG = RETRY_AFTER + 100.0
"""Seconds until every URL that the crawl must request was requested, and before any revisit."""


@pytest.fixture(params=kept_versions())
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Release]:
    """The data of each kept release. A failure says whether the file may be written again."""
    request.node.add_report_section("call", "release", advice(request.param))
    used = used_list()
    yield unpack(request.param, tmp_path / "kept")
    use_list(used)


def open_folder(
    release: Release, name: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Folder, Moment, VirtualCrawl]:
    """Return a folder of the crawl, and its continuation in virtual time, which has not begun."""
    folder, moment = Folder(release.folder / name), release.manifest.folders[name]
    crawl = VirtualCrawl(folder.warc, answer_from(release.answers()), **SETTINGS)
    crawl.now = moment.at
    monkeypatch.setattr(clock, "now", lambda: crawl.now)
    return folder, moment, crawl


def continue_crawl(folder: Folder, crawl: VirtualCrawl) -> None:
    """Continue as `gossamer crawl` does, for a while."""
    crawl.database = Database(folder.database)
    crawl.log = SqliteLog(crawl.database)
    identify(crawl.log, SqliteStore(crawl.database), crawl.now)
    crawl.crash()
    crawl.log.append([encode(FleetPaused(at=crawl.now, paused=False))])
    crawl.run(until=crawl.now + LONG)
    assert not crawl.lag()
    crawl.archive.release()
    crawl.database.close()


def visited_in(folder: Folder, moment: Moment) -> set[str]:
    """Return the URLs whose visits were over. A busy host's are visited again."""
    requested = {one.url for one in moment.requests if not host_of(one.url).startswith(BUSY)}
    with closing((opened := folder.open()).database):
        rows = opened.store.table(UrlRow).everything()
        return {row.url for row in rows if row.url in requested}


def assert_continued(
    release: Release, moment: Moment, crawl: VirtualCrawl, visited: set[str]
) -> None:
    """Assert that the crawl has requested all URLs, none of *visited* again, and kept delays."""
    assert len(visited) > 20
    assert not visited & {url for _, _, url in crawl.requests}
    before = {one.url for one in moment.requests}
    wanted = {*release.manifest.wanted}
    assert wanted - before, "the crawl was over when the folder was kept"
    assert not wanted - before - {url for _, _, url in crawl.requests}
    free_at = defaultdict[str, float](float)
    busy = {host for host in map(host_of, wanted) if host.startswith(BUSY)}
    for one in moment.requests:
        wait = RETRY_AFTER if host_of(one.url) in busy and one.url.endswith("/") else 0.0
        free_at[host_of(one.url)] = one.ended_at + max(wait, delay_of(one.url))
    for start, end, url in sorted(crawl.requests):
        assert start >= free_at[host_of(url)] - 0.01, f"{url} was requested too soon"
        free_at[host_of(url)] = end + delay_of(url)
    assert not [url for _, _, url in crawl.requests if host_of(url).startswith((BLOCKED, ERASED))]


def host_of(url: str) -> str:
    return urlsplit(url).netloc


def delay_of(url: str) -> float:
    return CRAWL_DELAY if host_of(url).startswith(SLOW) else DELAY


@pytest.mark.parametrize("name", ["killed", "stopped"])
def test_folder_continues_without_lost_or_repeated_visits(
    release: Release, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder, moment, crawl = open_folder(release, name, monkeypatch)
    visited = visited_in(folder, moment)
    continue_crawl(folder, crawl)
    assert_continued(release, moment, crawl, visited)


@pytest.mark.parametrize("name", ["killed", "stopped"])
def test_commands_read_the_folder(
    release: Release,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    name: str,
) -> None:
    folder, moment, _ = open_folder(release, name, monkeypatch)

    def run(*arguments: object) -> str:
        assert main([*map(str, arguments), "--data", str(folder.path)]) == 0
        return capsys.readouterr().out

    pages = [json.loads(line) for line in run("pages", "--crawl", "default").splitlines()]
    requested = {one.url for one in moment.requests}
    assert pages and {page["url"] for page in pages} <= requested
    answers = release.answers()
    for page in pages:
        assert page["title"] in answers[page["url"]].body.decode()
        assert page["url"] in run("why", page["url"], "--crawl", "default")
    said = run("status", "--crawl", "default")
    assert "backing off" in said
    assert BLOCKED in run("blocklist")
    assert ERASED in run("forget", "--list")
    assert "news" in run("crawls", "list")
    run("export", tmp_path / "pages.jsonl", "--crawl", "default")
    run("export", tmp_path / "pages.wacz", "--crawl", "default")


@pytest.mark.parametrize("name", ["killed", "stopped"])
def test_restored_snapshot_of_the_folder_continues(
    release: Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    folder, moment, _ = open_folder(release, name, monkeypatch)
    visited = visited_in(folder, moment)
    take_snapshot(folder, tmp_path / "copy")
    shutil.rmtree(folder.path)
    restore_snapshot(tmp_path / "copy", folder, may_replace=False)
    _, _, crawl = open_folder(release, name, monkeypatch)
    continue_crawl(folder, crawl)
    assert_continued(release, moment, crawl, visited)


def test_folder_moves_to_a_fleet_that_continues(
    release: Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, moment, _ = open_folder(release, "stopped", monkeypatch)
    crawl = VirtualCrawl(
        folder.warc, answer_from(release.answers()), Fate(0), partitions=4, **SETTINGS
    )
    crawl.now = moment.at
    visited = visited_in(folder, moment)
    with closing((opened := folder.open()).database):
        source = Side("the folder", opened.log, opened.store, True, opened.log.partitions)
        fleet = Side("the fleet", crawl.log, crawl._store(), False, crawl.log.partitions)
        assert [*move(source, fleet, crawl.now)]
    crawl.crash()
    crawl.run(until=crawl.now + LONG)
    assert_continued(release, moment, crawl, visited)


def includes(value: Any, kept: Any) -> bool:
    """Return whether *value* has all that is in *kept*. Later versions may have added fields."""
    if isinstance(kept, dict):
        return isinstance(value, dict) and all(
            name in value and includes(value[name], one) for name, one in kept.items()
        )
    if isinstance(kept, list):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(kept)
            and all(map(includes, value, kept))
        )
    return isinstance(value, type(kept)) and bool(value == kept)


def parsed(value: Any) -> Any:
    """Return the object in JSON, and another column value unchanged."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        return msgspec.json.decode(value)
    return value


def test_rows_of_the_fleet_are_read_and_written_with_equal_values(release: Release) -> None:
    kinds = {kind.table: kind for kind in TABLES}
    for table, rows in release.fleet().rows.items():
        kind = kinds[table]
        columns = Columns(kind)
        # A column that was added later is null in older rows.
        nulls = dict.fromkeys(all_columns_of(kind))
        assert rows
        for row in rows:
            assert row.keys() <= nulls.keys(), f"{table} has lost a column"
            values = columns.values(columns.named_row(nulls | row))
            written = dict(zip(all_columns_of(kind), values, strict=True))
            for name, value in row.items():
                assert includes(parsed(written[name]), parsed(value)), (table, name)


def written_again(record: Record) -> Message:
    """Return the message that has what was read in *record*."""
    if ("event", "tombstone") in record.headers:
        return encode(replace(tombstone(record), topic=record.topic))
    return encode(decode(record))


def test_records_of_the_fleet_are_read_and_written_with_equal_values(release: Release) -> None:
    records = release.fleet().records
    assert len(records) > 40
    for record in records:
        message = written_again(record)
        assert message.topic == record.topic
        if record.value.startswith(b"{"):
            kept = msgspec.json.decode(record.value)
            assert includes(msgspec.json.decode(message.value), kept), record
        assert {*record.headers} <= {*message.headers}, record


def test_seen_set_is_read_from_the_changelog(release: Release) -> None:
    fleet = release.fleet()
    log = SqliteLog(Database(":memory:"))
    log.partitions = fleet.partitions
    log.append(
        Message(URLS_SEEN.name, one.key, one.value, "", one.headers, one.partition)
        for one in fleet.changelog
    )
    assert len(fleet.seen) > 50
    assert seen_in(log) == fleet.seen


def test_each_released_version_has_its_data() -> None:
    changes = (KEPT.parents[1] / "CHANGELOG.md").read_text()
    described = {*re.findall(r"^## (\d+\.\d+\.\d+)", changes, re.MULTILINE)}
    assert kept_versions()
    assert described - {version("gossamer")} <= {*kept_versions()}
