"""A copy of a crawl's rows, records and URL-seen set, between two sides and within one."""

from dataclasses import replace
from itertools import count
from typing import TypeAlias

import pytest

from gossamer.events import UrlsSeen
from gossamer.events.topics import DEAD_LETTERS
from gossamer.log import Message, Record, partition_of, read_topic
from gossamer.log.codec import copy_message, encode
from gossamer.log.sqlite import SqliteLog
from gossamer.procedures.copying import Copy, Side
from gossamer.services.dedup.content import DigestRow
from gossamer.services.dedup.replicated import read_valid_changes
from gossamer.services.dedup.seen import SeenRow
from gossamer.sqlite import Database
from gossamer.store import Row
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site

NOW = 5.0
FINDER = bytes(8)
Urls: TypeAlias = set[tuple[str, bytes]]


def side(is_folder: bool = True) -> Side:
    database = Database(":memory:")
    log = SqliteLog(database)
    return Side("a side", log, SqliteStore(database), is_folder, log.partitions)


def put(side: Side, *rows: Row) -> None:
    for row in rows:
        side.store.table(type(row)).put(row)
    side.store.flush()


def digests(side: Side) -> dict[str, str]:
    return {row.digest: row.url for row in side.store.table(DigestRow).everything()}


def letters(side: Side) -> list[str]:
    return [record.key for record in read_topic(side.log, DEAD_LETTERS.name)]


def append_letters(side: Side, *keys: str) -> None:
    side.log.append([Message(DEAD_LETTERS.name, key, b"letter", key) for key in keys])


def changed(row: DigestRow) -> DigestRow | None:
    """Leave out the row `leave`, change the row `change`, and keep others."""
    if row.digest == "leave":
        return None
    return DigestRow("default", row.digest, "new") if row.digest == "change" else row


THREE = [DigestRow("default", digest, "old") for digest in ("change", "keep", "leave")]


def test_copy_to_another_side_writes_all_rows_but_those_left_out() -> None:
    source, target = side(), side()
    put(source, *THREE)
    copied = [*Copy(source, target, rows={DigestRow: changed}).copy_rows()]
    assert copied == [("digests", 2)]
    assert digests(target) == {"change": "new", "keep": "old"}
    assert digests(source) == dict.fromkeys(("change", "keep", "leave"), "old")


def test_copy_within_a_side_counts_changed_rows_and_erases_those_left_out() -> None:
    here = side()
    put(here, *THREE)
    assert [*Copy(here, here, rows={DigestRow: changed}).copy_rows()] == [("digests", 2)]
    assert digests(here) == {"change": "new", "keep": "old"}


def test_tables_without_changes_are_not_reported() -> None:
    here = side()
    put(here, THREE[1])
    assert not [*Copy(here, here, rows={DigestRow: changed}).copy_rows()]


@pytest.mark.parametrize("is_within", [True, False])
def test_dry_run_counts_and_writes_nothing(is_within: bool) -> None:
    source = side()
    target = source if is_within else side()
    put(source, *THREE)
    append_letters(source, "a", "b")
    before = digests(target), letters(target)
    copy = Copy(source, target, {DigestRow: changed}, {DEAD_LETTERS.name: copy_message})
    assert [*copy.copy_rows(is_dry=True)] == [("digests", 2)]
    assert [*copy.copy_records(is_dry=True)] == [(DEAD_LETTERS.name, 2)]
    assert (digests(target), letters(target)) == before


def test_copy_of_a_topic_leaves_records_out() -> None:
    source, target = side(), side()
    append_letters(source, "a", "b", "c")

    def without_b(record: Record) -> Message | None:
        return None if record.key == "b" else copy_message(record)

    copy = Copy(source, target, records={DEAD_LETTERS.name: without_b})
    assert [*copy.copy_records()] == [(DEAD_LETTERS.name, 2)]
    assert sorted(letters(target)) == ["a", "c"]


