"""The SQLite file of the embedded log and store, so that both share one transaction.

Several processes may open it. Readers never wait (write-ahead log), and writers wait for each
other. A killed process loses nothing that it committed. After a power failure the file is
consistent, and at most the last commits are missing.
"""

import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from gossamer import clock
from gossamer.clock import IdleTimer
from gossamer.errors import Corrupt, GossamerError, NoSpace

APPLICATION_ID = 0x47534D52
FORMAT = 1
BUSY_TIMEOUT = 60.0
POLL, MAX_POLL = 0.005, 0.25
"""Minimum and maximum seconds between two checks for new commits. The interval grows without
commits."""

# Checkpoints at 32 MB instead of 8: pages that many commits change are written back less often.
PRAGMAS = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA journal_size_limit = 67108864;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA cache_size = -32768;
"""


class Database:
    """One connection, which several threads of this process use one at a time."""

    def __init__(self, path: Path | str, create: bool = True) -> None:
        self.path = Path(path)
        self._lock = RLock()
        self._depth = 0
        self._commits = 0
        self._idle_timer = IdleTimer()
        mode = "rwc" if create else "rw"
        memory = str(path) == ":memory:"
        where = ":memory:" if memory else f"{self.path.absolute().as_uri()}?mode={mode}"
        with translate_errors(self.path):
            self._db = sqlite3.connect(
                where,
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            # Closed when garbage-collected, if a caller forgets it. sqlite3 would warn.
            self.close = weakref.finalize(self, self._db.close)
            try:
                self._identify()
            except BaseException:
                self.close()
                raise

    def _identify(self) -> None:
        # Tables are counted before the pragmas are read. Another process that creates the file sets
        # the pragmas before it creates tables, so tables never appear without the pragmas.
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (found,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if tables and (found, version) != (APPLICATION_ID, FORMAT):
            raise Corrupt(
                f"{self.path} is not a data file of this version of Gossamer: "
                "use another folder with --data, or move the file away"
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
                # When several processes create a file, the change to WAL ignores the timeout.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or clock.steady() > until:
                    raise
            clock.pause(POLL)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit the whole block or nothing. An inner transaction is part of the outer one."""
        with self._lock, translate_errors(self.path):
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

    def read(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Return the result of one query, which is a consistent snapshot."""
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise _translate(error, self.path) from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Hold one consistent snapshot during the block. Writes in it fail."""
        with self._lock, translate_errors(self.path):
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                self._db.execute("ROLLBACK")

    def newer_version(self, version: tuple[int, int] | None) -> tuple[int, int] | None:
        """Return the current version if there was a commit since *version*, else None."""
        ((others,),) = self.read("PRAGMA data_version", ())
        current = (others, self._commits)
        return None if current == version else current

    def wait(self, version: tuple[int, int] | None, timeout: float) -> tuple[int, int] | None:
        """Wait at most *timeout* seconds until :meth:`newer_version` returns a version."""
        until = clock.steady() + timeout
        while (current := self.newer_version(version)) is None:
            if (left := until - clock.steady()) <= 0:
                return None
            clock.pause(min(self._idle_timer.poll_interval(POLL, MAX_POLL), left))
        self._idle_timer.end()
        return current

    def check(self) -> None:
        """Read the whole file. Raise Corrupt if SQLite finds an error in it."""
        with self._lock, translate_errors(self.path):
            (verdict,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise corrupt(self.path, verdict.splitlines()[-1])


class translate_errors(AbstractContextManager[None]):
    """Raise GossamerError for an error of SQLite, with instructions."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise _translate(error, self._path) from error


UNDECODABLE = "Could not decode to UTF-8"
"""The beginning of the error of Python's module for such a text. It has no code of SQLite."""


def _translate(error: sqlite3.Error, path: Path) -> GossamerError:
    if str(error).startswith(UNDECODABLE):
        return corrupt(path, "a text is not UTF-8")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            return no_space(path.parent)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return corrupt(path, str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return GossamerError(
                f"{path} cannot be opened for writing ({error}): check that its folder exists and "
                "is writable, or use another one with --data"
            )
        case sqlite3.SQLITE_BUSY:
            return GossamerError(
                f"{path} is locked by another process: stop that process, then run this again"
            )
    return GossamerError(f"{path}: {error}")


def no_space(folder: Path) -> NoSpace:
    """Return the error for a full disk under *folder*."""
    return NoSpace(
        f"no space left for {folder}: free some, then run the same command again; nothing was lost"
    )


def corrupt(path: Path, what: str) -> Corrupt:
    """Return the error for a corrupt file, with *what* SQLite found."""
    return Corrupt(
        f"{path} is damaged ({what}): restore it from a backup, or start a new crawl in another "
        "folder with --data; the WARC files beside it are not affected"
    )
