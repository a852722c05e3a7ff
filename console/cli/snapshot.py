"""`gossamer snapshot`: copies a crawl consistently while it runs.

The command copies the database of a folder. The tables of a fleet are copied by the operator's
tool, while the command keeps the services from writing.

`snapshot.json` describes the copy of a fleet: the id of the fleet, the checkpoints of each group in
the store, and the WARC files. It is written last, so a snapshot with it is complete. The tables
stay where the operator's tool has put them.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import msgspec

from console.cli.options import add_place, place_from, seconds
from console.output import YELLOW, say
from gossamer import clock
from gossamer.errors import BadSettings, Corrupt, GossamerError
from gossamer.events.topics import CONSUMED_TOPICS
from gossamer.log import Log
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.runtime.identity import (
    STORE,
    IdentityRow,
    check_identity,
    check_stated_folder,
    check_topics,
)
from gossamer.runtime.quiescing import QuiescedFleet, quiesce
from gossamer.settings import Settings
from gossamer.store import Store
from gossamer.volumes import OPEN_SUFFIX
from inspection.basics.figures import duration, first_few, instant, plural, size
from inspection.basics.folder import Folder
from services.archive.rows import SegmentRow
from services.archive.service import Archive
from services.dedup.service import Dedup
from services.frontier.service import Frontier
from standalone.snapshot import (
    COPY,
    DESCRIPTION,
    complete_files,
    description_in,
    take_snapshot,
    translate_os_errors,
    write_whole,
)

DEFAULT_LIMIT = 600.0
"""Maximum time for which a fleet is quiesced, in seconds."""
STATEFUL_GROUPS = (Frontier.name, Dedup.name, Archive.name)
"""The groups of the services with rows in the store."""


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
    files, database = snapshot.files, (target / COPY).stat().st_size
    say(
        f"Snapshot of {folder.path} at {instant(snapshot.taken_at)} written to {target}: the "
        f"database ({size(database)}) and a list of {plural(len(files), 'WARC file')} "
        f"({size(sum(files.values()))}), which are not copied."
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
    files = snapshot.files
    say(
        f"Snapshot of the fleet {snapshot.fleet} at {instant(snapshot.taken_at)} written to "
        f"{target}, with a list of {plural(len(files), 'WARC file')} "
        f"({size(sum(files.values()))}), which are not copied."
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


class FleetSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `snapshot.json` of a fleet."""

    version: str
    """The version of Gossamer that took the snapshot."""
    fleet: str
    """The id of the fleet."""
    keyspace: str
    """The keyspace that was copied."""
    taken_at: float
    """The time, in epoch seconds, from which no service wrote."""
    checkpoints: list[CheckpointRow]
    """All rows of the table `checkpoints`, to recognise the restored tables."""
    offsets: dict[str, dict[str, dict[int, int]]]
    """Group → topic → partition → the committed offset."""
    files: dict[str, int]
    """WARC file in the archive's folder → bytes of it that belong to the snapshot."""
    elsewhere: list[str]
    """Archive instances whose files are not listed: their folders are on other machines."""


