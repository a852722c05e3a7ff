"""`gossamer move`: moves a folder's crawl to a fleet, or a fleet's crawl to a folder.

The crawl keeps its id. Rows are copied unchanged. Rows of partitions are divided among the new
partitions by `services.frontier.resizing`. Records are copied from the topics that no service
consumes; all other topics have been consumed to their end. The URL-seen set becomes a table in a
folder, and the changelog `urls.seen` in a fleet.

State of servers and disks is not copied: the checkpoints of groups, because the destination has
other offsets; windows for write timestamps; the list of open WARC files.

**After a failure.** The source records that it was moved when the destination is complete. Until
then no service can start at the destination, and the crawl can continue at the source. A second
move drops the rows of the first one.
"""

import argparse
import shlex
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from dataclasses import replace as replaced
from itertools import islice
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from console.cli.options import add_config, settings_of
from console.output import say
from gossamer import clock
from gossamer.crawl import are_all_paused, definitions_of, seeds_applied
from gossamer.errors import BadSettings, GossamerError, Newer, Poison
from gossamer.events import Event, FleetBegun, FleetPaused, UrlsSeen
from gossamer.events.topics import (
    CONTROL,
    DEAD_LETTERS,
    TOPICS,
    URLS_SEEN,
    own_topics,
    topic_named,
)
from gossamer.log import Log, Message, Record, partition_of
from gossamer.log.codec import copy_message, decode, encode
from gossamer.runtime.backends import check_fleet, open_fleet
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.runtime.identity import (
    STORE,
    IdentityRow,
    check_identity,
    check_topics,
    identity_rows,
    stated_identity,
)
from gossamer.settings import Settings
from gossamer.store import Row, Store, keys_of
from gossamer.store.claims import Claimant, ClaimRow, WindowRow
from inspection.basics.figures import plural
from inspection.basics.folder import Folder, Opened
from procedures.preconditions import FLEET_REMEDY, FOLDER_REMEDY, check_drained, check_stopped
from procedures.tables import TABLES
from services.archive.rows import STANDALONE_WRITER, SegmentRow, UnpublishedRow
from services.archive.segments import repair
from services.dedup.replicated import changes_of, read_valid_changes
from services.dedup.seen import SeenRow
from services.dedup.service import Dedup
from services.frontier.procedures.resizing import crawls_in, drop_partitions, resize
from services.frontier.tables.hosts import AppliedRecords, HostRow
from services.frontier.tables.sites import SiteRow
from services.frontier.totals.tally import TallyRow

T = TypeVar("T")
BATCH_SIZE = 1000
"""Rows of one flush, and events of one append."""
MOVED_MARK = "@"
"""Separates the key of a moved dead letter from its time."""
NOT_COPIED_ROWS = (ClaimRow, WindowRow, IdentityRow, CheckpointRow, SegmentRow, UnpublishedRow)
"""Rows of servers and disks, not of a crawl."""
COPIED_TOPICS = (*(topic for topic in TOPICS.values() if not topic.consumers),)
"""The topics that no service consumes. Their records are retained."""


@dataclass(frozen=True)
class Side:
    """The source or the destination of a move."""

    name: str
    """Its name in messages."""
    log: Log
    store: Store
    is_folder: bool
    """Whether the URL-seen set is a table of the store, and not on the topic `urls.seen`."""

    @property
    def tables(self) -> list[type[Row]]:
        """The tables with a crawl's rows."""
        seen = [SeenRow] if self.is_folder else []
        return [*(row for row in TABLES if row not in NOT_COPIED_ROWS), *seen]


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="move the crawl in FOLDER to the fleet of the settings",
    )
    command.add_argument(
        "--to",
        type=Path,
        metavar="FOLDER",
        help="move the crawl of the fleet to FOLDER",
    )
    add_config(command)


def run(options: argparse.Namespace) -> int:
    """Print each step when it is done. No service may run on either side."""
    if bool(options.folder) == bool(options.to):
        raise BadSettings(
            "name the folder to move to the fleet, or --to FOLDER to move the fleet's crawl"
        )
    settings = settings_of(options)
    check_fleet(settings)
    if settings.dedup.engine == "faust":
        raise BadSettings(
            "dedup.engine is faust, whose tables cannot be moved: set it to own, and start dedup "
            "once so that it reads the changelog"
        )
    steps = (
        _to_folder(settings, Folder(options.to))
        if options.to
        else _to_fleet(settings, Folder(options.folder))
    )
    for line in steps:
        say(line)
    return 0


