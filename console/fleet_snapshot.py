"""Snapshots of a fleet: its services write nothing while the operator's tool copies the tables.

`snapshot.json` describes the copy: the id of the fleet, the positions of each group in the store,
and the WARC files. It is written last, so a snapshot with it is complete. The tables are where the
operator's tool has put them.
"""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import msgspec

from gossamer import clock
from gossamer.errors import BadSettings, Corrupt, GossamerError
from gossamer.events.topics import TOPICS
from gossamer.log import Log
from gossamer.runtime.identity import (
    STORE,
    IdentityRow,
    check_identity,
    check_stated_folder,
    check_topics,
)
from gossamer.runtime.positions import PositionRow
from gossamer.runtime.quiescing import QuiescedFleet, quiesce
from gossamer.settings import Settings
from gossamer.store import Store
from services.archive.files.segment import OPEN_SUFFIX
from services.archive.rows import SegmentRow
from services.archive.service import Archive
from services.dedup.service import Dedup
from services.frontier.service import Frontier
from standalone.snapshot import (
    DESCRIPTION,
    complete_files,
    description_in,
    translate_os_errors,
    write_whole,
)

GROUPS = (Frontier.name, Dedup.name, Archive.name)
"""The groups of the services with rows in the store."""
MAX_LISTED_POSITIONS = 3
"""Differing positions that an error names; a fleet has hundreds."""


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
    positions: list[PositionRow]
    """All rows of the table `positions`, to recognise the restored tables."""
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
    with quiesce(log, store, GROUPS, limit) as quiesced_fleet:
        segments = [*store.table(SegmentRow).everything()]
        snapshot = FleetSnapshot(
            version=version("gossamer"),
            fleet=fleet,
            keyspace=settings.cassandra.keyspace,
            taken_at=clock.now(),
            positions=_positions(store),
            offsets=_offsets(log),
            files=_files(archives, segments),
            elsewhere=[row.writer for row in segments if not (archives / row.writer).is_dir()],
        )
        copy(quiesced_fleet)
    seconds = clock.steady() - began
    with translate_os_errors(target):
        write_whole(target / DESCRIPTION, msgspec.json.format(msgspec.json.encode(snapshot)))
    return snapshot, seconds


def _positions(store: Store) -> list[PositionRow]:
    return sorted(
        store.table(PositionRow).everything(), key=lambda row: (row.group, int(row.partition))
    )


def _offsets(log: Log) -> dict[str, dict[str, dict[int, int]]]:
    found: dict[str, dict[str, dict[int, int]]] = {}
    for group in sorted({name for topic in TOPICS.values() for name in topic.consumers}):
        topics = [topic.name for topic in TOPICS.values() if group in topic.consumers]
        for (topic, number), standing in sorted(log.group_positions(group, topics).items()):
            found.setdefault(group, {}).setdefault(topic, {})[number] = standing.committed
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
    if (now := _positions(store)) == snapshot.positions:
        return
    expected, found_rows = _by_group_and_partition(snapshot.positions), _by_group_and_partition(now)
    keys = sorted(expected.keys() | found_rows.keys(), key=lambda key: (key[0], int(key[1])))
    differing = [f"{key[0]} {key[1]}" for key in keys if expected.get(key) != found_rows.get(key)]
    more = (
        f" and {len(differing) - MAX_LISTED_POSITIONS} more"
        if len(differing) > MAX_LISTED_POSITIONS
        else ""
    )
    raise GossamerError(
        "the store does not have the tables of the snapshot: the positions of "
        f"{', '.join(differing[:MAX_LISTED_POSITIONS])}{more} differ. Stop all services, "
        f"restore the tables of the keyspace {snapshot.keyspace} on all nodes, and run the same "
        "command again. If this command or a service has changed the tables already, run gossamer "
        "restore --align"
    )


def _by_group_and_partition(rows: list[PositionRow]) -> Mapping[tuple[str, str], PositionRow]:
    return {(row.group, row.partition): row for row in rows}


def missing_files(snapshot: FleetSnapshot, archives: Path) -> list[str]:
    """Return the WARC files of *snapshot* that are missing or incomplete in *archives*."""

    def size(file: str) -> int:
        paths = archives / file, archives / (file + OPEN_SUFFIX)
        return max(path.stat().st_size if path.exists() else 0 for path in paths)

    return [file for file, expected in snapshot.files.items() if size(file) < expected]
