"""The file under the embedded crawl: transactions, views, threads, waiting."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer import clock
from gossamer.errors import Corrupt, GossamerError
from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore


@pytest.fixture
def database(database: Database) -> Database:
    """Return a database with one empty table."""
    with database.transaction() as db:
        db.execute("CREATE TABLE t (n INTEGER)")
    return database


@pytest.fixture
def other(database: Database) -> Iterator[Database]:
    """Return the connection of another process to the file."""
    opened = Database(database.path)
    yield opened
    opened.close()


def put(database: Database, n: int) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO t VALUES (?)", (n,))


def stored_numbers(database: Database) -> list[int]:
    with database.reading() as db:
        return [n for (n,) in db.execute("SELECT n FROM t ORDER BY n")]


def test_transaction_is_all_or_nothing(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.transaction():
        put(database, 1)
        raise ZeroDivisionError
    assert stored_numbers(database) == []
    put(database, 2)
    assert stored_numbers(database) == [2]


def test_inner_transaction_is_part_of_the_outer_one(database: Database, other: Database) -> None:
    with database.transaction():
        put(database, 1)
        assert stored_numbers(database) == [1]
        assert stored_numbers(other) == []
        put(database, 2)
    assert stored_numbers(other) == [1, 2]


def test_failed_statement_rolls_back_and_names_the_file(database: Database) -> None:
    with pytest.raises(GossamerError, match=str(database.path)), database.transaction() as db:
        put(database, 1)
        db.execute("INSERT INTO nowhere VALUES (1)")
    assert stored_numbers(database) == []


def test_reading_is_one_view(database: Database, other: Database) -> None:
    with database.reading():
        assert stored_numbers(database) == []
        put(other, 1)
        assert stored_numbers(database) == [], "a view inside a view is part of it"
    assert stored_numbers(database) == [1]


def test_log_can_be_read_within_a_view(log: SqliteLog, database: Database) -> None:
    with database.reading():
        assert log.lag("dedup", "seeds") == 0
        assert log.tail(["seeds"]).poll(0) == []


def test_write_within_a_view_is_refused_without_effect(database: Database) -> None:
    with pytest.raises(GossamerError), database.reading():
        put(database, 1)
    put(database, 2)
    assert stored_numbers(database) == [2]


def test_version_changes_at_each_commit(database: Database, other: Database) -> None:
    version = database.newer_version(None)
    assert database.newer_version(version) is None
    for writer in (database, other):
        put(writer, 1)
        changed = database.newer_version(version)
        assert changed not in (None, version)
        assert database.newer_version(changed) is None
        version = changed


def test_wait_ends_at_a_commit(database: Database, other: Database) -> None:
    version = database.newer_version(None)
    writer = threading.Thread(target=put, args=(other, 1))
    writer.start()
    assert database.wait(version, 60.0) is not None
    writer.join()
    assert stored_numbers(database) == [1]


def test_wait_ends_if_the_clock_steps_back(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, times = database.newer_version(None), iter(range(10**6, 0, -3600))
    monkeypatch.setattr(clock, "now", lambda: next(times))
    assert database.wait(version, 0.01) is None


def test_polls_return_all_appended_records(tmp_path: Path) -> None:
    writer, reader = Database(tmp_path / "db"), Database(tmp_path / "db")
    out, tail = SqliteLog(writer), SqliteLog(reader).tail(["seeds"])

    def append() -> None:
        for n in range(500):
            out.append([Message("seeds", str(n), b"x", str(n))])

    thread, found = threading.Thread(target=append), 0
    thread.start()
    while found < 500:
        going_on = thread.is_alive()
        records = tail.poll(60.0)
        found += len(records)
        assert records or going_on, "it was all there, and was not seen"
    thread.join()
    writer.close()
    reader.close()
    assert found == 500


class Interrupted(Database):
    """A database in which another connection appends one of *values* after each read."""

    def __init__(self, path: Path, *values: bytes) -> None:
        super().__init__(path)
        self.values, self.other = list(values), Database(path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read; afterwards the other connection appends."""
        with super().reading() as db:
            yield db
        if self.values:
            SqliteLog(self.other).append([Message("seeds", "k", self.values.pop(0), "k")])


def test_record_appended_just_after_a_poll_is_in_the_next_poll(tmp_path: Path) -> None:
    database = Interrupted(tmp_path / "db", b"a", b"b", b"c")
    tail = SqliteLog(database).tail(["seeds"])
    assert [[r.value for r in tail.poll(0)] for _ in range(5)] == [[], [b"a"], [b"b"], [b"c"], []]
    database.other.close()
    database.close()


def test_transactions_of_threads_are_serialized(database: Database) -> None:
    def work(start: int) -> None:
        for n in range(start, start + 100):
            with database.transaction():
                put(database, n)
                put(database, n + 10_000)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(stored_numbers(database)) % 2 == 0, "half of a transaction was seen"
    assert stored_numbers(database) == [*range(400), *range(10_000, 10_400)]


@pytest.mark.slow
def test_file_can_be_created_by_many_threads_at_once(tmp_path: Path) -> None:
    failures: list[Exception] = []

    def make(path: Path, start: threading.Barrier) -> None:
        start.wait()
        try:
            opened = Database(path)
            SqliteStore(opened)
            SqliteLog(opened)
            opened.close()
        except Exception as error:
            failures.append(error)

    for attempt in range(20):
        start = threading.Barrier(5)
        args = (tmp_path / f"{attempt}.db", start)
        threads = [threading.Thread(target=make, args=args) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_database_in_memory_needs_no_file() -> None:
    database = Database(":memory:")
    log = SqliteLog(database)
    log.append([Message("seeds", "k", b"v", "k")])
    assert log.lag("dedup", "seeds") == 1
    database.close()


@pytest.mark.parametrize("name", ["a b.db", "a?b#c%20.db", "é.db", "a'b\".db"])
def test_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        database = Database(tmp_path / name)
        SqliteLog(database)
        database.close()
    assert (tmp_path / name).stat().st_size > 0


def test_file_of_another_version_is_refused_unchanged(database: Database) -> None:
    with database.transaction() as db:
        db.execute("PRAGMA user_version = 99")
    database.close()
    before = database.path.read_bytes()
    with pytest.raises(Corrupt, match="not a data file of this version"):
        Database(database.path)
    assert database.path.read_bytes() == before
