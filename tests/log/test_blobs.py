"""Bytes that are too large for a record: stored, verified, and deleted with the record."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.errors import Poison
from gossamer.events import Event, Link, PageFetched, PageParsed, Visit
from gossamer.log import Record
from gossamer.log.blobs import (
    DAY,
    HOUR,
    keep,
    load,
    read_kept,
    refer,
    remove_kept,
    remove_leftovers,
)
from gossamer.log.codec import decode, encode
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.volumes import Volume, VolumeUnavailable
from gossamer.web.url import HostKey, Site
from tests.object_store import object_store

INLINE = 1000
BODY = bytes(range(256)) * 2000
NOW = 1_767_225_661.0


@pytest.fixture(params=["file", "s3"])
def volume(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Volume]:
    if request.param == "file":
        yield Volume((tmp_path / "blobs").as_uri())
        return
    with object_store():
        made = Volume(f"s3://bucket-{uuid.uuid4().hex}/blobs")
        made._files.mkdir(made._root.split("/")[0])
        yield made


@pytest.fixture
def log(volume: Volume) -> SqliteLog:
    return SqliteLog(Database(":memory:"), blobs=volume)


def page(number: int = 1, body: bytes = BODY) -> PageFetched:
    url = f"https://example.org/{number}"
    return PageFetched(
        at=NOW, site=Site("example.org"), host=HostKey("https://example.org"),
        visit=Visit(f"1.{number}.0@{url}", url),
        started_at=NOW, took=0.1, status=200, body=body,
    )  # fmt: skip


def parsed(links: int) -> PageParsed:
    return PageParsed(
        at=NOW, site=Site("example.org"), host=HostKey("https://example.org"), visit=page().visit,
        fetched_at=NOW, status=200, text="a text",
        links=tuple(Link(f"https://example.org/{n}", "x" * 300) for n in range(links)),
    )  # fmt: skip


def referred(event: Any, volume: Volume) -> Any:
    found = refer(event, volume, INLINE)
    assert isinstance(found, type(event)) and found.blob is not None
    return found


def decoded(event: Event) -> Event:
    """Return *event* as a reader of its record gets it."""
    message = encode(event)
    return decode(Record(message.topic, 0, 0, message.key, message.value, message.headers))


def advance(log: SqliteLog, group: str) -> int:
    """Let *group* consume everything; return the number of records."""
    reader = log.reader(group, ["pages.fetched"], SqliteStore(Database(":memory:")))
    count = 0
    while records := reader.poll(0):
        reader.advance(records, [])
        count += len(records)
    return count


def test_body_up_to_the_limit_stays_in_its_record(volume: Volume) -> None:
    small = page(body=b"x" * INLINE)
    assert refer(small, volume, INLINE) is small
    assert not volume.names()


def test_large_body_is_stored_and_verified(volume: Volume) -> None:
    event = referred(page(), volume)
    assert (event.body, event.blob.size) == (b"", len(BODY))
    assert volume.read(event.blob.name) == BODY
    assert event.blob.uri.endswith(event.blob.name)
    assert load(decoded(event), volume) == page()


def test_long_result_of_the_parser_is_stored_as_a_whole(volume: Volume) -> None:
    whole = parsed(links=5000)
    event = referred(whole, volume)
    assert len(encode(event).value) < 2000
    assert load(decoded(event), volume) == whole
    short = parsed(links=10)
    assert refer(short, volume, INLINE) is short


def test_record_counts_as_large_as_its_blob(volume: Volume) -> None:
    message = encode(referred(page(), volume))
    record = Record(message.topic, 0, 0, message.key, message.value, message.headers)
    assert record.size == len(record.value) + len(BODY)


@pytest.mark.parametrize(
    "name", ["../../gossamer.db", "/etc/passwd", "", "2026-01-01/a", "x" * 9999]
)
def test_foreign_name_of_a_blob_is_ignored(name: str) -> None:
    record = Record("pages.fetched", 0, 0, "k", b"{}", (("blob", name), ("blob-size", "-1")))
    assert (record.blob, record.size) == ("", 2)


def damage(volume: Volume, name: str) -> None:
    volume.put_bytes(name, BODY[:-1] + b"x")


def cut(volume: Volume, name: str) -> None:
    volume.put_bytes(name, BODY[:-1])


@pytest.mark.parametrize("spoil", [damage, cut, Volume.remove])
def test_wrong_or_missing_blob_is_poison(
    volume: Volume, spoil: Callable[[Volume, str], None]
) -> None:
    event = referred(page(), volume)
    spoil(volume, event.blob.name)
    with pytest.raises(Poison, match="blob"):
        load(event, volume)


def test_process_without_a_volume_never_reads_an_empty_body(volume: Volume) -> None:
    with pytest.raises(Poison, match="no volume"):
        load(referred(page(), volume), None)


def test_unavailable_volume_is_not_the_fault_of_the_record(tmp_path: Path) -> None:
    volume = Volume((tmp_path / "blobs").as_uri())
    event = referred(page(), volume)
    folder = (tmp_path / "blobs" / event.blob.name).parent
    shutil.rmtree(folder)
    folder.write_text("a file in place of a folder")
    with pytest.raises(VolumeUnavailable):
        load(event, volume)


def test_blob_is_deleted_after_the_last_group_has_consumed_its_record(
    log: SqliteLog, volume: Volume
) -> None:
    log.append([encode(referred(page(1), volume)), encode(page(2, b"small"))])
    assert advance(log, "parser") == 2
    assert len(volume.names()) == 1
    assert advance(log, "archive") == 2
    assert not volume.names()


def test_pages_with_equal_bodies_have_blobs_of_their_own(log: SqliteLog, volume: Volume) -> None:
    first, second = referred(page(1), volume), referred(page(2), volume)
    assert first.blob.digest == second.blob.digest
    log.append([encode(first)])
    for group in ("parser", "archive"):
        advance(log, group)
    assert load(second, volume) == page(2)


def test_only_blobs_without_a_record_are_leftovers(log: SqliteLog, volume: Volume) -> None:
    waiting, leftover = referred(page(1), volume), referred(page(2), volume)
    log.append([encode(waiting)])
    assert remove_leftovers(log, NOW) == 0, "the record may still be appended"
    assert remove_leftovers(log, NOW + 2 * DAY) == 1
    assert volume.names() == [waiting.blob.name] != [leftover.blob.name]


def test_body_that_fits_is_stored_if_the_headers_leave_no_room(volume: Volume) -> None:
    large = replace(page(body=b"x" * 690_000), headers=(("a", '"' * 40_000),))
    assert refer(large, volume, 700_000) == replace(
        large, body=b"", blob=referred(large, volume).blob
    )


def test_kept_capture_is_read_as_it_was(volume: Volume) -> None:
    fetched = page()
    assert read_kept(keep(fetched, volume), fetched.visit.url, volume) == fetched


def test_kept_captures_are_removed_by_their_hour_alone(log: SqliteLog, volume: Volume) -> None:
    old, new = keep(page(1), volume), keep(replace(page(2), started_at=NOW + HOUR), volume)
    blob = referred(page(), volume).blob.name
    remove_leftovers(log, NOW)
    assert remove_kept(volume, NOW) == 0
    assert remove_kept(volume, NOW + HOUR) == 1
    assert volume.size(old) is None and volume.size(new) and volume.size(blob)
    assert remove_kept(volume, NOW + 2 * HOUR) == 1


def test_kept_captures_of_an_unused_volume(volume: Volume) -> None:
    assert remove_kept(volume, NOW) == 0
    assert read_kept("shared/ab/2026-01-01T00-00", "https://example.org/1", volume) is None
