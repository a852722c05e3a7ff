"""Moves a crawl from one log and store to another: from a folder to a fleet, or back.

It stays the same crawl, under its id. Rows are copied as they are. Rows of
partitions are divided for the new number, by `services.frontier.resizing`. Records are copied from
the topics that no service reads; all others have been read to their end. The URL-seen set becomes a
table in a folder, and the changelog `urls.seen` in a fleet.

What belongs to servers and disks is not copied: the positions of groups, since the destination has
other offsets; windows for write timestamps; which WARC files are open.

**After a failure.** The source says that it was moved away once the destination has everything.
Until then nobody can start at the destination, and the crawl can go on at the source. A move that
begins again drops what the former one has written.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replaced
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace

from console.at_rest import FLEET_REMEDY, FOLDER_REMEDY, check_drained
from console.figures import plural
from console.tables import TABLES
from gossamer.crawl import last_definition
from gossamer.errors import GossamerError, Newer, Poison
from gossamer.events import DEFAULT_CRAWL, FleetBegun, UrlsSeen
from gossamer.events.topics import CONTROL, DEAD_LETTERS, TOPICS, URLS_SEEN
from gossamer.log import Log, Message, Record, partition_of
from gossamer.log.codec import copy_message, decode, encode
from gossamer.runtime.identity import (
    STORE,
    IdentityRow,
    check_identity,
    check_topics,
    identity_rows,
    stated_identity,
)
from gossamer.runtime.positions import PositionRow
from gossamer.store import Partition, Row, Store, partition_fields
from gossamer.store.claims import Claimant, ClaimRow, WindowRow
from services.archive.rows import SegmentRow
from services.dedup.replicated import changes_of, read_valid_changes
from services.dedup.seen import SeenRow
from services.dedup.service import Dedup
from services.frontier.resizing import drop_partitions, resize
from services.frontier.rows import AppliedRecords, HostRow, SiteRow, TallyRow

T = TypeVar("T")

BATCH = 1000
"""Rows of one flush, and events of one append."""
MOVED = "@"
"""Between the key of a dead letter that was moved and its time."""
STAYING = (ClaimRow, WindowRow, IdentityRow, PositionRow, SegmentRow)
"""Rows of servers and disks, not of a crawl."""
COPIED = (*(topic for topic in TOPICS.values() if not topic.consumers),)
"""The topics that no service reads. Their records stay."""


@dataclass(frozen=True)
class Side:
    """The source or the destination of a move."""

    name: str
    """Its name in messages."""
    log: Log
    store: Store
    is_folder: bool
    """Whether the URL-seen set is a table of the store; else it is on the topic `urls.seen`."""

    @property
    def tables(self) -> list[type[Row]]:
        """The tables with a crawl's rows."""
        seen = [SeenRow] if self.is_folder else []
        return [*(row for row in TABLES if row not in STAYING), *seen]


def move(source: Side, target: Side, now: float) -> Iterator[str]:
    """Move the crawl of *source* to *target*; yield a line for each thing that was done.

    Nobody may work on either. Raise GossamerError if *source* has no crawl, or has records that
    were not read, and if *target* is not empty.
    """
    if (event := _arrived(source, target)) is None:
        check_identity(source.log, source.store)
        if (stated := check_topics(source.log)) is None:
            raise GossamerError(f"{source.name} holds no crawl: nothing to move")
        check_drained(source.log, FOLDER_REMEDY if source.is_folder else FLEET_REMEDY)
        event = replace(stated, at=now, partitions=target.log.partitions)
        yield from _copy(source, target, event, now)
        _state(source, replace(stated, at=now, moved_to=target.name))
    _state(target, replace(event, at=now, moving_from=""))


def _arrived(source: Side, target: Side) -> FleetBegun | None:
    """Return what *target* states if it has all of *source*, and a former move ended just then."""
    left, arriving = stated_identity(source.log), stated_identity(target.log)
    if not left or not arriving or left.id != arriving.id:
        return None
    is_between_them = (left.moved_to, arriving.moving_from) == (target.name, source.name)
    return arriving if is_between_them else None


def _copy(source: Side, target: Side, event: FleetBegun, now: float) -> Iterator[str]:
    _make_room(target, event.id)
    _state(target, replace(event, moving_from=source.name))
    for identity in identity_rows(event):
        target.store.table(IdentityRow).put(identity)
    target.store.flush()
    yield from _copy_rows(source, target)
    before, after = source.log.partitions, target.log.partitions
    if before != after:
        resize(target.store, DEFAULT_CRAWL, before, after)
        target.store.flush()
        drop_partitions(target.store, DEFAULT_CRAWL, before)
        target.store.flush()
        yield f"partitions: what is kept of {before} is divided among {after}"
    epoch = _claim(source, target, now)
    yield from _copy_seen(source, target, epoch, now)
    yield from _copy_records(source.log, target.log)


