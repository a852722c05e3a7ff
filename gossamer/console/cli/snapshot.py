"""`gossamer snapshot`: copies a crawl consistently while it runs.

The command copies the database of a folder. The tables of a fleet are copied by the operator's
tool, while the command keeps the services from writing.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from gossamer import clock
from gossamer.console.cli.options import add_place, place_from, seconds
from gossamer.console.output import YELLOW, say
from gossamer.errors import BadSettings, GossamerError
from gossamer.inspection.basics.figures import duration, instant, plural, size
from gossamer.inspection.basics.folder import Folder
from gossamer.procedures.snapshot import COPY, take_fleet_snapshot, take_snapshot
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.quiescing import QuiescedFleet
from gossamer.settings import Settings

DEFAULT_LIMIT = 600.0
"""Maximum time for which a fleet is quiesced, in seconds."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "snapshot", type=Path, metavar="DIR", help="the folder to write; new or empty"
    )
    command.add_argument(
        "--run",
        dest="command",
        metavar="COMMAND",
        help="fleets: the shell command that copies the tables, such as 'nodetool snapshot -t "
        "TAG KEYSPACE' for a single node (default: wait for Enter)",
    )
    command.add_argument(
        "--limit",
        type=seconds,
        default=DEFAULT_LIMIT,
        metavar="DURATION",
        help="fleets: the services continue after DURATION in any case (default: 10m)",
    )
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Write the snapshot, and print its contents."""
    place = place_from(options)
    if isinstance(place, Folder):
        return _copy_folder(options, place)
    return _copy_fleet(options, place)


def _copy_folder(options: argparse.Namespace, folder: Folder) -> int:
    if options.command:
        raise BadSettings("--run is for fleets: this command copies the database of a folder")
    target = options.snapshot
    snapshot = take_snapshot(folder, target)
    database = (target / COPY).stat().st_size
    say(
        f"Snapshot of {folder.path} at {instant(snapshot.taken_at)} written to {target}: the "
        f"database ({size(database)}) and {_list_text(snapshot.files)}"
    )
    restore = shlex.join(["gossamer", "restore", str(target), "--data", str(folder.path)])
    say(f"To restore it while no crawl runs: {restore} --replace")
    return 0


def _copy_fleet(options: argparse.Namespace, settings: Settings) -> int:
    target, command = options.snapshot, options.command
    if command is None and not sys.stdin.isatty():
        raise BadSettings(
            "standard input is not a terminal: name the command that copies the tables with --run, "
            "such as --run 'nodetool snapshot -t TAG KEYSPACE'"
        )

    def copy(quiesced: QuiescedFleet) -> None:
        if command is None:
            _wait_for_enter(settings, quiesced)
        else:
            _run(command, quiesced)

    with open_fleet(settings, "snapshot") as (log, store):
        snapshot, quiesced_for = take_fleet_snapshot(
            log, store, settings, target, options.limit, copy
        )
    say(f"The fleet was quiesced for {duration(quiesced_for)}.")
    say(
        f"Snapshot of the fleet {snapshot.fleet} at {instant(snapshot.taken_at)} written to "
        f"{target}, with {_list_text(snapshot.files)}"
    )
    if snapshot.elsewhere:
        say(
            f"WARC files of these archive instances are not listed, because they are not in "
            f"{settings.archive.folder} on this machine: {', '.join(snapshot.elsewhere)}.",
            YELLOW,
        )
    restore = shlex.join(["gossamer", "restore", str(target)])
    say(f"To restore it: stop all services, restore the tables on all nodes, and run {restore}")
    return 0


def _list_text(files: Mapping[str, int]) -> str:
    count, total = plural(len(files), "WARC file"), size(sum(files.values()))
    return f"a list of {count} ({total}), which are not copied."


def _run(command: str, quiesced: QuiescedFleet) -> None:
    try:
        done = subprocess.run(command, shell=True, timeout=quiesced.until - clock.now())
    except subprocess.TimeoutExpired as error:
        raise GossamerError(
            "no snapshot was taken: the command was still running when the services continued. "
            "Allow more time with --limit"
        ) from error
    if done.returncode:
        raise GossamerError(
            f"no snapshot was taken: the command ended with status {done.returncode}"
        )


def _wait_for_enter(settings: Settings, quiesced: QuiescedFleet) -> None:
    say(
        f"No service writes until {instant(quiesced.until)}. Copy the keyspace "
        f"{settings.cassandra.keyspace} on all nodes now (nodetool snapshot), then press Enter."
    )
    if not sys.stdin.readline():
        raise GossamerError("no snapshot was taken: the terminal was closed")
