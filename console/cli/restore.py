"""`gossamer restore`: puts a snapshot back into a folder, or has a fleet go on from its tables.

`gossamer restore --align` brings the parts of a fleet together again, of which one was replaced by
an older state or is lost.
"""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from console.cli.options import add_crawl, place_from, settings_of
from console.figures import alignment, instant, plural
from console.fleet_snapshot import check_tables, missing_files, read_fleet_snapshot
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.events import DEFAULT_CRAWL
from gossamer.events.topics import TOPICS
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import newest_events
from gossamer.runtime.alignment import align_group, skip_gaps
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.control_copy import ControlRow, control_events, control_row
from gossamer.runtime.identity import STORE, IdentityRow, adopt, check_topics, fleet_event
from gossamer.settings import Settings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.terminal import printable
from services.archive.rows import SegmentRow
from services.archive.service import Archive
from services.dedup.service import Dedup
from services.frontier.service import Frontier
from standalone.folder import Folder
from standalone.snapshot import restore_snapshot

LONGEST = 5000
"""Characters of a line."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "snapshot",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="the snapshot; the tables of a fleet were put back before",
    )
    command.add_argument(
        "--replace", action="store_true", help="of a folder: replace the crawl that it holds"
    )
    command.add_argument(
        "--align",
        action="store_true",
        help="of a fleet: compare log and store, and go back to where the older one stands",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Put a snapshot back, or align a fleet."""
    if options.align == bool(options.snapshot):
        raise BadSettings("name a snapshot, or say --align for a fleet")
    if options.align:
        return _align(options)
    place = place_from(options)
    if isinstance(place, Folder):
        return _restore_folder(options, place)
    return _restore_fleet(options, place)


def _restore_folder(options: argparse.Namespace, folder: Folder) -> int:
    restored = restore_snapshot(options.snapshot, folder, options.replace)
    taken_at, data = instant(restored.snapshot.taken_at), shlex.quote(str(folder.path))
    print(f"{folder.path} holds the crawl of {taken_at} again.")
    print(f"To go on from there: gossamer crawl --data {data}, with the options of before.")
    if restored.newer:
        print(f"WARC files in {folder.warc} with captures of after the snapshot, which stay:")
        print("\n".join(f"  {file}" for file in restored.newer))
    if restored.missing:
        print(f"WARC files of the snapshot that {folder.warc} lacks, or has only a part of:")
        print("\n".join(f"  {file}" for file in restored.missing))
    if restored.erased:
        print("Erased after the snapshot, so known again; gossamer forget erases it again:")
        print("\n".join(printable(f"  {target}", LONGEST) for target in restored.erased))
    return 0


def _restore_fleet(options: argparse.Namespace, settings: Settings) -> int:
    """Print what is done, as it is done; all services must have been stopped, and the tables of the
    snapshot put back."""
    if options.replace:
        raise BadSettings("--replace is for a folder: the tables of a fleet are put back before")
    snapshot = read_fleet_snapshot(options.snapshot)
    with open_fleet(settings, "restore") as (log, store):
        check_tables(snapshot, log, store)
        print(f"the store is that of {instant(snapshot.taken_at)}", flush=True)
        for line in align(log, store, clock.now()):
            print(line, flush=True)
    if missing := missing_files(snapshot, settings.archive.folder):
        print(f"WARC files of the snapshot that {settings.archive.folder} lacks, or has a part of:")
        print("\n".join(f"  {file}" for file in missing))
    return 0


def _align(options: argparse.Namespace) -> int:
    """Print what is done, as it is done; all services must have been stopped."""
    if options.data or options.replace:
        raise BadSettings("--align is for fleets: --data and --replace go with a snapshot")
    settings = settings_of(options)
    if not settings.kafka.servers:
        raise BadSettings(
            "kafka.servers is empty: log and store of a folder are one file, and are always in step"
        )
    with open_fleet(settings, "restore") as (log, store):
        for line in align(log, store, clock.now()):
            print(line, flush=True)
    return 0


def align(log: Log, store: Store, now: float) -> Iterator[str]:
    """Bring *log* and *store* together; yield a line for each thing that was done."""
    is_new = store.table(IdentityRow).get(STORE) is None
    if is_new:
        yield adopt(log, store)
    yield from _state_again(log, store, now)
    for service, kind in ((Frontier, ""), (Dedup, Dedup.name), (Archive, Archive.name)):
        writers = [row.writer for row in store.table(SegmentRow).everything()]
        # Members that are paused must not write what they still have in mind.
        of = writers if service is Archive else range(log.partitions)
        Claimant(store, kind).claim([*of], now)
        found = align_group(log, store, service, is_new)
        if service is Archive:
            # An older row lacks segments even if the group is in step: records that were archived
            # and not committed at the time of the backup were archived again, in a later segment.
            # Without a row, the archive keeps all whole records of the files that it finds.
            for writer in writers:
                store.table(SegmentRow).drop(writer)
        store.flush()
        yield alignment(found)
    stateful = {Frontier.name, Dedup.name, Archive.name}
    others = {name for topic in TOPICS.values() for name in topic.consumers} - stateful
    for group in sorted(others):
        topics = [topic.name for topic in TOPICS.values() if group in topic.consumers]
        if (skipped := skip_gaps(log, group, topics)).moved:
            yield alignment(skipped)


def _state_again(log: Log, store: Store, now: float) -> Iterator[str]:
    """Write the topic `control` from the store, if it was lost; else the store's copy from it."""
    if check_topics(log):
        for event in newest_events(log).values():
            store.table(ControlRow).put(control_row(event))
        return
    row = store.table(IdentityRow).get(STORE)
    assert row
    events = [fleet_event(row, now), *control_events(store, DEFAULT_CRAWL)]
    messages = {message.key: message for message in map(encode, events)}
    log.append(messages.values())
    yield f"control: written from the store, {plural(len(messages), 'record')}"
