"""`gossamer restore`: restores a snapshot of a folder, or of a fleet whose tables were restored.

`gossamer restore --align` aligns log and store of a fleet after one of them was lost or replaced by
an older state.
"""

import argparse
import shlex
from pathlib import Path

from gossamer import clock
from gossamer.console.cli.options import add_place, place_from, settings_of
from gossamer.console.output import YELLOW, print_items, say, say_each
from gossamer.errors import BadSettings
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.basics.folder import Folder
from gossamer.procedures.align import align
from gossamer.procedures.restore import check_tables, not_in_volumes, restore_snapshot
from gossamer.procedures.snapshot import find_missing_files, read_fleet_snapshot
from gossamer.runtime.backends import open_fleet
from gossamer.settings import Settings


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
            not_in_volumes(restored.missing, settings_of(options).archive.volumes),
        ),
        (
            "Erased after the snapshot, and restored with it; gossamer forget erases them again:",
            restored.erased,
        ),
        (
            "Not read in the replaced database, so what is newer than the snapshot is lost:",
            restored.lost,
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
        say_each(align(log, store, clock.now()))
    archives, volumes = settings.archive.folder, settings.archive.volumes
    if missing := not_in_volumes(find_missing_files(snapshot.files, archives), volumes):
        say(f"WARC files missing or incomplete in {archives}:", YELLOW)
        print_items(missing)
    return 0


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
        say_each(align(log, store, clock.now()))
    return 0
