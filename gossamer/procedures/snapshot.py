"""Snapshots of a crawl: a consistent copy of its rows and records, and a list of its WARC files.

A snapshot is a folder with `snapshot.json`. It is written last, so a snapshot with it is complete.
WARC files are listed, not copied: a complete file never changes, so any tool can copy it at any
time.

**A folder.** Rows and records are in one file, so SQLite copies all of them at one instant while
the crawl runs. The snapshot also has `gossamer.db`, that copy, and `blobs`, the large bodies that
were not consumed yet.

**A fleet.** The caller copies the tables while the services are quiesced. Records stay on the log.
`snapshot.json` describes the copy: the id of the fleet, and the checkpoints of each group in the
store. The tables stay where the caller has put them.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import msgspec

from gossamer import clock
from gossamer.errors import BadSettings, Corrupt, GossamerError
from gossamer.events.topics import CONSUMED_TOPICS
from gossamer.inspection.basics.folder import Folder
from gossamer.log import Log
from gossamer.procedures.preconditions import STATEFUL_SERVICES
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.runtime.identity import STORE, IdentityRow, check_identity, check_stated_folder
from gossamer.runtime.quiescing import QuiescedFleet, quiesce
from gossamer.services.archive.rows import STANDALONE_WRITER, SegmentRow
from gossamer.services.archive.segments import FILE_NAME, NO_SPACE_ERRNOS, sync
from gossamer.settings import Settings
from gossamer.sqlite import FORMAT, no_space, translate_errors
from gossamer.store import Store
from gossamer.volumes import OPEN_SUFFIX, PARTIAL_SUFFIX

DESCRIPTION = "snapshot.json"
COPY, BLOBS = "gossamer.db", "blobs"


class Snapshot(msgspec.Struct, frozen=True):
    """The content of `snapshot.json` of a folder."""

    format: int
    """The format of the database; a version of Gossamer reads one format."""
    version: str
    """The version of Gossamer that took the snapshot."""
    fleet: str | None
    """The id of the crawl's fleet; null if the crawl has never run."""
    taken_at: float
    """Epoch seconds."""
    complete: dict[str, int]
    """Complete WARC files and their sizes in bytes."""
    open: dict[str, int]
    """Open WARC files, under their final names, and the committed bytes of each."""
    profile: str
    """The profile of the folder's crawls; "" without one."""

    @property
    def files(self) -> dict[str, int]:
        """WARC file → bytes of it that belong to the snapshot."""
        return {**self.complete, **self.open}


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


def take_snapshot(folder: Folder, target: Path) -> Snapshot:
    """Write a snapshot of *folder* into *target*, which is created if missing.

    A crawl may run in *folder*. Raise GossamerError if *target* is not empty or not writable, or if
    *folder* has no crawl; *target* is empty then.
    """
    opened = folder.open()
    with closing(opened.database), translate_os_errors(target):
        _make_new_folder(target)
        try:
            identities = opened.store.table(IdentityRow)
            segments = opened.store.table(SegmentRow)
            # The crawl may consume a record, and remove its blob, while the database is copied.
            _copy_blobs(folder, target)
            # One view for the copy and the list. With a write-ahead log, a reader blocks no writer.
            with opened.database.reading() as database:
                identity, row = identities.get(STORE), segments.get(STANDALONE_WRITER)
                taken_at = clock.now()
                _copy(database, target / COPY)
            _copy_blobs(folder, target)
            snapshot = Snapshot(
                format=FORMAT,
                version=version("gossamer"),
                fleet=identity.id if identity else None,
                taken_at=taken_at,
                complete=_complete_files(folder.warc, row),
                open=row.open if row else {},
                profile=folder.profile(),
            )
            _describe(target, snapshot)
        except BaseException:
            shutil.rmtree(target / BLOBS, ignore_errors=True)
            for path in target.iterdir():
                path.unlink()
            raise
    return snapshot


def _copy(database: sqlite3.Connection, path: Path) -> None:
    with translate_errors(path), closing(sqlite3.connect(path)) as copy:
        # In one step: a copy in several steps restarts at each commit of the crawl.
        database.backup(copy, pages=-1)
    sync(path)


def _copy_blobs(folder: Folder, target: Path) -> None:
    """Copy the blobs of *folder* that *target* lacks, as far as the crawl does not remove them."""
    # Captures that crawls share are not copied: a crawl that does not find one makes a request.
    for path in sorted(folder.blobs.glob("[0-9]*/*")):
        copy = target / BLOBS / path.parent.name / path.name
        if copy.exists() or path.name.endswith(PARTIAL_SUFFIX):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(path, copy)
            sync(copy)


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
        _make_new_folder(target)
    archives = settings.archive.folder
    check_stated_folder(archives, fleet)
    began = clock.steady()
    with quiesce(log, store, [one.name for one in STATEFUL_SERVICES], limit) as quiesced_fleet:
        segments = [*store.table(SegmentRow).everything()]
        snapshot = FleetSnapshot(
            version=version("gossamer"),
            fleet=fleet,
            keyspace=settings.cassandra.keyspace,
            taken_at=clock.now(),
            checkpoints=read_checkpoints(store),
            offsets=_offsets(log),
            files=_files_of_fleet(archives, segments),
            elsewhere=[row.writer for row in segments if not (archives / row.writer).is_dir()],
        )
        copy(quiesced_fleet)
    seconds = clock.steady() - began
    with translate_os_errors(target):
        _describe(target, snapshot)
    return snapshot, seconds