def test_target_is_empty_again_after_it_was_cleared() -> None:
    source, target = side(), side()
    copy = Copy(source, target, rows={DigestRow: changed})
    assert copy.is_target_empty()
    put(target, *THREE, SeenRow("default", Site("a.example"), b"1", FINDER))
    assert not copy.is_target_empty()
    copy.clear_target()
    assert copy.is_target_empty()


def test_target_with_records_is_not_empty() -> None:
    target = side()
    append_letters(target, "a")
    assert not Copy(side(), target).is_target_empty()


def seen_change(site: Site, *urls: bytes, erased: bool = False, epoch: int = 1) -> UrlsSeen:
    finder = "" if erased else FINDER.hex()
    found = tuple(url.hex() for url in urls)
    return UrlsSeen(site=site, at=NOW, epoch=epoch, finder=finder, urls=found, erased=erased)


def append_changes(side: Side, *changes: UrlsSeen) -> None:
    """Append *changes* as their owners do, each in the partition of its site."""
    side.log.append(
        [
            replace(encode(change), partition=partition_of(change.site, side.partitions))
            for change in changes
        ]
    )


def seen_urls(side: Side) -> Urls:
    """Return the URL-seen set of *side*: of a fleet, as owners read the changelog."""
    if side.is_folder:
        return {(row.site, row.fingerprint) for row in side.store.table(SeenRow).everything()}
    found = Urls()
    for changes in read_valid_changes(side.log, side.partitions):
        for number, change in changes:
            if number != partition_of(change.site, side.partitions):
                continue
            urls = {(change.site, bytes.fromhex(url)) for url in change.urls}
            found = found - urls if change.erased else found | urls
    return found


def test_seen_set_is_the_same_in_a_fleet_and_back_in_a_folder() -> None:
    folder, fleet, later = side(), side(is_folder=False), side()
    rows = [
        SeenRow("default", Site(f"{n}.example"), bytes([n, m]), FINDER)
        for n in range(9)
        for m in b"ab"
    ]
    put(folder, *rows)
    wanted = seen_urls(folder)
    assert sum(len(change.urls) for change in Copy(folder, fleet).copy_seen(2, NOW)) == len(wanted)
    assert seen_urls(fleet) == wanted
    append_changes(fleet, seen_change(Site("0.example"), b"\0a", erased=True, epoch=3))
    for _ in Copy(fleet, later).copy_seen(4, NOW):
        pass
    assert seen_urls(later) == wanted - {("0.example", b"\0a")}


def resized(fleet: Side, partitions: int, epoch: int) -> Side:
    """Return *fleet* with another number of *partitions*, and its URL-seen set divided."""
    after = replace(fleet, partitions=partitions)
    for _ in Copy(fleet, after).copy_seen(epoch, NOW):
        pass
    return after


def test_resized_changelog_has_each_site_in_its_new_partition() -> None:
    fleet = replace(side(is_folder=False), partitions=2)
    sites = [f"{n}.example" for n in range(20)]
    append_changes(fleet, *(seen_change(Site(site), b"a", b"b") for site in sites))
    wanted = seen_urls(fleet)
    assert len(wanted) == 40
    assert seen_urls(resized(fleet, 4, epoch=2)) == wanted


def test_url_erased_after_a_resize_stays_erased_after_the_next_resize() -> None:
    fleet = replace(side(is_folder=False), partitions=4)
    # Each number of partitions has the site in another partition; its former one is read last.
    sites = (f"{n}.example" for n in count())
    site = next(one for one in sites if [partition_of(one, n) for n in (4, 3, 2)] == [2, 1, 0])
    append_changes(fleet, seen_change(Site(site), b"a", b"b"))
    fleet = resized(fleet, 3, epoch=2)
    append_changes(fleet, seen_change(Site(site), b"a", erased=True, epoch=2))
    assert seen_urls(fleet) == {(site, b"b")}
    fleet = resized(fleet, 2, epoch=3)
    assert seen_urls(fleet) == {(site, b"b")}
