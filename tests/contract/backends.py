"""The implementations of the ports that must keep the same promises, and how each is opened.

Opening data a second time simulates another process, or the next process after a crash. A new log
is one more entry of `LOGS`, a new store one of `STORES`. A log without a store uses SQLite as its
store, and the reverse.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha1
from pathlib import Path

from gossamer.log import Log
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.log.sqlite import SqliteLog
from gossamer.settings.servers import CassandraSettings, KafkaSettings
from gossamer.sqlite import Database
from gossamer.store import R, Row, Store
from gossamer.store.cassandra.cql import SMALL_ROWS
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.store import CassandraStore, CassandraTable
from gossamer.store.cassandra.tables import create_tables
from gossamer.store.sqlite import SqliteStore


@dataclass(frozen=True)
class Ports:
    """A log and a store on the same data."""

    log: Log
    store: Store
    close: Callable[[], None]


@dataclass(frozen=True)
class Backend:
    """One implementation. *open* takes an empty folder and the address of the server."""

    open: Callable[[Path, str], Ports]
    server: str = ""
    """The fixture with the address of the server; empty if none is needed."""
    clear: Callable[[str], None] = lambda server: None
    """Removes the data of earlier tests from the server."""
    one_step: bool = False
    """Whether log and store share a transaction, so that advancing is one step."""
    trims: bool = False
    """Whether a record is deleted as soon as every reader has passed it."""
    decides_at_once: bool = False
    """Whether `put_if_absent` decides before the flush."""
    fences: bool = False
    """Whether several processes may write, so that a claim has to fence others."""


def _database(folder: Path) -> Database:
    folder.mkdir(parents=True, exist_ok=True)
    return Database(folder / "gossamer.db")


def _lifetime(row: type[Row]) -> int:
    """Return the seconds for which rows of a test's class are stored; 0: for ever."""
    return getattr(row, "lifetime", 0)


def _sqlite(folder: Path, _: str) -> Ports:
    database = _database(folder)
    return Ports(SqliteLog(database), SqliteStore(database, _lifetime), database.close)


MEMBER = "CONTRACT_MEMBER"
"""The environment variable with the member's name in its groups, for a process that keeps its
name."""


def kafka_settings(folder: Path, server: str) -> KafkaSettings:
    """Return the settings of a folder, with topics of its own."""
    prefix = f"t{sha1(str(folder).encode()).hexdigest()[:12]}."
    return KafkaSettings(servers=server, prefix=prefix, partitions=4, replication=1, session=6.0)


@cache
def _make_topics(settings: KafkaSettings) -> None:
    list(Topics(settings).apply())


def _kafka(folder: Path, server: str) -> Ports:
    settings = kafka_settings(folder, server)
    _make_topics(settings)
    database, log = _database(folder), KafkaLog(settings, os.environ.get(MEMBER, ""))

    def close() -> None:
        log.close()
        database.close()

    return Ports(log, SqliteStore(database), close)


def cassandra_settings(port: str) -> CassandraSettings:
    """Return the settings of this test process, which its children share."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    return CassandraSettings(
        hosts=("127.0.0.1",), port=int(port), keyspace=f"contract_{worker}", timeout=60.0
    )


class MakingStore(CassandraStore):
    """A store that creates each table when it is first used."""

    used: set[str] = set()  # noqa: RUF012 - one for all

    def __init__(self, port: str) -> None:
        self._port = port
        _make(port, None)
        super().__init__(cassandra_settings(port))

    def table(self, row: type[R]) -> CassandraTable[R]:
        """Return the table of *row*, created where it is missing."""
        _make(self._port, row)
        self.used.add(row.table)
        return super().table(row)


@cache
def _make(port: str, row: type[Row] | None) -> None:
    rows = {row: replace(SMALL_ROWS, lifetime=_lifetime(row))} if row else {}
    list(create_tables(_nodes(port), cassandra_settings(port), rows))


@cache
def _nodes(port: str) -> Cassandra:
    return Cassandra(cassandra_settings(port))


def _cassandra(folder: Path, port: str) -> Ports:
    database, store = _database(folder), MakingStore(port)

    def close() -> None:
        store.close()
        database.close()

    return Ports(SqliteLog(database), store, close)


def _truncate(port: str) -> None:
    while MakingStore.used:
        table = MakingStore.used.pop()
        _nodes(port).change(f"TRUNCATE {cassandra_settings(port).keyspace}.{table}")


SQLITE = Backend(_sqlite, one_step=True, trims=True)
LOGS = {"sqlite": SQLITE, "kafka": Backend(_kafka, "kafka")}
STORES = {
    "sqlite": SQLITE,
    "cassandra": Backend(_cassandra, "cassandra", _truncate, decides_at_once=True, fences=True),
}
BACKENDS = LOGS | STORES
