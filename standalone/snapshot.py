"""Snapshots of a folder's crawl: a consistent copy of its database, and a list of its WARC files.

A snapshot is a folder with `gossamer.db` and `snapshot.json`. The latter is written last, so that a
snapshot that has it is complete. WARC files are listed and not copied: a complete one never
changes, so any tool can copy them at any time.

**What a restore does not undo.** Each host that the snapshot knows as visited rests for a courtesy
delay when the next run claims its partition, as after any takeover. Waits of after the snapshot,
above all a Retry-After, and what operators have set since, above all the blocklist, are taken from
the database that is replaced, if it can be read.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gossamer import clock
from gossamer.erasures import ErasureRow
from gossamer.errors import Corrupt, GossamerError
from gossamer.events import (
    BlocklistChanged,
    Event,
    HostOverridden,
    Outcome,
    SiteOverridden,
    SpeedSet,
)
from gossamer.log.codec import encode
from gossamer.log.control import newest_events
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.identity import STORE, IdentityRow
from gossamer.sqlite import APPLICATION_ID, FORMAT, Database, no_space, translate_errors
from gossamer.store.sqlite import SqliteStore
from services.archive.files.repair import repair
from services.archive.files.segment import FILE_NAME, NO_SPACE_ERRNOS, OPEN_SUFFIX, sync
from services.archive.rows import SegmentRow
from services.archive.service import STANDALONE_WRITER
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow
from standalone.folder import Folder

DESCRIPTION = "snapshot.json"
COPY = "gossamer.db"
KEPT = (BlocklistChanged, SiteOverridden, HostOverridden, SpeedSet)
"""Settings that a restore keeps: they may be there because somebody else has asked for them."""


class Snapshot(msgspec.Struct, frozen=True):
    """What `snapshot.json` says."""

    format: int
    """Of the database; a version of Gossamer reads one format."""
    version: str
    """The version of Gossamer that took the snapshot."""
    fleet: str | None
    """The id of the crawl's fleet; null if the crawl has never run."""
    taken_at: float
    """Epoch seconds."""
    complete: dict[str, int]
    """Complete WARC files and their sizes in bytes."""
    open: dict[str, int]
    """WARC files that were being written, named as they are when complete, and how many bytes of
    each were committed."""

    @property
    def files(self) -> dict[str, int]:
        """All WARC files, and the bytes of each that belong to the snapshot."""
        return {**self.complete, **self.open}


