"""Unrepeatable work during an outage of the log.

The log is real; an outage is that it answers Unavailable, as a broker's that is down would.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from gossamer import errors
from gossamer.errors import Fenced, NoSpace, Unavailable
from gossamer.events import Event, SeedAdded
from gossamer.log import Ends, Message, Record
from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.runtime import concurrent
from gossamer.runtime.processor import Emitter
from gossamer.sqlite import Database
from gossamer.store import Store
from tests.runtime.conftest import Start
from tests.runtime.manual import Manual, ManualOnce, found, left, sow, until
from tests.runtime.processors import discovered


class Failing(SqliteLog):
    """Fails in all calls while *down*, or fences its readers, as the test sets."""

    down = fenced_for_good = False
    asked = 0
    failures = 0
    """Number of appends that fail before one succeeds."""
    readers = fenced_until = 0

    def fence(self) -> None:
        """Fence all current readers."""
        self.fenced_until = self.readers

    def check(self) -> None:
        """Count the call, and raise while the log is down."""
        self.asked += 1
        if self.down:
            raise Unavailable("nobody answers")

    def append(self, messages: Iterable[Message]) -> Ends:
        """Append, unless the log is down."""
        self.check()
        if self.failures:
            self.failures -= 1
            raise Unavailable("not enough replicas")
        return super().append(messages)

    def reader(self, group: str, topics: Sequence[str], store: Store) -> SqliteReader:
        """Return a reader that fails with the log."""
        reader = super().reader(group, topics, store)
        poll, number = reader.poll, self.readers + 1
        self.readers = number

        def polling(timeout: float, *how: Any) -> list[Record]:
            self.check()
            if self.fenced_for_good or number <= self.fenced_until:
                raise Fenced("somebody else has our name")
            return poll(timeout, *how)

        reader.poll = polling  # type: ignore[method-assign, assignment]
        return reader

    async def tried_again(self) -> None:
        """Wait for a few more calls."""
        before = self.asked
        await until(lambda: self.asked > before + 3)


class HandsBack(ManualOnce):
    """Emits an event when it is cancelled."""

    async def work(self, event: Event, emit: Emitter) -> None:
        """Work, and return the order when it is cancelled."""
        assert isinstance(event, SeedAdded)
        try:
            await super().work(event, emit)
        except asyncio.CancelledError:
            emit(discovered(f"{event.url} returned", 1.0))
            raise


@pytest.fixture
def log(database: Database, monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Return a log that can fail, with very short waits before retries."""
    monkeypatch.setattr(errors, "MIN_RETRY_WAIT", 0.001)
    monkeypatch.setattr(errors, "MAX_RETRY_WAIT", 0.002)
    return Failing(database)


async def test_results_during_log_outage_are_appended_afterwards(
    start: Start, log: Failing
) -> None:
    processor = HandsBack(log)
    sow(log, *"abc")
    async with start(processor):
        await until(lambda: len(processor.open()) == 3)
        log.down = True
        processor.done("a")
        await log.tried_again()
        processor.done("b")
        await log.tried_again()
        assert processor.open() == {"c"}, "work goes on meanwhile"
        log.down = False
        await until(lambda: sorted(found(log)) == ["a", "b"])
        processor.done("c")
        await until(lambda: left(log) == 0 and len(found(log)) == 3)
    assert sorted(found(log)) == ["a", "b", "c"], "each once"
    assert sorted(processor.started) == ["a", "b", "c"], "nothing is begun twice"


async def test_polled_work_starts_once_after_log_outage(start: Start, log: Failing) -> None:
    processor = HandsBack(log)
    sow(log, "a")
    async with start(processor):
        await until(lambda: processor.open() == {"a"})
        sow(log, "b")
        log.failures = 3
        await until(lambda: processor.open() == {"a", "b"})
        processor.done("a", "b")
        await until(lambda: len(found(log)) == 2)
    assert (processor.started, left(log)) == (["a", "b"], 0)


async def test_fenced_member_joins_again_and_continues(start: Start, log: Failing) -> None:
    processor = HandsBack(log)
    sow(log, *"abc")
    async with start(processor):
        await until(lambda: len(processor.open()) == 3)
        processor.done("a")
        log.fence()
        await until(lambda: found(log) == ["a"])
        sow(log, "d")
        await until(lambda: processor.open() == {"b", "c", "d"})
        processor.done("b", "c", "d")
        await until(lambda: len(found(log)) == 4)
    assert processor.started == ["a", "b", "c", "d"], "what has begun is begun once"


@pytest.mark.parametrize("between_polls", [0.0, 0.05])
async def test_member_fenced_twice_appends_its_results(
    start: Start, log: Failing, monkeypatch: pytest.MonkeyPatch, between_polls: float
) -> None:
    monkeypatch.setattr(concurrent, "IDLE_WAIT", between_polls)
    processor = HandsBack(log)
    sow(log, *"abc")
    with pytest.raises(Fenced):
        async with start(processor):
            await until(lambda: len(processor.open()) == 3)
            processor.done("a")
            log.fenced_for_good = True
            log.fence()
            await until(lambda: not processor._open)
    assert sorted(found(log)) == ["a", "b returned", "c returned"]


async def test_gossamer_error_keeps_finished_results(start: Start, log: Failing) -> None:
    processor = HandsBack(log)
    sow(log, *"abc")
    with pytest.raises(NoSpace):
        async with start(processor):
            await until(lambda: len(processor.open()) == 3)
            processor.done("a")
            processor.broken("b", NoSpace("the disk is full"))
            await until(lambda: not processor._open)
    assert sorted(found(log)) == ["a", "c returned"]


async def test_stop_waits_for_short_log_outage(start: Start, log: Failing) -> None:
    processor = HandsBack(log)
    sow(log, *"ab")
    async with start(processor):
        await until(lambda: len(processor.open()) == 2)
        processor.done("a")
        log.down = True
        await log.tried_again()
        asyncio.get_running_loop().call_later(0.05, setattr, log, "down", False)
    assert sorted(found(log)) == ["a", "b returned"]


async def test_stop_gives_up_after_long_log_outage(
    start: Start, log: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrent, "MAX_STOP_SECONDS", 0.05)
    processor = HandsBack(log)
    sow(log, "a")
    with capture_logs() as lines:
        async with start(processor):
            await until(lambda: processor.open() == {"a"})
            log.down = True
    assert [line["count"] for line in lines if line["event"] == "messages lost"] == [1]


@pytest.mark.parametrize("kind", [Manual, ManualOnce])
async def test_log_outage_without_work_reopens_the_log(
    start: Start, log: Failing, kind: type[Manual]
) -> None:
    with pytest.raises(Unavailable):
        async with start(kind(log)):
            log.down = True
            await until(lambda: log.asked > 0)


async def test_bytes_waiting_for_the_log_are_bounded(
    start: Start, log: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrent, "MAX_WAITING_BYTES", 10)
    processor = HandsBack(log)
    sow(log, *"abc")
    async with start(processor):
        await until(lambda: len(processor.open()) == 3)
        log.down = True
        processor.done("a")
        await until(lambda: not processor._open)
        log.down = False
        await until(lambda: len(found(log)) == 3)
    assert sorted(found(log)) == ["a", "b returned", "c returned"]


async def test_repeatable_work_is_left_to_the_next_reader(
    start: Start, manual: Manual, log: Failing
) -> None:
    sow(log, *"ab")
    with pytest.raises(Unavailable):
        async with start(manual):
            await until(lambda: len(manual.open()) == 2)
            log.down = True
            await until(lambda: not manual._open)
    log.down = False
    assert left(log) == 2
