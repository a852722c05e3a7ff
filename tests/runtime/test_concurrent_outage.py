"""Unrepeatable work during an outage of the log.

The log is real; an outage is that it answers Unavailable, as a broker's that is down would.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
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
from gossamer.web.url import Site
from tests.runtime.conftest import Start
from tests.runtime.manual import Manual, ManualOnce, append_seeds, emitted_urls, seed_lag, until
from tests.runtime.processors import make_discovery


class Failing(SqliteLog):
    """Fails in all calls while *down*, or fences its readers, as the test sets."""

    down = False
    asked = 0
    failures = 0
    """Number of appends that fail before one succeeds."""
    readers = fenced_until = 0

    def fence(self) -> None:
        self.fenced_until = self.readers

    def check(self) -> None:
        """Count the call, and raise while the log is down."""
        self.asked += 1
        if self.down:
            raise Unavailable("nobody answers")

    def append(self, messages: Iterable[Message]) -> Ends:
        self.check()
        if self.failures:
            self.failures -= 1
            raise Unavailable("not enough replicas")
        return super().append(messages)

    def reader(self, group: str, topics: Sequence[str], store: Store) -> SqliteReader:
        reader = super().reader(group, topics, store)
        poll, number = reader.poll, self.readers + 1
        self.readers = number

        def polling(timeout: float, *how: Any) -> list[Record]:
            self.check()
            if number <= self.fenced_until:
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

    def announce(self, event: Event, offset: int) -> tuple[Event, ...]:
        return ()

    async def work(self, event: Event, emit: Emitter) -> None:
        """Work, and return the order when it is cancelled."""
        assert isinstance(event, SeedAdded)
        try:
            await super().work(event, emit)
        except asyncio.CancelledError:
            emit(make_discovery(Site(f"{event.url} returned"), 1.0))
            raise


@pytest.fixture
def log(database: Database, monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Return a log that can fail, with very short waits before retries."""
    monkeypatch.setattr(errors, "MIN_RETRY_WAIT", 0.001)
    monkeypatch.setattr(errors, "MAX_RETRY_WAIT", 0.002)
    return Failing(database)


@asynccontextmanager
async def working(start: Start, log: Failing, names: str) -> AsyncIterator[HandsBack]:
    """Start a processor that works at an order of each of *names*."""
    processor = HandsBack(log)
    append_seeds(log, *names)
    async with start(processor):
        await until(lambda: processor.in_progress() == {*names})
        yield processor


async def test_results_during_log_outage_are_appended_afterwards(
    start: Start, log: Failing
) -> None:
    async with working(start, log, "abc") as processor:
        log.down = True
        processor.finish("a")
        await log.tried_again()
        processor.finish("b")
        await log.tried_again()
        assert processor.in_progress() == {"c"}, "work continues during the outage"
        log.down = False
        await until(lambda: sorted(emitted_urls(log)) == ["a", "b"])
        processor.finish("c")
        await until(lambda: seed_lag(log) == 0 and len(emitted_urls(log)) == 3)
    assert sorted(emitted_urls(log)) == ["a", "b", "c"], "each once"
    assert sorted(processor.started) == ["a", "b", "c"], "each record begins once"


async def test_polled_work_starts_once_after_log_outage(start: Start, log: Failing) -> None:
    async with working(start, log, "a") as processor:
        append_seeds(log, "b")
        log.failures = 3
        await until(lambda: processor.in_progress() == {"a", "b"})
        processor.finish("a", "b")
        await until(lambda: len(emitted_urls(log)) == 2)
    assert (processor.started, seed_lag(log)) == (["a", "b"], 0)


async def test_fenced_member_cancels_its_work_and_appends_its_results(
    start: Start, log: Failing
) -> None:
    """Another process may have its name, and work at the same hosts."""
    with pytest.raises(Fenced):
        async with working(start, log, "abc") as processor:
            processor.finish("a")
            log.fence()
            await until(lambda: not processor._open)
    assert sorted(emitted_urls(log)) == ["a", "b returned", "c returned"]


async def test_gossamer_error_keeps_finished_results(start: Start, log: Failing) -> None:
    with pytest.raises(NoSpace):
        async with working(start, log, "abc") as processor:
            processor.finish("a")
            processor.fail("b", NoSpace("the disk is full"))
            await until(lambda: not processor._open)
    assert sorted(emitted_urls(log)) == ["a", "c returned"]


async def test_stop_waits_for_short_log_outage(start: Start, log: Failing) -> None:
    async with working(start, log, "ab") as processor:
        processor.finish("a")
        log.down = True
        await log.tried_again()
        asyncio.get_running_loop().call_later(0.05, setattr, log, "down", False)
    assert sorted(emitted_urls(log)) == ["a", "b returned"]


async def test_stop_gives_up_after_long_log_outage(
    start: Start, log: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrent, "MAX_STOP_SECONDS", 0.05)
    with capture_logs() as lines:
        async with working(start, log, "a"):
            log.down = True
    assert [
        line["count"]
        for line in lines
        if line["event"] == "log unavailable at the end: messages lost"
    ] == [1]


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
    async with working(start, log, "abc") as processor:
        log.down = True
        processor.finish("a")
        await until(lambda: not processor._open)
        log.down = False
        await until(lambda: len(emitted_urls(log)) == 3)
    assert sorted(emitted_urls(log)) == ["a", "b returned", "c returned"]


async def test_repeatable_work_is_left_to_the_next_reader(
    start: Start, manual: Manual, log: Failing
) -> None:
    append_seeds(log, *"ab")
    with pytest.raises(Unavailable):
        async with start(manual):
            await until(lambda: len(manual.in_progress()) == 2)
            log.down = True
            await until(lambda: not manual._open)
    log.down = False
    assert seed_lag(log) == 2
