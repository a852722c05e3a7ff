"""Restores: a folder becomes its snapshot; a fleet is checked to have the tables of its snapshot.

**A restored folder keeps newer waits and settings.** Each visited host is delayed for a courtesy
delay when the next run claims its partition, as after any takeover. Waits that are newer than the
snapshot, such as a Retry-After, and newer settings of operators, such as the blocklist, are taken
from the replaced database. A part that cannot be read is named.

**A fleet** is restored by the operator's tool. Log and store are then aligned: see
`gossamer.procedures.align`.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

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
from gossamer.inspection.basics.figures import first_few
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.audit import ChangeFilter, iterate_changes
from gossamer.log import Log
from gossamer.log.codec import encode
from gossamer.log.control import newest_events
from gossamer.log.sqlite import SqliteLog
from gossamer.procedures.snapshot import (
    BLOBS,
    COPY,
    FleetSnapshot,
    Snapshot,
    find_missing_files,
    read_checkpoints,
    read_snapshot,
    translate_os_errors,
)
from gossamer.runtime.identity import STORE, IdentityRow, check_topics
from gossamer.services.archive.segments import complete_segments, repair, sync
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.sqlite import APPLICATION_ID, Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.volumes import Volume

KEPT_EVENTS = (BlocklistChanged, SiteOverridden, HostOverridden, SpeedSet, ChangeExpires)
"""Settings that a restore keeps: site owners may have requested them."""
PARTS = (
    "delays and Retry-After of hosts",
    "blocks, speeds and other settings of operators",
    "the record of changes (gossamer audit)",
    "the list of erased targets",
)
"""The parts of a `NewerState`, for people."""
Item = TypeVar("Item")


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
    lost: Sequence[str] = ()
    """The parts of this state that could not be read, each with the error."""


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
    lost: Sequence[str] = ()
    """What may be newer than the snapshot and could not be read in the replaced database."""


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
    _end_killed_restore(folder)
    newer = _read_newer_state(folder, snapshot)
    repair(folder.warc, None)
    folder.set_profile(snapshot.profile)
    with translate_os_errors(folder.path):
        # The next run removes the blobs that the older database does not refer to.
        if (source / BLOBS).exists():
            shutil.copytree(source / BLOBS, folder.blobs, dirs_exist_ok=True)
        _replace_database(folder, source / COPY, newer)
    found, listed = complete_segments(folder.warc), snapshot.files
    return Restored(
        snapshot,
        newer=sorted(file for file, size in found.items() if size > listed.get(file, 0)),
        missing=find_missing_files(listed, folder.warc),
        erased=newer.erased,
        lost=newer.lost,
    )


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

    A part that cannot be read, which may be why the database is replaced, does not hide the others.
    Raise GossamerError if *folder* has another crawl than *snapshot*.
    """
    if not folder.database.exists():
        return NewerState()
    now, since = clock.now(), snapshot.taken_at
    try:
        opened = folder.open()
    except GossamerError as error:
        return NewerState(lost=[f"{part}: {error}" for part in PARTS])
    lost = list[str]()

    def read(part: str, items: Callable[[], Iterable[Item]]) -> list[Item]:
        try:
            return [*items()]
        except GossamerError as error:
            lost.append(f"{part}: {error}")
            return []

    waits, settings, changes, erased = PARTS
    with closing(opened.database):
        rows = read("its identity", lambda: [opened.store.table(IdentityRow).get(STORE)])
        row = rows[0] if rows else None
        hosts = read(waits, lambda: opened.store.table(HostRow).everything())
        events = read(settings, lambda: newest_events(opened.log).values())
        recorded = read(changes, lambda: iterate_changes(opened.log, ChangeFilter(since=since)))
        erasures = read(erased, lambda: opened.store.table(ErasureRow).everything())
    newer = NewerState(
        waits={
            (host.site, host.host): until for host in hosts if (until := _wait_end(host, now)) > now
        },
        settings=[event for event in events if isinstance(event, KEPT_EVENTS) and event.at > since],
        # What was changed stays true, so `audit` is never rewound.
        changes=[change for change in recorded if change.at > since],
        erased=sorted({erasure.target for erasure in erasures if erasure.at > since}),
        lost=lost,
    )
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


def _end_killed_restore(folder: Folder) -> None:
    """Complete an earlier restore that was killed between removing the replaced database and
    renaming the new one. Only the new one then has the newer waits and settings."""
    fresh = _new_database(folder)
    if fresh.exists() and not folder.database.exists():
        with translate_os_errors(folder.path):
            _put_in_place(folder, fresh)


def _new_database(folder: Folder) -> Path:
    return folder.path / "gossamer.db.restoring"


def _replace_database(folder: Folder, copy: Path, newer: NewerState) -> None:
    fresh = _new_database(folder)
    for path in _with_logs(fresh):
        path.unlink(missing_ok=True)
    shutil.copyfile(copy, fresh)
    _add_newer_state(fresh, newer)
    sync(fresh)
    _put_in_place(folder, fresh)


def _put_in_place(folder: Folder, fresh: Path) -> None:
    # The old file is removed before its write-ahead log: without the log it would lack commits, and
    # the new file must not get the old log. After a kill in between, the next restore completes it.
    for path in _with_logs(folder.database):
        path.unlink(missing_ok=True)
    fresh.replace(folder.database)
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


def check_tables(snapshot: FleetSnapshot, log: Log, store: Store) -> None:
    """Raise GossamerError unless *store* has the tables of *snapshot* and *log* its fleet."""
    row, stated = store.table(IdentityRow).get(STORE), check_topics(log)
    for part, found in (("store", row), ("topics", stated)):
        if found and found.id != snapshot.fleet:
            raise GossamerError(
                f"these settings name the {part} of the fleet {found.id}, and the snapshot is of "
                f"the fleet {snapshot.fleet}: name another fleet with --config"
            )
    if (now := read_checkpoints(store)) == snapshot.checkpoints:
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


def not_in_volumes(files: Sequence[str], urls: Sequence[str]) -> list[str]:
    """Return the *files* that are in none of the archive's volumes *urls*."""
    volumes = [Volume(url) for url in urls] if files else []
    return [file for file in files if all(volume.size(file) is None for volume in volumes)]