@dataclass(frozen=True)
class Later:
    """What a replaced database has of after the snapshot."""

    waits: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Site and host → until when the host rests, or asked to be left alone, in epoch seconds."""
    settings: Sequence[Event] = ()
    """What operators have set."""
    erased: Sequence[str] = ()
    """The URLs, hosts and sites that were erased."""


@dataclass(frozen=True)
class Restored:
    """What a restored folder has, compared with its snapshot."""

    snapshot: Snapshot
    newer: list[str]
    """WARC files with captures of after the snapshot."""
    missing: list[str]
    """WARC files that the snapshot lists and the folder lacks, or has less of."""
    erased: Sequence[str]
    """URLs, hosts and sites that were erased after the snapshot, which may be known again."""


def take_snapshot(folder: Folder, target: Path) -> Snapshot:
    """Write a snapshot of *folder* into *target*, which is made if missing.

    A crawl may run on *folder* meanwhile. Raise GossamerError if *target* is not empty or cannot be
    written to, or if *folder* holds no crawl; nothing is left in *target* then.
    """
    opened = folder.open()
    with closing(opened.database), translated(target):
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise GossamerError(f"{target} is not empty: name a new folder for the snapshot")
        try:
            identities = opened.store.table(IdentityRow)
            segments = opened.store.table(SegmentRow)
            # One view for the copy and the list. In a write-ahead log, a reader stops no writer.
            with opened.database.reading() as database:
                identity, row = identities.get(STORE), segments.get(STANDALONE_WRITER)
                taken_at = clock.now()
                _copy(database, target / COPY)
            snapshot = Snapshot(
                format=FORMAT,
                version=version("gossamer"),
                fleet=identity.id if identity else None,
                taken_at=taken_at,
                complete=complete_files(folder.warc, row),
                open=row.open if row else {},
            )
            write_whole(target / DESCRIPTION, msgspec.json.format(msgspec.json.encode(snapshot)))
        except BaseException:
            for path in target.iterdir():
                path.unlink()
            raise
    return snapshot


def _copy(database: sqlite3.Connection, path: Path) -> None:
    with translate_errors(path), closing(sqlite3.connect(path)) as copy:
        # In one step: a copy of several begins anew whenever the crawl commits between two.
        database.backup(copy, pages=-1)
    sync(path)


def complete_files(warc: Path, row: SegmentRow | None) -> dict[str, int]:
    """Return the complete files in *warc* and their sizes in bytes, as of *row*: those of later
    commits are left out."""
    sizes = {}
    for file, (size, serial) in _files(warc).items():
        if row is None or (serial <= row.serial and file not in row.open):
            sizes[file] = size
    for file in row.full if row else ():
        # Committed whole, and perhaps not renamed yet.
        with suppress(FileNotFoundError):
            sizes.setdefault(file, (warc / (file + OPEN_SUFFIX)).stat().st_size)
    return sizes


def _files(warc: Path) -> dict[str, tuple[int, int]]:
    """Return the size and the serial of each file with its final name."""
    paths = sorted(warc.iterdir()) if warc.exists() else []
    matches = [(path, FILE_NAME.fullmatch(path.name)) for path in paths]
    return {
        path.name: (path.stat().st_size, int(match["serial"]))
        for path, match in matches
        if match and not match["mark"]
    }


def restore_snapshot(source: Path, folder: Folder, may_replace: bool) -> Restored:
    """Put the snapshot in *source* in place of the database in *folder*, which is made if missing.

    The WARC files of *folder* stay; those that nobody has finished are completed first, since the
    older database would have them cut off. Raise GossamerError if the snapshot is incomplete,
    damaged or of another format, if *folder* has a crawl and not *may_replace*, or one of another
    fleet; Locked while a crawl runs on it.
    """
    snapshot = read_snapshot(source)
    if folder.database.exists() and not may_replace:
        raise GossamerError(
            f"{folder.path} holds a crawl: --replace has it replaced by the snapshot, and --data "
            "names another folder"
        )
    _check_database(source / COPY)
    folder.make()
    folder.lock()
    later = _read_later(folder, snapshot)
    repair(folder.warc, None)
    with translated(folder.path):
        _replace_database(folder, source / COPY, later)
    found = {file: size for file, (size, _) in _files(folder.warc).items()}
    listed = snapshot.files
    return Restored(
        snapshot,
        newer=[file for file, size in found.items() if size > listed.get(file, 0)],
        missing=[file for file, size in listed.items() if found.get(file, 0) < size],
        erased=later.erased,
    )


def description_in(source: Path) -> bytes:
    """Return `snapshot.json` in *source*; raise GossamerError if it cannot be read."""
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


def read_snapshot(source: Path) -> Snapshot:
    """Return what `snapshot.json` in *source* says; raise GossamerError if it cannot be used."""
    path, text = source / DESCRIPTION, description_in(source)
    try:
        if msgspec.json.decode(text, type=_Kind).keyspace:
            raise GossamerError(
                f"{source} is a snapshot of a fleet: name that with --config, and leave out --data"
            )
        # The format comes first: a newer version may say other things.
        found = msgspec.json.decode(text, type=_Format)
        if found.format != FORMAT:
            raise GossamerError(
                f"{source} is a snapshot of Gossamer {found.version}, with format {found.format} "
                f"of the database, and this version reads format {FORMAT}: restore it with that one"
            )
        return msgspec.json.decode(text, type=Snapshot)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"{path} is damaged ({error}): use another snapshot") from error


class _Kind(msgspec.Struct):
    keyspace: str | None = None
    """Which a fleet has."""


class _Format(msgspec.Struct):
    format: int
    version: str


def _check_database(path: Path) -> None:
    """Raise Corrupt unless *path* is a database of ours without a fault."""
    # Immutable: nothing is written beside it, so that a snapshot may lie on a read-only disk.
    uri = f"{path.absolute().as_uri()}?immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            found = database.execute("PRAGMA application_id").fetchone()
            verdict = database.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        raise Corrupt(f"{path} is damaged ({error}): use another snapshot") from error
    if found != (APPLICATION_ID,):
        raise Corrupt(f"{path} is not a database of Gossamer: use another snapshot")
    if verdict != ("ok",):
        raise Corrupt(f"{path} is damaged ({verdict[0]}): use another snapshot")


def _read_later(folder: Folder, snapshot: Snapshot) -> Later:
    """Return what the database of *folder* has that *snapshot* lacks and a restore keeps or names.

    Raise GossamerError if it is another crawl than that of *snapshot*.
    """
    if not folder.database.exists():
        return Later()
    now, since = clock.now(), snapshot.taken_at
    try:
        opened = folder.open()
        with closing(opened.database):
            row = opened.store.table(IdentityRow).get(STORE)
            hosts = opened.store.table(HostRow).everything()
            erasures = opened.store.table(ErasureRow).everything()
            later = Later(
                waits={
                    (host.site, host.host): until
                    for host in hosts
                    if (until := _asked_wait(host, now)) > now
                },
                settings=[
                    event
                    for event in newest_events(opened.log).values()
                    if isinstance(event, KEPT) and event.at > since
                ],
                erased=sorted({erasure.target for erasure in erasures if erasure.at > since}),
            )
    except GossamerError:
        return Later()  # Nobody can read it: that may be why it is to be replaced.
    if row and snapshot.fleet and row.id != snapshot.fleet:
        raise GossamerError(
            f"{folder.path} holds the crawl {row.id}, and the snapshot is of the crawl "
            f"{snapshot.fleet}: name another folder with --data"
        )
    return later


def _asked_wait(host: HostRow, now: float) -> float:
    """Return until when *host* rests after a visit, or asked to be left alone."""
    until = host.politeness.busy_until or 0.0
    if host.condition is Condition.CHECKED_OUT:
        return max(until, now + host.politeness.delay)
    # Rows keep it when the condition changes: an idle host may have been visited a moment ago.
    troubled = host.condition is Condition.BACKING_OFF and host.backoff_cause != Outcome.BUSY
    return until if troubled else max(until, host.ready_at)


def _replace_database(folder: Folder, copy: Path, later: Later) -> None:
    database, fresh = folder.database, folder.path / "gossamer.db.restoring"
    for path in _with_logs(fresh):
        path.unlink(missing_ok=True)
    shutil.copyfile(copy, fresh)
    _keep(fresh, later)
    sync(fresh)
    # The old file goes before its write-ahead log: without that it would lack commits, and the new
    # file must not get those of the old one. A restore that dies in between is run again.
    for path in _with_logs(database):
        path.unlink(missing_ok=True)
    fresh.replace(database)
    sync(folder.path)


def _with_logs(database: Path) -> tuple[Path, ...]:
    return database, Path(f"{database}-wal"), Path(f"{database}-shm")


def _keep(path: Path, later: Later) -> None:
    """Add *later* to the database *path*; waits of hosts that it does not know are left out."""
    with closing(Database(path)) as database:
        store = SqliteStore(database)
        hosts = store.table(HostRow)
        for (site, host), until in later.waits.items():
            if row := hosts.get(site, host):
                until = max(until, row.politeness.busy_until or 0.0)
                hosts.put(replace(row, politeness=replace(row.politeness, busy_until=until)))
        store.flush()
        SqliteLog(database).append([encode(event) for event in later.settings])


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(content)
    sync(fresh)
    fresh.replace(path)
    sync(path.parent)


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Raise GossamerError for an OSError that has to do with *folder*."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE_ERRNOS:
            raise no_space(folder) from error
        raise GossamerError(f"{folder} cannot be written to: {error}") from error
