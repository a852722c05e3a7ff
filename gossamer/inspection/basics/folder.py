"""A data folder: the files of its crawls, and the lock that admits one run at a time."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import clock
from gossamer.errors import GossamerError, Locked
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database, no_space
from gossamer.store import Row, Store
from gossamer.store.sqlite import SqliteStore

if TYPE_CHECKING:
    # Commands that read a folder need no settings, and start without importing them.
    from gossamer.settings.sections import StandaloneSettings
    from gossamer.volumes import Volume

LOCK_TIMEOUT = 10.0
"""Seconds that the processes of a killed crawl may take to release the folder."""


class Folder:
    """The files of the crawls in one folder."""

    def __init__(self, path: Path, keeps_consumed: bool = False) -> None:
        """*keeps_consumed*: whether the log keeps the records that all services have consumed."""
        self.path, self.keeps_consumed = path, keeps_consumed
        self.database = path / "gossamer.db"
        self.warc = path / "warc"
        self.blobs = path / "blobs"
        self.logs = path / "gossamer.log"
        self.search = path / "search.db"
        self._profile = path / "profile"
        self._lock = path / "lock"
        self._held: int | None = None

    def __reduce__(self) -> tuple[type["Folder"], tuple[Path, bool]]:
        """Pickle without the lock: a file descriptor is invalid in another process."""
        return Folder, (self.path, self.keeps_consumed)

    def make(self) -> None:
        """Create the folder; raise GossamerError if it is not writable."""
        try:
            self.warc.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.write_bytes(b"gossamer")
            probe.unlink()
        except OSError as error:
            raise self._unwritable(error) from error

    def profile(self) -> str:
        """Return the profile of the folder's crawls; "" without one."""
        try:
            return self._profile.read_text().strip()
        except OSError:
            return ""

    def set_profile(self, name: str) -> None:
        """Remember the profile *name* for the folder's crawls; "" means none."""
        try:
            if name:
                self._profile.write_text(f"{name}\n")
            else:
                self._profile.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> GossamerError:
        if error.errno in NO_SPACE:
            return no_space(self.path)
        return GossamerError(
            f"the data folder {self.path} is not writable ({error.strerror}): make it writable, or "
            "name another folder with --data"
        )

    def lock(self) -> None:
        """Lock the folder; raise Locked if a crawl has the lock."""
        until = clock.steady() + LOCK_TIMEOUT
        # Each child has a lock of its own, so the folder is free when the last of them has exited.
        # Turning an exclusive lock into a shared one is not atomic: another crawl may get it first.
        while not (self._flock(fcntl.LOCK_EX) and self._flock(fcntl.LOCK_SH)):
            if clock.steady() > until:
                holder = self._lock.read_text() or "?"
                raise Locked(
                    f"another crawl (process {holder}) is running in {self.path}: wait for its "
                    "end, or name another folder with --data"
                )
            clock.pause(0.1)
        try:
            self._lock.write_text(str(os.getpid()))
        except OSError as error:
            raise self._unwritable(error) from error

    def is_locked(self) -> bool:
        """Return whether a process has locked the folder: a crawl runs in it."""
        try:
            lock = os.open(self._lock, os.O_RDONLY)
        except OSError:
            return False
        try:
            # A crawl that locks the folder at this instant tries again.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    def share(self) -> None:
        """Lock the folder as a child of the crawl that has the lock."""
        if not self._flock(fcntl.LOCK_SH):
            raise Locked(f"another crawl has locked {self.path}")

    def _flock(self, how: int) -> bool:
        try:
            if self._held is None:
                self._held = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(self._held, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._unwritable(error) from error
        return True

    def open_blobs(self) -> "Volume":
        """Return the volume with the blobs of the crawl."""
        from gossamer.volumes import Volume

        return Volume(self.blobs.resolve().as_uri())

    def create(self) -> "Opened":
        """Create the folder with a new data file; raise GossamerError if it is not writable."""
        self.make()
        return Opened(self)

    def open(self, settings: "StandaloneSettings | None" = None) -> "Opened":
        """Open the data file of a crawl that exists; raise GossamerError if there is none."""
        if not self.database.exists():
            raise GossamerError(
                f"{self.path} has no crawl: start one with gossamer crawl, or name its folder with "
                "--data"
            )
        return Opened(self, settings)


NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


class Opened:
    """Log and store of a folder, on one connection."""

    def __init__(self, folder: Folder, settings: "StandaloneSettings | None" = None) -> None:
        """*settings* limit the number of retained records. Without settings, no record and no blob
        is removed."""
        self.folder = folder
        self.database = Database(folder.database)
        limit, blobs = (settings.records_limit, folder.open_blobs()) if settings else (0, None)
        self.log = SqliteLog(self.database, limit, blobs, folder.keeps_consumed)
        self.store = SqliteStore(self.database)

    @contextmanager
    def view(self, *rows: type[Row]) -> Iterator[Store]:
        """Yield the store. All reads in the block have one consistent view of the tables *rows*."""
        for row in rows:
            self.store.table(row)  # A missing table is created before the read transaction.
        with self.database.reading():
            yield self.store
