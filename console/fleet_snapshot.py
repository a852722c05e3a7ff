"""Snapshots of a fleet: its services write nothing while the operator's tool copies the tables.

`snapshot.json` says what belongs to the copy: which fleet it is of, how far the store has the
records of each group, and which WARC files there were. It is written last, so that a snapshot that
has it is complete. The tables themselves are where the operator's tool has put them.
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
    translated,
    write_whole,
)

GROUPS = (Frontier.name, Dedup.name, Archive.name)
"""The groups of the services that keep rows."""
LISTED = 3
"""Positions that differ, in an error; a fleet has hundreds."""


class FleetSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What `snapshot.json` of a fleet says."""

    version: str
    """The version of Gossamer that took the snapshot."""
    fleet: str
    """The id of the fleet."""
    keyspace: str
    """The keyspace that was copied."""
    taken_at: float
    """Epoch seconds since which nothing was written."""
    positions: list[PositionRow]
    """All rows of the table `positions`: the tables that are put back have the same."""
    offsets: dict[str, dict[str, dict[int, int]]]
    """Group → topic → partition → the offset of the first record that the group had not moved
    past."""
    files: dict[str, int]
    """WARC files in the archive's folder, and how many bytes of each belong to the snapshot."""
    elsewhere: list[str]
    """The archives whose files are not listed: their folders were not to be seen from where the
    snapshot was taken."""


def take_fleet_snapshot(
    log: Log,
    store: Store,
    settings: Settings,
    target: Path,
    limit: float,
    copy: Callable[[QuiescedFleet], None],
) -> tuple[FleetSnapshot, float]:
    """Have *copy* copy the tables while no service writes, and write *target*/snapshot.json.

    Return what that says, and for how many seconds the fleet was quiesced, *limit* at most.
    Raise GossamerError where that cannot be done, or *copy* fails; nothing is in *target* then, and
    the fleet goes on.
    """
    if settings.dedup.engine == "faust":
        raise BadSettings(
            "dedup.engine is faust, which cannot be quiesced: stop all services and copy the "
            "tables; then start them again"
        )
    if (fleet := check_identity(log, store)) is None:
        raise GossamerError("this fleet has not begun: there is nothing to copy")
    with translated(target):
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise GossamerError(f"{target} is not empty: name a new folder for the snapshot")
    archives = settings.archive.folder
    check_stated_folder(archives, fleet)
    began = clock.steady()
    with quiesce(log, store, GROUPS, limit) as delayed:
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
        copy(delayed)
    seconds = clock.steady() - began
    with translated(target):
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
        with translated(archives):
            found = complete_files(archives / row.writer, row) | row.open
        if (archives / row.writer).is_dir():
            sizes |= {f"{row.writer}/{file}": size for file, size in found.items()}
    return sizes


def read_fleet_snapshot(source: Path) -> FleetSnapshot:
    """Return what `snapshot.json` in *source* says; raise GossamerError if it cannot be used."""
    try:
        return msgspec.json.decode(description_in(source), type=FleetSnapshot)
    except msgspec.MsgspecError as error:
        raise Corrupt(
            f"{source / DESCRIPTION} does not describe a fleet ({error}): use another snapshot, or "
            "name a folder with --data if it is one of a folder"
        ) from error


def check_tables(snapshot: FleetSnapshot, log: Log, store: Store) -> None:
    """Raise GossamerError unless *store* is as it was when *snapshot* was taken, and *log* is of
    the same fleet."""
    row, stated = store.table(IdentityRow).get(STORE), check_topics(log)
    for what, found in (("store", row), ("topics", stated)):
        if found and found.id != snapshot.fleet:
            raise GossamerError(
                f"the {what} of these settings are of the fleet {found.id}, and the snapshot is of "
                f"the fleet {snapshot.fleet}: name another fleet with --config"
            )
    if (now := _positions(store)) == snapshot.positions:
        return
    ours, theirs = _by_place(snapshot.positions), _by_place(now)
    places = sorted(ours.keys() | theirs.keys(), key=lambda at: (at[0], int(at[1])))
    differing = [f"{at[0]} {at[1]}" for at in places if ours.get(at) != theirs.get(at)]
    more = f" and {len(differing) - LISTED} more" if len(differing) > LISTED else ""
    raise GossamerError(
        "the store does not have the tables of the snapshot: the positions of "
        f"{', '.join(differing[:LISTED])}{more} differ. Stop all services, put the tables of the "
        f"keyspace {snapshot.keyspace} back on all nodes, and run the same command again. "
        "Where it has changed them already, or services have, run gossamer restore --align"
    )


def _by_place(rows: list[PositionRow]) -> Mapping[tuple[str, str], PositionRow]:
    return {(row.group, row.partition): row for row in rows}


def missing_files(snapshot: FleetSnapshot, archives: Path) -> list[str]:
    """Return the WARC files of *snapshot* that the folder *archives* lacks, or has less of."""

    def size(file: str) -> int:
        paths = archives / file, archives / (file + OPEN_SUFFIX)
        return max(path.stat().st_size if path.exists() else 0 for path in paths)

    return [file for file, least in snapshot.files.items() if size(file) < least]