def _make_room(target: Side, crawl: str) -> None:
    """Drop what a former move of *crawl* has written; raise GossamerError if there is more."""
    stated = stated_identity(target.log)
    identity = target.store.table(IdentityRow).get(STORE)
    is_ours = stated and stated.moving_from and stated.id == crawl
    if stated and is_ours and (identity is None or identity in identity_rows(stated)):
        _clear(target)
        return
    topics = [name for name in TOPICS if name != CONTROL.name]
    if identity or stated or _has_records(target.log, topics) or _has_rows(target):
        raise GossamerError(
            f"{target.name} is not empty: name a folder without a crawl, or topics (kafka.prefix) "
            "and a keyspace (cassandra.keyspace) that are new"
        )


def _has_records(log: Log, topics: list[str]) -> bool:
    tail = log.tail(topics)
    try:
        return bool(tail.poll(0))
    finally:
        tail.close()


def _has_rows(side: Side) -> bool:
    return any(any(True for _ in side.store.table(row).everything()) for row in side.tables)


def _clear(side: Side) -> None:
    for row in side.tables:
        table = side.store.table(row)
        for some in _batches(table.everything()):
            for partition in {_partition(one) for one in some}:
                table.drop(partition)
            side.store.flush()


def _partition(row: Row) -> Partition:
    values = tuple(getattr(row, name) for name in partition_fields(type(row)))
    return values[0] if len(values) == 1 else values


def _state(side: Side, event: FleetBegun) -> None:
    side.log.append([encode(event)])


def _copy_rows(source: Side, target: Side) -> Iterator[str]:
    for row in source.tables:
        if row is SeenRow:
            continue
        count, table = 0, target.store.table(row)
        for some in _batches(source.store.table(row).everything()):
            for one in some:
                table.put(_as_new(one))
            target.store.flush()
            count += len(some)
        if count:
            yield f"table {row.table}: {plural(count, 'row')}"


def _as_new(row: Row) -> Row:
    """Return *row* without the offsets of records that it has applied: they are others there."""
    match row:
        case HostRow() | SiteRow():
            return replace(row, applied=AppliedRecords())
        case TallyRow():
            return replace(row, judged=AppliedRecords())
    return row


def _claim(source: Side, target: Side, now: float) -> int:
    """Claim all partitions of *target* under an epoch newer than all of *source*; return it.

    So whoever claims them next has later epochs and write timestamps than anything that was copied.
    """
    for claim in source.store.table(ClaimRow).everything():
        target.store.write([claim], claim.epoch)
    numbers = range(target.log.partitions)
    Claimant(target.store).claim(numbers, now)
    return Claimant(target.store, Dedup.name).claim(numbers, now)


def _copy_seen(source: Side, target: Side, epoch: int, now: float) -> Iterator[str]:
    if source.is_folder:
        changes = changes_of(source.store.table(SeenRow).everything())
    else:
        changes = (
            change
            for some in read_valid_changes(source.log, source.log.partitions)
            for number, change in some
            # Sites that were in another partition before have their changes there as well.
            if number == partition_of(change.site, source.log.partitions)
        )
    count = 0
    for batch in _batches(changes):
        if target.is_folder:
            _write_seen(target.store, batch)
        else:
            target.log.append(encode(replace(one, epoch=epoch, at=now)) for one in batch)
        count += sum(-len(one.urls) if one.erased else len(one.urls) for one in batch)
    yield f"{URLS_SEEN.name}: {plural(count, 'URL')}"


def _write_seen(store: Store, changes: Iterable[UrlsSeen]) -> None:
    table = store.table(SeenRow)
    for change in changes:
        for url in map(bytes.fromhex, change.urls):
            if change.erased:
                table.erase((change.crawl, change.site), url)
            else:
                finder = bytes.fromhex(change.finder)
                table.put(SeenRow(change.crawl, change.site, url, finder))
    store.flush()


def _copy_records(source: Log, target: Log) -> Iterator[str]:
    for topic in COPIED:
        if topic is URLS_SEEN:
            continue
        count, tail = 0, source.tail([topic.name])
        try:
            while records := tail.poll(0):
                kept = [one for one in records if topic is not CONTROL or not _is_identity(one)]
                target.append(map(_as_new_record, kept))
                count += len(kept)
        finally:
            tail.close()
        if count:
            yield f"{topic.name}: {plural(count, 'record')}"
    if (crawl := last_definition(source)) is not None:
        # A run of `gossamer crawl` has a limit of pages, and is paused at its end.
        target.append([encode(replace(crawl, paused=False, max_pages=0, pages_before=0))])


def _as_new_record(record: Record) -> Message:
    """Return *record* for another log.

    A dead letter is kept under the offset of its record, and the other log counts from 0 again.
    """
    message = copy_message(record)
    if record.topic == DEAD_LETTERS.name and MOVED not in record.key:
        with suppress(Poison, Newer):
            return replaced(message, key=f"{record.key}{MOVED}{decode(record).at:.6f}")
    return message


def _is_identity(record: Record) -> bool:
    return record.key.startswith(f"{FleetBegun.__struct_config__.tag}/")


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while some := [*islice(remaining, BATCH)]:
        yield some
