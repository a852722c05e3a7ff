"""Snapshots of a folder's crawl: a consistent copy of its database, and a list of its WARC files.

A snapshot is a folder with `gossamer.db`, `snapshot.json`, and `blobs`, the large bodies that were
not consumed yet. `snapshot.json` is written last, so a snapshot with it is complete. WARC files are
listed, not copied: a complete file never changes, so any tool can copy it at any time.

**A restore keeps newer waits and settings.** Each visited host is delayed for a courtesy delay when
the next run claims its partition, as after any takeover. Waits that are newer than the snapshot,
such as a Retry-After, and newer settings of operators, such as the blocklist, are taken from the
replaced database, if it can be read.
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
    ChangeExpires,
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
from gossamer.volumes import OPEN_SUFFIX, PARTIAL_SUFFIX
from inspection.basics.folder import Folder
from inspection.crawls.audit import ChangeFilter, iterate_changes
from services.archive.rows import STANDALONE_WRITER, SegmentRow
from services.archive.segments import FILE_NAME, NO_SPACE_ERRNOS, repair, sync
from services.frontier.tables.conditions import Condition
from services.frontier.tables.hosts import HostRow

DESCRIPTION = "snapshot.json"
COPY, BLOBS = "gossamer.db", "blobs"
KEPT_EVENTS = (BlocklistChanged, SiteOverridden, HostOverridden, SpeedSet, ChangeExpires)
"""Settings that a restore keeps: site owners may have requested them."""


class Snapshot(msgspec.Struct, frozen=True):
    """The content of `snapshot.json`."""

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

    @property
    def files(self) -> dict[str, int]:
        """WARC file → bytes of it that belong to the snapshot."""
        return {**self.complete, **self.open}


@dataclass(frozen=True)
class NewerState:
    """The state of a replaced database that is newer than the snapshot."""

    waits: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Site and host → the end of the host's delay or Retry-After, in epoch seconds."""
    settings: Sequence[Event] = ()
    """The settings of operators."""
    changes: Sequence[Event] = ()
    """The records of changes on `audit`."""
    erased: Sequence[str] = ()
    """The erased URLs, hosts and sites."""


@dataclass(frozen=True)
class Restored:
    """A restored folder, compared with its snapshot."""

    snapshot: Snapshot
    newer: list[str]
    """WARC files with captures that are newer than the snapshot."""
    missing: list[str]
    """WARC files of the snapshot that are missing or incomplete in the folder."""
    erased: Sequence[str]
    """URLs, hosts and sites that were erased after the snapshot and are restored with it."""


def take_snapshot(folder: Folder, target: Path) -> Snapshot:
    """Write a snapshot of *folder* into *target*, which is created if missing.

    A crawl may run in *folder*. Raise GossamerError if *target* is not empty or not writable, or if
    *folder* has no crawl; *target* is empty then.
    """
    opened = folder.open()
    with closing(opened.database), translate_os_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise GossamerError(f"{target} is not empty: name a new folder for the snapshot")
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
                complete=complete_files(folder.warc, row),
                open=row.open if row else {},
            )
            write_whole(target / DESCRIPTION, msgspec.json.format(msgspec.json.encode(snapshot)))
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


def complete_files(warc: Path, row: SegmentRow | None) -> dict[str, int]:
    """Return complete file in *warc* → its size in bytes, as of *row*, without newer files."""
    sizes = {}
    for file, (size, serial) in _files(warc).items():
        if row is None or (serial <= row.serial and file not in row.open):
            sizes[file] = size
    for file in row.full if row else ():
        # Committed, and perhaps not renamed yet.
        with suppress(FileNotFoundError):
            sizes.setdefault(file, (warc / (file + OPEN_SUFFIX)).stat().st_size)
    return sizes


def _files(warc: Path) -> dict[str, tuple[int, int]]:
    """Return the size and the serial number of each file with its final name."""
    paths = sorted(warc.iterdir()) if warc.exists() else []
    matches = [(path, FILE_NAME.fullmatch(path.name)) for path in paths]
    return {
        path.name: (path.stat().st_size, int(match["serial"]))
        for path, match in matches
        if match and not match["mark"]
    }


def restore_snapshot(source: Path, folder: Folder, may_replace: bool) -> Restored:
    """Replace the database in *folder*, which is created if missing, by the snapshot in *source*.

    The WARC files of *folder* stay; unfinished ones are completed first, because the older database
    would truncate them. Raise GossamerError if the snapshot is incomplete, damaged or of another
    format, or if *folder* has another crawl, or any crawl unless *may_replace*. Raise Locked while
    a crawl runs in *folder*.
    """
    snapshot = read_snapshot(source)
    if folder.database.exists() and not may_replace:
        raise GossamerError(
            f"{folder.path} has a crawl already: --replace replaces it; --data names another folder"
        )
    _check_database(source / COPY)
    folder.make()
    folder.lock()
    newer = _read_newer_state(folder, snapshot)
    repair(folder.warc, None)
    with translate_os_errors(folder.path):
        # The next run removes the blobs that the older database does not refer to.
        if (source / BLOBS).exists():
            shutil.copytree(source / BLOBS, folder.blobs, dirs_exist_ok=True)
        _replace_database(folder, source / COPY, newer)
    found = {file: size for file, (size, _) in _files(folder.warc).items()}
    listed = snapshot.files
    return Restored(
        snapshot,
        newer=[file for file, size in found.items() if size > listed.get(file, 0)],
        missing=[file for file, size in listed.items() if found.get(file, 0) < size],
        erased=newer.erased,
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
    """Return the snapshot in *source*; raise GossamerError if it cannot be used."""
    path, text = source / DESCRIPTION, description_in(source)
    try:
        if msgspec.json.decode(text, type=_Kind).keyspace:
            raise GossamerError(
                f"{source} is a snapshot of a fleet: name the fleet with --config, without --data"
            )
        # The format is checked first: a newer version may have other fields.
        found = msgspec.json.decode(text, type=_Format)
        if found.format != FORMAT:
            raise GossamerError(
                f"{source} is a snapshot of Gossamer {found.version}, with database format "
                f"{found.format}; this version reads format {FORMAT}: restore it with that version"
            )
        return msgspec.json.decode(text, type=Snapshot)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"{path} is damaged ({error}): use another snapshot") from error