def _make_new_folder(target: Path) -> None:
    """Create *target* if it is missing; raise GossamerError if it is not empty."""
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise GossamerError(f"{target} is not empty: name a new folder for the snapshot")


def _describe(target: Path, snapshot: Snapshot | FleetSnapshot) -> None:
    """Write `snapshot.json` atomically."""
    path, new_file = target / DESCRIPTION, target / f"{DESCRIPTION}.new"
    new_file.write_bytes(msgspec.json.format(msgspec.json.encode(snapshot)))
    sync(new_file)
    new_file.replace(path)
    sync(target)


def read_checkpoints(store: Store) -> list[CheckpointRow]:
    """Return all rows of the table `checkpoints`, in order."""
    return sorted(
        store.table(CheckpointRow).everything(), key=lambda row: (row.group, int(row.partition))
    )


def _offsets(log: Log) -> dict[str, dict[str, dict[int, int]]]:
    found: dict[str, dict[str, dict[int, int]]] = {}
    for group, topics in sorted(CONSUMED_TOPICS.items()):
        for (topic, number), group_offsets in sorted(log.group_offsets(group, topics).items()):
            found.setdefault(group, {}).setdefault(topic, {})[number] = group_offsets.committed
    return found


def _files_of_fleet(archives: Path, segments: list[SegmentRow]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for row in segments:
        with translate_os_errors(archives):
            found = _complete_files(archives / row.writer, row) | row.open
        if (archives / row.writer).is_dir():
            sizes |= {f"{row.writer}/{file}": size for file, size in found.items()}
    return sizes


def _complete_files(warc: Path, row: SegmentRow | None) -> dict[str, int]:
    """Return complete file in *warc* → its size in bytes, as of *row*, without newer files."""
    sizes: dict[str, int] = {}
    for path in sorted(warc.iterdir()) if warc.exists() else ():
        match = FILE_NAME.fullmatch(path.name)
        if match is None or match["mark"]:
            continue
        if row is None or (int(match["serial"]) <= row.serial and path.name not in row.open):
            sizes[path.name] = path.stat().st_size
    for file in row.full if row else ():
        # Committed, and perhaps not renamed yet.
        with suppress(FileNotFoundError):
            sizes.setdefault(file, (warc / (file + OPEN_SUFFIX)).stat().st_size)
    return sizes


def find_missing_files(files: Mapping[str, int], folder: Path) -> list[str]:
    """Return those of *files* that *folder* lacks, or has with fewer bytes than listed."""

    def size(file: str) -> int:
        paths = folder / file, folder / (file + OPEN_SUFFIX)
        return max(path.stat().st_size if path.exists() else 0 for path in paths)

    return [file for file, expected in files.items() if size(file) < expected]


def read_snapshot(source: Path) -> Snapshot:
    """Return the snapshot in *source*; raise GossamerError if it cannot be used."""
    path, text = source / DESCRIPTION, _description_in(source)
    try:
        # These fields are checked first: a newer version may have others.
        found = msgspec.json.decode(text, type=_Kind)
        if found.keyspace:
            raise GossamerError(
                f"{source} is a snapshot of a fleet: name the fleet with --config, without --data"
            )
        if found.format not in (None, FORMAT):
            raise GossamerError(
                f"{source} is a snapshot of Gossamer {found.version}, with database format "
                f"{found.format}; this version reads format {FORMAT}: restore it with that version"
            )
        return msgspec.json.decode(text, type=Snapshot)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"{path} is damaged ({error}): use another snapshot") from error


class _Kind(msgspec.Struct):
    version: str
    format: int | None = None
    """The format of a folder's database; None in a snapshot of a fleet."""
    keyspace: str | None = None
    """The keyspace of a fleet; None in a snapshot of a folder."""


def read_fleet_snapshot(source: Path) -> FleetSnapshot:
    """Return the snapshot in *source*; raise GossamerError if it cannot be used."""
    try:
        return msgspec.json.decode(_description_in(source), type=FleetSnapshot)
    except msgspec.MsgspecError as error:
        raise Corrupt(
            f"{source / DESCRIPTION} does not describe a fleet ({error}): use another snapshot, or "
            "name the folder with --data if it is a snapshot of a folder"
        ) from error


def _description_in(source: Path) -> bytes:
    path = source / DESCRIPTION
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise GossamerError(
            f"{source} is not a complete snapshot: it has no {DESCRIPTION}, which gossamer "
            "snapshot writes last"
        ) from None
    except OSError as error:
        raise GossamerError(f"{path} cannot be read: {error.strerror}") from error


@contextmanager
def translate_os_errors(folder: Path) -> Iterator[None]:
    """Translate an OSError about *folder* to GossamerError."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE_ERRNOS:
            raise no_space(folder) from error
        raise GossamerError(f"{folder} is not writable: {error}") from error