def _to_fleet(settings: Settings, folder: Folder) -> Iterator[str]:
    opened = folder.open()
    folder.lock()
    check_stopped(settings.kafka)
    with open_fleet(settings, "move") as (log, store):
        fleet = Side(_name(settings), log, store, is_folder=False)
        # Completes the segments that a killed crawl left open.
        repair(folder.warc, opened.store.table(SegmentRow).get(STANDALONE_WRITER))
        yield from move(_side(opened), fleet, clock.now())
    yield f"The crawl is in {fleet.name} now. Start the services."
    yield f"WARC files stay in {folder.warc}: captures name them without a folder."


def _to_folder(settings: Settings, folder: Folder) -> Iterator[str]:
    check_stopped(settings.kafka)
    with open_fleet(settings, "move") as (log, store):
        folder.make()
        folder.lock()
        _remove_former(folder, log)
        fleet = Side(_name(settings), log, store, is_folder=False)
        yield from move(fleet, _side(Opened(folder)), clock.now())
    data = shlex.quote(str(folder.path))
    yield f"The crawl is in {folder.path} now. Continue with gossamer crawl --data {data}"
    yield "WARC files stay in the folders of the archive instances."


def _name(settings: Settings) -> str:
    prefix, keyspace = settings.kafka.prefix, settings.cassandra.keyspace
    topics = f"topics {prefix}*, " if prefix else ""
    return f"the fleet on {settings.kafka.servers} ({topics}keyspace {keyspace})"


def _side(opened: Opened) -> Side:
    name = f"the folder {opened.folder.path.absolute()}"
    return Side(name, opened.log, opened.store, is_folder=True)


def _remove_former(folder: Folder, log: Log) -> None:
    """Remove the database of *folder* if it is an earlier state of the crawl on *log*."""
    if not folder.database.exists():
        return
    opened = folder.open()
    former, crawl = stated_identity(opened.log), stated_identity(log)
    opened.database.close()
    if not former or not crawl or former.id != crawl.id or crawl.moved_to:
        return
    if former.moved_to or former.moving_from:
        for file in (folder.database, *folder.path.glob(f"{folder.database.name}-*")):
            file.unlink()


def move(source: Side, target: Side, now: float) -> Iterator[str]:
    """Move the crawl of *source* to *target*; yield a line for each step.

    No service may run on either side. Raise GossamerError if *source* has no crawl, records that
    are not consumed yet, or captures that are not published yet, or if *target* is not empty.
    """
    if (event := _finished_copy(source, target)) is None:
        check_identity(source.log, source.store)
        if (stated := check_topics(source.log)) is None:
            raise GossamerError(f"{source.name} has no crawl: nothing to move")
        check_drained(source.log, FOLDER_REMEDY if source.is_folder else FLEET_REMEDY)
        _check_published(source)
        event = replace(stated, at=now, partitions=target.log.partitions)
        yield from _copy(source, target, event, now)
        _state(source, replace(stated, at=now, moved_to=target.name))
    _state(target, replace(event, at=now, moving_from=""))


def _check_published(source: Side) -> None:
    """Raise GossamerError if captures of *source* wait until their files are in a volume."""
    if any(True for _ in source.store.table(UnpublishedRow).everything()):
        raise GossamerError(
            f"WARC files of {source.name} wait to be uploaded, and only its archives can publish "
            "their captures: start it until gossamer status shows no such files, or without "
            "archive.volumes; then move"
        )


def _finished_copy(source: Side, target: Side) -> FleetBegun | None:
    """Return the identity of *target* if an earlier move copied all of *source* and then failed."""
    before, after = stated_identity(source.log), stated_identity(target.log)
    if not before or not after or before.id != after.id:
        return None
    is_same_move = (before.moved_to, after.moving_from) == (target.name, source.name)
    return after if is_same_move else None


def _copy(source: Side, target: Side, event: FleetBegun, now: float) -> Iterator[str]:
    _prepare_target(target, event.id)
    _state(target, replace(event, moving_from=source.name))
    for identity in identity_rows(event):
        target.store.table(IdentityRow).put(identity)
    target.store.flush()
    yield from _copy_rows(source, target)
    before, after = source.log.partitions, target.log.partitions
    if before != after:
        resize(target.store, crawls := crawls_in(source.store), before, after)
        target.store.flush()
        drop_partitions(target.store, crawls, before)
        target.store.flush()
        yield f"partitions: rows of {before} divided among {after}"
    epoch = _claim_partitions(source, target, now)
    yield from _copy_seen(source, target, epoch, now)
    yield from _copy_records(source.log, target.log)


def _prepare_target(target: Side, crawl: str) -> None:
    """Drop the rows of an earlier move of *crawl*; raise GossamerError if *target* has others."""
    stated = stated_identity(target.log)
    identity = target.store.table(IdentityRow).get(STORE)
    is_same_crawl = stated and stated.moving_from and stated.id == crawl
    if stated and is_same_crawl and (identity is None or identity in identity_rows(stated)):
        _clear(target)
        return
    topics = [name for name in TOPICS if name != CONTROL.name]
    if identity or stated or _has_records(target.log, topics) or _has_rows(target):
        raise GossamerError(
            f"{target.name} is not empty: name a folder without a crawl, or new topics "
            "(kafka.prefix) and a new keyspace (cassandra.keyspace)"
        )


