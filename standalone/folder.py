"""The data folder: what lies where, and the lock that lets one crawl at a time work in it."""

import errno
import fcntl
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import clock
from gossamer.errors import GossamerError, Locked
from gossamer.events import DEFAULT_CRAWL
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database, no_space
from gossamer.store.sqlite import SqliteStore

if TYPE_CHECKING:
    # A command that reads a folder has none, and starts without the library behind them.
    from gossamer.settings.sections import StandaloneSettings

TABLES = "SELECT name FROM sqlite_schema WHERE name IN ('hosts', 'sites')"
LOCK_WAIT = 10.0
"""Seconds that the processes of a killed crawl may take to release the folder."""


class Folder:
    """The files of one crawl."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "gossamer.db"
        self.warc = path / "warc"
        self.logs = path / "gossamer.log"
        self._lock = path / "lock"
        self._held: int | None = None

    def __reduce__(self) -> tuple[type["Folder"], tuple[Path]]:
        """Pickle without the lock: a file descriptor means nothing in another process."""
        return Folder, (self.path,)

    def make(self) -> None:
        """Make the folder; raise GossamerError if it cannot be written to."""
        try:
            self.warc.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.write_bytes(b"gossamer")
            probe.unlink()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> GossamerError:
        if error.errno in NO_SPACE:
            return no_space(self.path)
        return GossamerError(
            f"the data folder {self.path} cannot be written to ({error.strerror}): "
            "name another one with --data, or make this one writable"
        )

    def claim(self) -> None:
        """Lock the folder for this crawl; raise Locked if another one holds it, GossamerError if a
        version wrote it that this one cannot go on from."""
        self.lock()
        if self.database.exists():
            self._refuse_too_old()

    def lock(self) -> None:
        """Lock the folder, whatever is in it; raise Locked if a crawl holds it."""
        until = clock.steady() + LOCK_WAIT
        # Children hold it too, each on its own: it is free when the last of them is gone. Turning
        # an exclusive lock into a shared one is not atomic: another crawl may get in between.
        while not (self._flock(fcntl.LOCK_EX) and self._flock(fcntl.LOCK_SH)):
            if clock.steady() > until:
                holder = self._lock.read_text() or "?"
                raise Locked(
                    f"another crawl (process {holder}) is running on {self.path}: "
                    "wait for its end, or name another folder with --data"
                )
            clock.pause(0.1)
        try:
            self._lock.write_text(str(os.getpid()))
        except OSError as error:
            raise self._unwritable(error) from error

    def _refuse_too_old(self) -> None:
        """Refuse hosts that nobody has counted by site: we would take all of them for new."""
        with closing(Database(self.database)) as database:
            found = database.read(TABLES, ())
            refused = found == [("hosts",)] and database.read("SELECT 1 FROM hosts LIMIT 1", ())
        if refused:
            raise GossamerError(
                f"{self.database} was written by a version of before 2026-11-22 12:00, which "
                "cannot be gone on with: begin anew in another folder with --data, or go on with "
                "that version; the WARC files beside it are not affected"
            )

    def share(self) -> None:
        """Hold the lock too, as a child of the crawl that claimed the folder."""
        if not self._flock(fcntl.LOCK_SH):
            raise Locked(f"another crawl has taken {self.path}")

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

    def open(self, settings: "StandaloneSettings | None" = None) -> "Opened":
        """Open the data file of a crawl that exists; raise GossamerError if there is none."""
        if not self.database.exists():
            raise GossamerError(
                f"{self.path} holds no crawl: start one with gossamer crawl, or name its folder "
                "with --data"
            )
        return Opened(self, settings)


NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


class Opened:
    """Log and store of a folder, on one connection."""

    def __init__(self, folder: Folder, settings: "StandaloneSettings | None" = None) -> None:
        """*settings* limit how many records are kept; None, for commands: nothing is removed."""
        self.folder = folder
        self.crawl_id = DEFAULT_CRAWL
        """The crawl in rows and events, of which a folder has one."""
        self.database = Database(folder.database)
        self.log = SqliteLog(self.database, settings.records_limit if settings else 0)
        self.store = SqliteStore(self.database)
