"""Dead letters and errors of the concurrent runner."""

import pytest

from gossamer.errors import BadSettings, NoSpace, Poison
from gossamer.events import CrawlDefined, Event
from gossamer.events.topics import PAGES
from gossamer.log import Message
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.processor import Emitter
from gossamer.web.url import Site
from tests.runtime.conftest import Start
from tests.runtime.manual import (
    Manual,
    ManualOnce,
    append_seeds,
    dead_letters,
    emitted_urls,
    seed_lag,
    until,
)
from tests.runtime.processors import make_discovery

LARGE = Site("x" * PAGES.limit)


async def test_unreadable_record_becomes_dead_letter(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    append_seeds(log, b"\xff", "a")
    async with start(manual):
        await until(lambda: manual.in_progress() == {"a"})
        manual.finish("a")
        await until(lambda: seed_lag(log) == 0)
    (letter,) = dead_letters(log)
    assert (letter.value, letter.topic, letter.at) == (b"\xff", "seeds", 100.0)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("not this one"), "ValueError: not this one"),
        (TimeoutError(), "TimeoutError: "),
        (Poison("cannot be read"), "cannot be read"),
    ],
)
async def test_failing_record_becomes_dead_letter_with_reason(
    start: Start, manual: Manual, log: SqliteLog, error: Exception, reason: str
) -> None:
    append_seeds(log, "a", "b")
    async with start(manual):
        await until(lambda: len(manual.in_progress()) == 2)
        manual.fail("a", error)
        manual.finish("b")
        await until(lambda: seed_lag(log) == 0)
    (letter,) = dead_letters(log)
    assert (letter.value, letter.reason) == (b"a", reason)
    assert emitted_urls(log) == ["b"]


class Talker(Manual):
    """Emits a small and a too large event in one call at the end."""

    def announce(self, event: Event, offset: int) -> tuple[Event, ...]:
        return ()

    async def work(self, event: Event, emit: Emitter) -> None:
        await super().work(
            event, lambda *_: emit(make_discovery(Site("a"), 1.0), make_discovery(LARGE, 1.0))
        )


class TalkerOnce(Talker, ManualOnce):
    """A processor of unrepeatable work that emits a too large event."""


@pytest.mark.parametrize("kind", [Talker, TalkerOnce])
async def test_record_with_too_large_result_becomes_dead_letter(
    start: Start, log: SqliteLog, kind: type[Manual]
) -> None:
    manual = kind(log)
    append_seeds(log, "a", "b")
    async with start(manual):
        await until(lambda: len(manual.in_progress()) == 2)
        manual.finish("a", "b")
        await until(lambda: len(dead_letters(log)) == 2)
    assert emitted_urls(log) == [], "all events of a call are appended, or none"
    assert {letter.value for letter in dead_letters(log)} == {b"a", b"b"}
    assert all("urls.discovered is too large" in letter.reason for letter in dead_letters(log))


@pytest.mark.parametrize("error", [NoSpace("the disk is full"), BadSettings("what?")])
async def test_gossamer_error_stops_the_service(
    start: Start, manual: Manual, log: SqliteLog, error: Exception
) -> None:
    append_seeds(log, "a", "b", "c")
    with pytest.raises(type(error), match=str(error)):
        async with start(manual) as runner:
            await until(lambda: len(manual.in_progress()) == 3)
            manual.finish("a")
            await until(lambda: seed_lag(log) == 2)
            manual.fail("b", error)
            await until(lambda: not manual._open)
    assert runner and seed_lag(log) == 2
    assert dead_letters(log) == []


async def test_failing_control_event_becomes_dead_letter(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    log.append([Message("control", "other", b"garbage", "other")])
    log.append([encode(CrawlDefined(at=0.0, scope="broken", max_depth=1))])
    append_seeds(log, "a")
    async with start(manual):
        await until(lambda: manual.in_progress() == {"a"})
        await until(lambda: len(dead_letters(log)) == 2)
    assert {letter.topic for letter in dead_letters(log)} == {"control"}
