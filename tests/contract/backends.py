"""The implementations of the ports that must keep the same promises, and how one is opened.

Opening again what is open already is what another process does, or the next one after a crash.
Another implementation is one more entry of `BACKENDS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gossamer.log import Log
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore


@dataclass(frozen=True)
class Ports:
    """A log and a store on the same data."""

    log: Log
    store: Store
    close: Callable[[], None]


@dataclass(frozen=True)
class Backend:
    """One implementation; *open* takes a place of its own, which is a folder."""

    open: Callable[[Path], Ports]
    one_step: bool
    """Whether log and store share a transaction, so that advancing is one step."""
    trims: bool
    """Whether what every reader has passed goes at once."""


def _sqlite(place: Path) -> Ports:
    place.mkdir(parents=True, exist_ok=True)
    database = Database(place / "gossamer.db")
    return Ports(SqliteLog(database), SqliteStore(database), database.close)


BACKENDS = {"sqlite": Backend(_sqlite, one_step=True, trims=True)}