class _Kind(msgspec.Struct):
    keyspace: str | None = None
    """The keyspace of a fleet; None in a snapshot of a folder."""


class _Format(msgspec.Struct):
    format: int
    version: str


def _check_database(path: Path) -> None:
    """Raise Corrupt unless *path* is an intact database of Gossamer."""
    # Immutable: SQLite writes no file beside it, so a snapshot may be on a read-only disk.
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


def _read_newer_state(folder: Folder, snapshot: Snapshot) -> NewerState:
    """Return the state of *folder* that is newer than *snapshot*.

    Raise GossamerError if *folder* has another crawl than *snapshot*.
    """
    if not folder.database.exists():
        return NewerState()
    now, since = clock.now(), snapshot.taken_at
    try:
        opened = folder.open()
        with closing(opened.database):
            row = opened.store.table(IdentityRow).get(STORE)
            hosts = opened.store.table(HostRow).everything()
            erasures = opened.store.table(ErasureRow).everything()
            newer = NewerState(
                waits={
                    (host.site, host.host): until
                    for host in hosts
                    if (until := _wait_end(host, now)) > now
                },
                settings=[
                    event
                    for event in newest_events(opened.log).values()
                    if isinstance(event, KEPT_EVENTS) and event.at > since
                ],
                # What was changed stays true, so `audit` is never rewound.
                changes=[
                    change
                    for change in iterate_changes(opened.log, ChangeFilter(since=since))
                    if change.at > since
                ],
                erased=sorted({erasure.target for erasure in erasures if erasure.at > since}),
            )
    except GossamerError:
        return NewerState()  # It cannot be read, which may be why it is replaced.
    if row and snapshot.fleet and row.id != snapshot.fleet:
        raise GossamerError(
            f"{folder.path} has the crawl {row.id}, and the snapshot is of the crawl "
            f"{snapshot.fleet}: name another folder with --data"
        )
    return newer


def _wait_end(host: HostRow, now: float) -> float:
    """Return the end of the delay or Retry-After of *host*."""
    until = host.politeness.busy_until or 0.0
    if host.condition is Condition.CHECKED_OUT:
        return max(until, now + host.politeness.delay)
    # `ready_at` stays when the condition changes: an idle host may have been visited just now.
    is_failing = host.condition is Condition.BACKING_OFF and host.backoff_cause != Outcome.BUSY
    return until if is_failing else max(until, host.ready_at)


def _replace_database(folder: Folder, copy: Path, newer: NewerState) -> None:
    database, fresh = folder.database, folder.path / "gossamer.db.restoring"
    for path in _with_logs(fresh):
        path.unlink(missing_ok=True)
    shutil.copyfile(copy, fresh)
    _add_newer_state(fresh, newer)
    sync(fresh)
    # The old file is removed before its write-ahead log: without the log it would lack commits, and
    # the new file must not get the old log. A restore that crashes in between is run again.
    for path in _with_logs(database):
        path.unlink(missing_ok=True)
    fresh.replace(database)
    sync(folder.path)


def _with_logs(database: Path) -> tuple[Path, ...]:
    return database, Path(f"{database}-wal"), Path(f"{database}-shm")


def _add_newer_state(path: Path, newer: NewerState) -> None:
    """Add *newer* to the database *path*, without waits of unknown hosts."""
    with closing(Database(path)) as database:
        store = SqliteStore(database)
        hosts = store.table(HostRow)
        for (site, host), until in newer.waits.items():
            if row := hosts.get(site, host):
                until = max(until, row.politeness.busy_until or 0.0)
                hosts.put(replace(row, politeness=replace(row.politeness, busy_until=until)))
        store.flush()
        SqliteLog(database).append([encode(event) for event in (*newer.settings, *newer.changes)])


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    new_file = path.with_name(f"{path.name}.new")
    new_file.write_bytes(content)
    sync(new_file)
    new_file.replace(path)
    sync(path.parent)


@contextmanager
def translate_os_errors(folder: Path) -> Iterator[None]:
    """Translate an OSError about *folder* to GossamerError."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE_ERRNOS:
            raise no_space(folder) from error
        raise GossamerError(f"{folder} is not writable: {error}") from error
