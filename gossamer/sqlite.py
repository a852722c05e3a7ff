"""One SQLite file under the embedded log and store, so that both share one transaction.

Several processes may have it open: readers never wait (write-ahead log), writers take turns.
A killed process loses nothing it committed; after a power cut the file is whole, and at most the
last moments are missing.
"""

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from gossamer import clock
from gossamer.errors import Damaged, GossamerError, NoSpace

APPLICATION_ID = 0x47534D52
FORMAT = 1
BUSY_TIMEOUT = 60.0
POLL = 0.005

PRAGMAS = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA journal_size_limit = 67108864;
PRAGMA cache_size = -32768;
"""


class Database:
    """One connection, usable from several threads of this process, one at a time."""

    def __init__(self, path: Path | str, create: bool = True) -> None:
        self.path = Path(path)
        self._lock = RLock()
        self._depth = 0
        self._commits = 0
        mode = "rwc" if create else "rw"
        memory = str(path) == ":memory:"
        where = ":memory:" if memory else f"{self.path.absolute().as_uri()}?mode={mode}"
        with translated(self.path):
            self._db = sqlite3.connect(
                where,
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            # Whoever forgets to close it closes it all the same, without a warning.
            self.close = weakref.finalize(self, self._db.close)
            try:
                self._identify()
            except BaseException:
                self.close()
                raise

    def _identify(self) -> None:
        # Tables first: whoever is making them just now has said whose the file is before that.
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (found,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if tables and (found, version) != (APPLICATION_ID, FORMAT):
            raise Damaged(
                f"{self.path} is not a data file of this version of Gossamer: "
                "name another folder with --data, or move the file away"
            )
        self._prepare()
        if not tables:
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute(f"PRAGMA user_version = {FORMAT}")

    def _prepare(self) -> None:
        until = clock.steady() + BUSY_TIMEOUT
        while True:
            try:
                self._db.executescript(PRAGMAS)
                return
            except sqlite3.OperationalError as error:
                # Of several who make a file at once, SQLite lets nobody wait for the log's turn.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or clock.steady() > until:
                    raise
            clock.pause(POLL)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; a transaction inside another is part of it."""
        with self._lock, translated(self.path):
            if self._depth == 0:
                self._db.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield self._db
            except BaseException:
                self._leave("ROLLBACK")
                raise
            self._leave("COMMIT")

    def _leave(self, how: str) -> None:
        self._depth -= 1
        if self._depth == 0 and self._db.in_transaction:
            self._db.execute(how)
            self._commits += 1

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of everything, for as long as it is held; no place to write."""
        with self._lock, translated(self.path):
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    def changed_since(self, version: tuple[int, int] | None) -> tuple[int, int] | None:
        """Return the present version if it is not *version*: somebody has committed."""
        with self._lock, translated(self.path):
            (others,) = self._db.execute("PRAGMA data_version").fetchone()
        present = (others, self._commits)
        return None if present == version else present

    def wait(self, version: tuple[int, int] | None, timeout: float) -> tuple[int, int] | None:
        """Wait until :meth:`changed_since` has an answer, at most *timeout* seconds."""
        until = clock.steady() + timeout
        while (present := self.changed_since(version)) is None and clock.steady() < until:
            clock.pause(min(POLL, timeout))
        return present

    def check(self) -> None:
        """Read the whole file; raise Damaged if a page of it is not what was written."""
        with self._lock, translated(self.path):
            (verdict,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise damaged(self.path, verdict.splitlines()[-1])


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Say SQLite's failures in words that tell a person what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translation(error, path) from error


def _translation(error: sqlite3.Error, path: Path) -> GossamerError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            return no_space(path.parent)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return GossamerError(
                f"{path} cannot be opened for writing ({error}): see that its folder is there and "
                "that you may write to it, or name another with --data"
            )
        case sqlite3.SQLITE_BUSY:
            return GossamerError(
                f"{path} is kept locked by another process: end that, then run this again"
            )
    return GossamerError(f"{path}: {error}")


def no_space(folder: Path) -> NoSpace:
    """What to tell a person when the disk is full."""
    return NoSpace(
        f"no space left for {folder}: free some, then run the same command again; nothing is lost"
    )


def damaged(path: Path, what: str) -> Damaged:
    """What to tell a person when a file is corrupt."""
    return Damaged(
        f"{path} is damaged ({what}): restore it from a backup, or name another folder with --data "
        "and start afresh; the WARC files beside it are not affected"
    )
