"""`gossamer restore`: restores a snapshot of a folder, or of a fleet whose tables were restored.

`gossamer restore --align` aligns log and store of a fleet after one of them was lost or replaced by
an older state.
"""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from console.cli.options import add_place, place_from, settings_of
from console.cli.snapshot import STATEFUL_GROUPS, check_tables, missing_files, read_fleet_snapshot
from console.output import YELLOW, print_items, say
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.events.topics import CONSUMED_TOPICS
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import ControlRow, control_events, control_row, newest_events
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.checkpoints import align_group, skip_gaps
from gossamer.runtime.identity import STORE, IdentityRow, adopt, check_topics, fleet_event
from gossamer.settings import Settings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.volumes import Volume
from inspection.basics.figures import alignment, instant, plural
from inspection.basics.folder import Folder
from services.archive.rows import SegmentRow
from services.archive.service import Archive
from services.dedup.service import Dedup
from services.frontier.service import Frontier
from standalone.snapshot import restore_snapshot


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "snapshot",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="the snapshot; restore the tables of a fleet first",
    )
    command.add_argument(
        "--replace", action="store_true", help="folders: replace the crawl in the folder"
    )
    command.add_argument(
        "--align",
        action="store_true",
        help="fleets: compare log and store, and return to the older of both offsets",
    )
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Restore a snapshot, or align a fleet."""
    if options.align == bool(options.snapshot):
        raise BadSettings("name a snapshot, or use --align for a fleet")
    if options.align:
        return _align(options)
    place = place_from(options)
    if isinstance(place, Folder):
        return _restore_folder(options, place)
    return _restore_fleet(options, place)


def _restore_folder(options: argparse.Namespace, folder: Folder) -> int:
    restored = restore_snapshot(options.snapshot, folder, options.replace)
    taken_at, data = instant(restored.snapshot.taken_at), shlex.quote(str(folder.path))
    say(f"The crawl of {taken_at} is restored in {folder.path}.")
    say(f"To continue it: gossamer crawl --data {data}, with the same options as before.")
    for text, items in (
        (f"WARC files in {folder.warc} with captures newer than the snapshot:", restored.newer),
        (
            f"WARC files missing or incomplete in {folder.warc}:",
            _not_in_volumes(settings_of(options), restored.missing),
        ),
        (
            "Erased after the snapshot, and restored with it; gossamer forget erases them again:",
            restored.erased,
        ),
    ):
        if items:
            say(text, YELLOW)
            print_items(items)
    return 0


def _restore_fleet(options: argparse.Namespace, settings: Settings) -> int:
    """Align the fleet with the restored tables; print each step. All services must be stopped."""
    if options.replace:
        raise BadSettings(
            "--replace is for folders: restore the tables of a fleet before this command"
        )
    snapshot = read_fleet_snapshot(options.snapshot)
    with open_fleet(settings, "restore") as (log, store):
        check_tables(snapshot, log, store)
        say(f"the store is that of {instant(snapshot.taken_at)}")
        for line in align(log, store, clock.now()):
            say(line)
    if missing := _not_in_volumes(settings, missing_files(snapshot, settings.archive.folder)):
        say(f"WARC files missing or incomplete in {settings.archive.folder}:", YELLOW)
        print_items(missing)
    return 0


def _not_in_volumes(settings: Settings, files: Sequence[str]) -> list[str]:
    """Return the *files* that are in no volume of the archive."""
    volumes = [Volume(url) for url in settings.archive.volumes] if files else []
    return [file for file in files if all(volume.size(file) is None for volume in volumes)]


def _align(options: argparse.Namespace) -> int:
    """Align log and store; print each step. All services must be stopped."""
    if options.data or options.replace:
        raise BadSettings("--align is for fleets: leave out --data and --replace")
    settings = settings_of(options)
    if not settings.kafka.servers:
        raise BadSettings(
            "kafka.servers is empty: log and store of a folder are one file and always agree"
        )
    with open_fleet(settings, "restore") as (log, store):
        for line in align(log, store, clock.now()):
            say(line)
    return 0


def align(log: Log, store: Store, now: float) -> Iterator[str]:
    """Align *log* and *store*; yield a line for each step."""
    is_new = store.table(IdentityRow).get(STORE) is None
    if is_new:
        yield adopt(log, store)
    yield from _restore_control(log, store, now)
    for service, kind in ((Frontier, ""), (Dedup, Dedup.name), (Archive, Archive.name)):
        writers = [row.writer for row in store.table(SegmentRow).everything()]
        # Fences paused members: they must not write their cached rows.
        owners = writers if service is Archive else range(log.partitions)
        Claimant(store, kind).claim([*owners], now)
        found = align_group(log, store, service, is_new)
        if service is Archive:
            # An older row lacks segments even if the group is aligned: records that were archived
            # but not committed at the backup were archived again, in a later segment. Without a
            # row, the archive keeps all complete records of the files that it finds.
            for writer in writers:
                store.table(SegmentRow).drop(writer)
        store.flush()
        yield alignment(found)
    for group in sorted(CONSUMED_TOPICS.keys() - set(STATEFUL_GROUPS)):
        if (skipped := skip_gaps(log, group, CONSUMED_TOPICS[group])).moved:
            yield alignment(skipped)


def _restore_control(log: Log, store: Store, now: float) -> Iterator[str]:
    """Write the topic `control` from the store if it was lost; else update the store's copy."""
    if check_topics(log):
        for event in newest_events(log).values():
            store.table(ControlRow).put(control_row(event))
        return
    row = store.table(IdentityRow).get(STORE)
    assert row
    events = [fleet_event(row, now), *control_events(store)]
    messages = {message.key: message for message in map(encode, events)}
    log.append(messages.values())
    yield f"control: written from the store, {plural(len(messages), 'record')}"
