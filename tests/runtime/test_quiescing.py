"""No member writes to the store of a quiesced fleet, even after crashes and restarts."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable
from gossamer.events import FleetQuiesced
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime import loop as loop_module
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.runtime.loop import Loop
from gossamer.runtime.quiescing import QuiescedFleet, quiesce
from gossamer.runtime.sequential import sequential_loop
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.runtime.manual import append_seeds, emitted_urls
from tests.runtime.processors import Discoverer

GROUPS = (Discoverer.name,)
LIMIT = 600.0


class Flushing(SqliteStore):
    """A store whose flushes may fail."""

    is_away = False

    def flush(self) -> None:
        if self.is_away:
            raise Unavailable("Cassandra is away")
        super().flush()


class There:
    """A member with its own connections to the log and the store of the command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.log = SqliteLog(Database(folder / "log.db"))
        self.time = 1000.0
        self.start()

    def start(self) -> None:
        """Start the member, after a crash of the one before."""
        self.store = Flushing(Database(self._folder / "store.db"))
        self.sower = Discoverer(self.store)
        self.loop: Loop = sequential_loop(self.sower, self.log, self.store, lambda: self.time)

    def copy(self) -> list[str]:
        with closing(sqlite3.connect(self._folder / "store.db")) as database:
            return [*database.iterdump()]

    def other_store(self) -> SqliteStore:
        """Open the store again, like a command."""
        return SqliteStore(Database(self._folder / "store.db"))

    def ask(self, until: float | None, id: str = "one") -> None:
        self.log.append([encode(FleetQuiesced(at=self.time, id=id, until=until))])

    def quiesce(self) -> AbstractContextManager[QuiescedFleet]:
        return quiesce(self.log, self.other_store(), GROUPS, LIMIT)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> There:
    monkeypatch.setattr(loop_module, "PAUSED_POLL_TIMEOUT", 0.0)
    there = There(tmp_path)
    monkeypatch.setattr(clock, "now", lambda: there.time)
    monkeypatch.setattr(clock, "steady", lambda: there.time)

    def pause(seconds: float) -> None:
        there.time += seconds
        there.loop.step()

    monkeypatch.setattr(clock, "pause", pause)
    return there


def test_quiesced_member_handles_and_writes_nothing(there: There) -> None:
    append_seeds(there.log, "a")
    there.loop.step()
    with there.quiesce() as delayed:
        at = {topic for row in delayed.notes.values() for topic in row.offsets.items()}
        assert at == {("seeds", 1)}
        copy = there.copy()
        append_seeds(there.log, "b")
        there.sower.at = there.time
        for _ in range(3):
            there.loop.step()
        assert emitted_urls(there.log) == ["a"] and there.copy() == copy
    there.loop.step()
    assert "b" in emitted_urls(there.log)


def test_member_flushes_its_step_before_it_pauses(there: There) -> None:
    there.loop.step()
    append_seeds(there.log, "a")
    with there.quiesce() as delayed:
        assert emitted_urls(there.log) == ["a"]
        assert ("seeds", 1) in {at for row in delayed.notes.values() for at in row.offsets.items()}


def test_members_continue_after_killed_command(there: There) -> None:
    there.loop.step()
    there.ask(until=there.time + LIMIT)
    there.loop.step()
    append_seeds(there.log, "a")
    there.loop.step()
    assert emitted_urls(there.log) == []
    there.time += LIMIT
    there.loop.step()
    assert emitted_urls(there.log) == ["a"]


def test_member_started_during_snapshot_claims_nothing(there: There) -> None:
    there.loop.step()
    with there.quiesce():
        copy = there.copy()
        there.start()
        append_seeds(there.log, "a")
        for _ in range(3):
            there.loop.step()
        assert there.sower.calls == [] and there.copy() == copy
    there.loop.step()
    assert emitted_urls(there.log) == ["a"]


def test_member_takes_over_from_member_that_crashed_before_its_note(there: There) -> None:
    there.loop.step()
    there.ask(until=there.time + LIMIT)
    there.start()
    there.loop.step()
    assert "assign 4" in there.sower.calls
    copy = there.copy()
    append_seeds(there.log, "a")
    there.loop.step()
    assert emitted_urls(there.log) == [] and there.copy() == copy


def test_second_snapshot_is_refused(there: There) -> None:
    there.loop.step()
    with there.quiesce():
        with (
            pytest.raises(GossamerError, match=r"quiesced for another snapshot.* in 600 s"),
            there.quiesce(),
        ):
            pass
        append_seeds(there.log, "a")
        there.loop.step()
        assert emitted_urls(there.log) == []


def test_members_that_do_not_pause_are_named(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "pause", lambda seconds: setattr(there, "time", there.time + 10.0))
    with (
        pytest.raises(GossamerError, match=r"not all .*: dedup, partitions 0, 1, 2, 3\. "),
        there.quiesce(),
    ):
        pass
    append_seeds(there.log, "a")
    there.loop.step()
    assert emitted_urls(there.log) == ["a"]


@pytest.mark.parametrize("write", [lambda there: append_seeds(there.log, "a"), lambda there: None])
def test_copy_beyond_the_limit_is_refused(there: There, write: Callable[[There], None]) -> None:
    there.loop.step()
    with pytest.raises(GossamerError, match="continued before the copy"), there.quiesce():
        there.time += LIMIT
        write(there)
        there.loop.step()


def test_fleet_continues_after_failed_snapshot(there: There) -> None:
    there.loop.step()
    with pytest.raises(KeyboardInterrupt), there.quiesce():
        raise KeyboardInterrupt
    append_seeds(there.log, "a")
    there.loop.step()
    assert emitted_urls(there.log) == ["a"]


def test_member_without_flush_writes_no_note(there: There) -> None:
    there.loop.step()
    append_seeds(there.log, "a")
    there.store.is_away = True
    there.ask(until=there.time + LIMIT)
    with pytest.raises(Unavailable):
        there.loop.step()
    rows = there.other_store().table(CheckpointRow).everything()
    assert not [row for row in rows if row.quiesced]