def _has_records(log: Log, topics: list[str]) -> bool:
    with closing(log.tail(topics)) as tail:
        return bool(tail.poll(0))


def _has_rows(side: Side) -> bool:
    return any(any(True for _ in side.store.table(row).everything()) for row in side.tables)


def _clear(side: Side) -> None:
    for row in side.tables:
        table = side.store.table(row)
        for rows in _batches(table.everything()):
            for partition in {keys_of(row)[0] for row in rows}:
                table.drop(partition)
            side.store.flush()


def _state(side: Side, event: FleetBegun) -> None:
    side.log.append([encode(event)])


def _copy_rows(source: Side, target: Side) -> Iterator[str]:
    for row in source.tables:
        if row is SeenRow:
            continue
        count, table = 0, target.store.table(row)
        for rows in _batches(source.store.table(row).everything()):
            for copied_row in rows:
                table.put(_without_offsets(copied_row))
            target.store.flush()
            count += len(rows)
        if count:
            yield f"table {row.table}: {plural(count, 'row')}"


def _without_offsets(row: Row) -> Row:
    """Return *row* without the offsets of applied records: the destination has other offsets."""
    match row:
        case HostRow() | SiteRow():
            return replace(row, applied=AppliedRecords())
        case TallyRow():
            return replace(row, applied_verdicts=AppliedRecords())
    return row


def _claim_partitions(source: Side, target: Side, now: float) -> int:
    """Claim all partitions of *target* under an epoch newer than all of *source*; return it.

    The next owner then has later epochs and write timestamps than any copied row.
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
            for changes_of_partition in read_valid_changes(source.log, source.log.partitions)
            for number, change in changes_of_partition
            # A site that was in another partition before has its changes there, too.
            if number == partition_of(change.site, source.log.partitions)
        )
    count = 0
    for batch in _batches(changes):
        if target.is_folder:
            _write_seen(target.store, batch)
        else:
            target.log.append(encode(replace(change, epoch=epoch, at=now)) for change in batch)
        count += sum(-len(change.urls) if change.erased else len(change.urls) for change in batch)
    yield f"{URLS_SEEN.name}: {plural(count, 'URL')}"


def _write_seen(store: Store, changes: Iterable[UrlsSeen]) -> None:
    table = store.table(SeenRow)
    for change in changes:
        if change.dropped:
            table.drop((change.crawl, change.site))
        for url in map(bytes.fromhex, change.urls):
            if change.erased:
                table.erase((change.crawl, change.site), url)
            else:
                finder = bytes.fromhex(change.finder)
                table.put(SeenRow(change.crawl, change.site, url, finder))
    store.flush()


def _copy_records(source: Log, target: Log) -> Iterator[str]:
    own = own_topics(definitions_of(source).values())
    for name in own:
        target.create_topic(name)
    for topic in (*COPIED_TOPICS, *map(topic_named, own)):
        if topic is URLS_SEEN:
            continue
        count = 0
        with closing(source.tail([topic.name])) as tail:
            while records := tail.poll(0):
                moved = [
                    record for record in records if topic is not CONTROL or not _is_identity(record)
                ]
                target.append(map(_moved_record, moved))
                count += len(moved)
        if count:
            yield f"{topic.name}: {plural(count, 'record')}"
    target.append([encode(event) for event in _settings_of_crawls(source)])


def _settings_of_crawls(source: Log) -> Iterator[Event]:
    """Yield the settings that the crawls of *source* have only in the new place.

    A run of `gossamer crawl` pauses all crawls at its end, and may have limited its own pages.
    Limits of a crawl's file stay.
    """
    if are_all_paused(source):
        yield FleetPaused(at=clock.now(), paused=False)
    for name, crawl in definitions_of(source).items():
        if crawl.max_pages and not seeds_applied(source, name):
            yield replace(crawl, max_pages=0, pages_before=0)


def _moved_record(record: Record) -> Message:
    """Return *record* for another log.

    The key of a dead letter contains the offset of its record. The other log has other offsets, so
    the time is added to the key.
    """
    message = copy_message(record)
    if record.topic == DEAD_LETTERS.name and MOVED_MARK not in record.key:
        with suppress(Poison, Newer):
            return replaced(message, key=f"{record.key}{MOVED_MARK}{decode(record).at:.6f}")
    return message


def _is_identity(record: Record) -> bool:
    return record.key.startswith(f"{FleetBegun.__struct_config__.tag}/")


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := [*islice(remaining, BATCH_SIZE)]:
        yield batch
