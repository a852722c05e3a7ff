"""`gossamer snapshot`: a consistent copy of a crawl that runs.

A folder's database is copied by this command. A fleet's tables are copied by the operator's own
tool, while no service writes.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from console.cli.options import add_crawl, place_from, seconds
from console.figures import duration, instant, plural, size
from console.fleet_snapshot import take_fleet_snapshot
from gossamer import clock
from gossamer.errors import BadSettings, GossamerError
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.quiescing import QuiescedFleet
from gossamer.settings import Settings
from standalone.folder import Folder
from standalone.snapshot import COPY, take_snapshot

LIMIT = 600.0


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "snapshot", type=Path, metavar="DIR", help="the folder to write, which is new or empty"
    )
    command.add_argument(
        "--run",
        dest="command",
        metavar="COMMAND",
        help="of a fleet: the shell command that copies the tables, such as 'nodetool snapshot -t "
        "TAG KEYSPACE' for a single node (default: wait for Enter)",
    )
    command.add_argument(
        "--limit",
        type=seconds,
        default=LIMIT,
        metavar="DURATION",
        help="of a fleet: services go on after that in any case (default: 10m)",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Write the snapshot, and say what it has."""
    place = place_from(options)
    if isinstance(place, Folder):
        return _of_folder(options, place)
    return _of_fleet(options, place)


def _of_folder(options: argparse.Namespace, folder: Folder) -> int:
    if options.command:
        raise BadSettings("--run is for a fleet: the database of a folder is copied without it")
    target = options.snapshot
    snapshot = take_snapshot(folder, target)
    files, database = snapshot.files, (target / COPY).stat().st_size
    print(
        f"{target} has the crawl in {folder.path} as of {instant(snapshot.taken_at)}: the database "
        f"({size(database)}) and a list of {plural(len(files), 'WARC file')} "
        f"({size(sum(files.values()))}), which are not copied."
    )
    back = shlex.join(["gossamer", "restore", str(target), "--data", str(folder.path)])
    print(f"To go back to it when no crawl runs: {back} --replace")
    return 0


def _of_fleet(options: argparse.Namespace, settings: Settings) -> int:
    target, command = options.snapshot, options.command
    if command is None and not sys.stdin.isatty():
        raise BadSettings(
            "there is no terminal to wait at: give the command that copies the tables with --run, "
            "such as --run 'nodetool snapshot -t TAG KEYSPACE'"
        )

    def copy(delayed: QuiescedFleet) -> None:
        if command is None:
            _wait_for_enter(settings, delayed)
        else:
            _run(command, delayed)

    with open_fleet(settings, "snapshot") as (log, store):
        snapshot, held = take_fleet_snapshot(log, store, settings, target, options.limit, copy)
    print(f"The fleet was quiesced for {duration(held)}.")
    files = snapshot.files
    print(
        f"{target} describes the fleet {snapshot.fleet} as of {instant(snapshot.taken_at)}, with a "
        f"list of {plural(len(files), 'WARC file')} ({size(sum(files.values()))}), which are not "
        "copied."
    )
    if snapshot.elsewhere:
        print(
            f"The WARC files of these archive instances are not listed, since "
            f"{settings.archive.folder} does not have them here: {', '.join(snapshot.elsewhere)}."
        )
    back = shlex.join(["gossamer", "restore", str(target)])
    print(f"To go back to it: stop all services, put the tables back on all nodes, and run {back}")
    return 0


def _run(command: str, delayed: QuiescedFleet) -> None:
    try:
        done = subprocess.run(command, shell=True, timeout=delayed.until - clock.now())
    except subprocess.TimeoutExpired as error:
        raise GossamerError(
            "no snapshot was taken: the command had not ended when services went on. Give it more "
            "time with --limit"
        ) from error
    if done.returncode:
        raise GossamerError(
            f"no snapshot was taken: the command ended with status {done.returncode}"
        )


def _wait_for_enter(settings: Settings, delayed: QuiescedFleet) -> None:
    print(
        f"No service writes until {instant(delayed.until)}. Copy the keyspace "
        f"{settings.cassandra.keyspace} on all nodes now (nodetool snapshot), then press Enter."
    )
    if not sys.stdin.readline():
        raise GossamerError("no snapshot was taken: the terminal was closed")