def take_fleet_snapshot(
    log: Log,
    store: Store,
    settings: Settings,
    target: Path,
    limit: float,
    copy: Callable[[QuiescedFleet], None],
) -> tuple[FleetSnapshot, float]:
    """Call *copy* to copy the tables while no service writes, and write *target*/snapshot.json.

    Return the snapshot, and the seconds for which the fleet was quiesced, *limit* at most. Raise
    GossamerError if it cannot be quiesced or *copy* fails: *target* stays empty, and the fleet
    continues.
    """
    if settings.dedup.engine == "faust":
        raise BadSettings(
            "dedup.engine is faust, which cannot be quiesced: stop all services and copy the "
            "tables; then start them again"
        )
    if (fleet := check_identity(log, store)) is None:
        raise GossamerError("this fleet has never run: there is nothing to copy")
    with translate_os_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise GossamerError(f"{target} is not empty: name a new folder for the snapshot")
    archives = settings.archive.folder
    check_stated_folder(archives, fleet)
    began = clock.steady()
    with quiesce(log, store, STATEFUL_GROUPS, limit) as quiesced_fleet:
        segments = [*store.table(SegmentRow).everything()]
        snapshot = FleetSnapshot(
            version=version("gossamer"),
            fleet=fleet,
            keyspace=settings.cassandra.keyspace,
            taken_at=clock.now(),
            checkpoints=_checkpoints(store),
            offsets=_offsets(log),
            files=_files(archives, segments),
            elsewhere=[row.writer for row in segments if not (archives / row.writer).is_dir()],
        )
        copy(quiesced_fleet)
    seconds = clock.steady() - began
    with translate_os_errors(target):
        write_whole(target / DESCRIPTION, msgspec.json.format(msgspec.json.encode(snapshot)))
    return snapshot, seconds


def _checkpoints(store: Store) -> list[CheckpointRow]:
    return sorted(
        store.table(CheckpointRow).everything(), key=lambda row: (row.group, int(row.partition))
    )


def _offsets(log: Log) -> dict[str, dict[str, dict[int, int]]]:
    found: dict[str, dict[str, dict[int, int]]] = {}
    for group, topics in sorted(CONSUMED_TOPICS.items()):
        for (topic, number), group_offsets in sorted(log.group_offsets(group, topics).items()):
            found.setdefault(group, {}).setdefault(topic, {})[number] = group_offsets.committed
    return found


def _files(archives: Path, segments: list[SegmentRow]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for row in segments:
        with translate_os_errors(archives):
            found = complete_files(archives / row.writer, row) | row.open
        if (archives / row.writer).is_dir():
            sizes |= {f"{row.writer}/{file}": size for file, size in found.items()}
    return sizes


def read_fleet_snapshot(source: Path) -> FleetSnapshot:
    """Return the snapshot in *source*; raise GossamerError if it cannot be used."""
    try:
        return msgspec.json.decode(description_in(source), type=FleetSnapshot)
    except msgspec.MsgspecError as error:
        raise Corrupt(
            f"{source / DESCRIPTION} does not describe a fleet ({error}): use another snapshot, or "
            "name the folder with --data if it is a snapshot of a folder"
        ) from error


def check_tables(snapshot: FleetSnapshot, log: Log, store: Store) -> None:
    """Raise GossamerError unless *store* has the tables of *snapshot* and *log* its fleet."""
    row, stated = store.table(IdentityRow).get(STORE), check_topics(log)
    for part, found in (("store", row), ("topics", stated)):
        if found and found.id != snapshot.fleet:
            raise GossamerError(
                f"these settings name the {part} of the fleet {found.id}, and the snapshot is of "
                f"the fleet {snapshot.fleet}: name another fleet with --config"
            )
    if (now := _checkpoints(store)) == snapshot.checkpoints:
        return
    differing = {
        (row.group, int(row.partition))
        for rows, others in ((now, snapshot.checkpoints), (snapshot.checkpoints, now))
        for row in rows
        if row not in others
    }
    named = first_few([f"{group} {partition}" for group, partition in sorted(differing)])
    raise GossamerError(
        "the store does not have the tables of the snapshot: the checkpoints of "
        f"{named} differ. Stop all services, "
        f"restore the tables of the keyspace {snapshot.keyspace} on all nodes, and run the same "
        "command again. If this command or a service has changed the tables already, run gossamer "
        "restore --align"
    )


def missing_files(snapshot: FleetSnapshot, archives: Path) -> list[str]:
    """Return the WARC files of *snapshot* that are missing or incomplete in *archives*."""

    def size(file: str) -> int:
        paths = archives / file, archives / (file + OPEN_SUFFIX)
        return max(path.stat().st_size if path.exists() else 0 for path in paths)

    return [file for file, expected in snapshot.files.items() if size(file) < expected]
