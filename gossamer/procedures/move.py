"""A move of a crawl at rest: from a folder to a fleet, or from a fleet to a folder.

The crawl keeps its id. Rows are copied unchanged. Rows of partitions are divided among the new
partitions by `gossamer.services.frontier.procedures.resizing`. Records are copied from the topics
that no service consumes; all other topics have been consumed to their end. The URL-seen set becomes
a table in a folder, and the changelog `urls.seen` in a fleet.

State of servers and disks is not copied: the checkpoints of groups, because the destination has
other offsets; windows for write timestamps; the list of open WARC files.

**After a failure.** The source records that it was moved when the destination is complete. Until
then no service can start at the destination, and the crawl can continue at the source. A second
move drops the rows of the first one.
"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace as replaced

from msgspec.structs import replace

from gossamer import clock
from gossamer.crawl import are_all_paused, definitions_of, seeds_applied
from gossamer.errors import GossamerError, Newer, Poison
from gossamer.events import Event, FleetBegun, FleetPaused
from gossamer.events.topics import CONTROL, DEAD_LETTERS, TOPICS, URLS_SEEN, own_topics
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log import Log, Message, Record
from gossamer.log.codec import copy_message, decode, encode
from gossamer.procedures.copying import Copy, Side, claim_partitions, write_identity
from gossamer.procedures.preconditions import check_drained, check_engine, check_stopped
from gossamer.procedures.tables import TABLES
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
from gossamer.services.archive.rows import STANDALONE_WRITER, SegmentRow, UnpublishedRow
from gossamer.services.archive.segments import repair
from gossamer.services.frontier.procedures.resizing import crawls_in, drop_partitions, resize
from gossamer.services.frontier.tables.hosts import AppliedRecords, HostRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.settings import Settings
from gossamer.store import Row
from gossamer.store.claims import ClaimRow, WindowRow

MOVED_MARK = "@"
"""Separates the key of a moved dead letter from its time."""
NOT_COPIED_ROWS = (ClaimRow, WindowRow, IdentityRow, CheckpointRow, SegmentRow, UnpublishedRow)
"""Rows of servers and disks, not of a crawl."""
COPIED_TOPICS = [
    name for name, topic in TOPICS.items() if not topic.consumers and topic is not URLS_SEEN
]
"""The topics that no service consumes, without the URL-seen set. Their records are retained."""


def move_to_fleet(settings: Settings, folder: Folder) -> Iterator[str]:
    """Move the crawl in *folder* to the fleet of *settings*; yield a line for each step.

    Raise GossamerError as `move` does, and if services run.
    """
    check_fleet(settings)
    check_engine(settings, "moved")
    opened = folder.open()
    folder.lock()
    with _open_stopped_fleet(settings) as fleet:
        # Completes the segments that a killed crawl left open.
        repair(folder.warc, opened.store.table(SegmentRow).get(STANDALONE_WRITER))
        yield from move(_side(opened), fleet, clock.now())
    yield f"The crawl is in {fleet.name} now. Start the services."
    yield f"WARC files stay in {folder.warc}: captures name them without a folder."


def move_to_folder(settings: Settings, folder: Folder) -> Iterator[str]:
    """Move the crawl of the fleet of *settings* to *folder*; yield a line for each step.

    Raise GossamerError as `move` does, and if services run.
    """
    check_fleet(settings)
    check_engine(settings, "moved")
    with _open_stopped_fleet(settings) as fleet:
        folder.make()
        folder.lock()
        _remove_former(folder, fleet.log)
        yield from move(fleet, _side(Opened(folder)), clock.now())
    data = shlex.quote(str(folder.path))
    yield f"The crawl is in {folder.path} now. Continue with gossamer crawl --data {data}"
    yield "WARC files stay in the folders of the archive instances."


@contextmanager
def _open_stopped_fleet(settings: Settings) -> Iterator[Side]:
    """Open the fleet of *settings*. Raise GossamerError if services run."""
    prefix, keyspace = settings.kafka.prefix, settings.cassandra.keyspace
    topics = f"topics {prefix}*, " if prefix else ""
    name = f"the fleet on {settings.kafka.servers} ({topics}keyspace {keyspace})"
    check_stopped(settings.kafka)
    with open_fleet(settings, "move") as (log, store):
        yield Side(name, log, store, is_folder=False, partitions=log.partitions)


def _side(opened: Opened) -> Side:
    name = f"the folder {opened.folder.path.absolute()}"
    return Side(name, opened.log, opened.store, True, opened.log.partitions)


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
    if (event := _find_finished_copy(source, target)) is None:
        check_identity(source.log, source.store)
        if (stated := check_topics(source.log)) is None:
            raise GossamerError(f"{source.name} has no crawl: nothing to move")
        check_drained(source.log, source.is_folder)
        _check_published(source)
        event = replace(stated, at=now, partitions=target.partitions)
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


def _find_finished_copy(source: Side, target: Side) -> FleetBegun | None:
    """Return the identity of *target* if an earlier move copied all of *source* and then failed."""
    before, after = stated_identity(source.log), stated_identity(target.log)
    if not before or not after or before.id != after.id:
        return None
    is_same_move = (before.moved_to, after.moving_from) == (target.name, source.name)
    return after if is_same_move else None


def _copy(source: Side, target: Side, event: FleetBegun, now: float) -> Iterator[str]:
    own = own_topics(definitions_of(source.log).values())
    copy = Copy(
        source,
        target,
        rows={row: _without_offsets for row in TABLES if row not in NOT_COPIED_ROWS},
        records={name: _MOVES.get(name, copy_message) for name in (*COPIED_TOPICS, *own)},
    )
    _prepare_target(copy, event.id)
    _state(target, replace(event, moving_from=source.name))
    write_identity(target.store, event)
    for table, count in copy.copy_rows():
        yield f"table {table}: {plural(count, 'row')}"
    before, after = source.partitions, target.partitions
    if before != after:
        resize(target.store, crawls := crawls_in(source.store), before, after)
        target.store.flush()
        drop_partitions(target.store, crawls, before)
        target.store.flush()
        yield f"partitions: rows of {before} divided among {after}"
    epoch = _claim_partitions(source, target, now)
    changes = copy.copy_seen(epoch, now)
    urls = sum(-len(change.urls) if change.erased else len(change.urls) for change in changes)
    yield f"{URLS_SEEN.name}: {plural(urls, 'URL')}"
    for name in own:
        target.log.create_topic(name)
    for topic, count in copy.copy_records():
        yield f"{topic}: {plural(count, 'record')}"
    target.log.append([encode(one) for one in _settings_of_crawls(source.log)])


def _prepare_target(copy: Copy, crawl: str) -> None:
    """Drop the rows of an earlier move of *crawl*; raise GossamerError if there are others."""
    target = copy.target
    stated = stated_identity(target.log)
    identity = target.store.table(IdentityRow).get(STORE)
    is_same_crawl = stated and stated.moving_from and stated.id == crawl
    if stated and is_same_crawl and (identity is None or identity in identity_rows(stated)):
        copy.clear_target()
    elif identity or stated or not copy.is_target_empty():
        raise GossamerError(
            f"{target.name} is not empty: name a folder without a crawl, or new topics "
            "(kafka.prefix) and a new keyspace (cassandra.keyspace)"
        )


def _state(side: Side, event: FleetBegun) -> None:
    side.log.append([encode(event)])


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
    return claim_partitions(target.store, target.partitions, now)


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


def _move_letter(record: Record) -> Message:
    """Return the dead letter *record* for another log.

    Its key contains the offset of the record that nobody could read. The other log has other
    offsets, so the time is added to the key.
    """
    message = copy_message(record)
    if MOVED_MARK not in record.key:
        with suppress(Poison, Newer):
            return replaced(message, key=f"{record.key}{MOVED_MARK}{decode(record).at:.6f}")
    return message


def _move_setting(record: Record) -> Message | None:
    """Return *record* of `control`, or None for the identity, which each side states itself."""
    is_identity = record.key.startswith(f"{FleetBegun.__struct_config__.tag}/")
    return None if is_identity else copy_message(record)


_MOVES = {CONTROL.name: _move_setting, DEAD_LETTERS.name: _move_letter}
"""Topic → the change of its records; others are copied unchanged."""
