"""The loop for work that runs many records at once."""

import asyncio
from functools import partial

import pytest

from gossamer import worker
from gossamer.codec import encode
from gossamer.events import CrawlDefined, Event
from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.worker import Emit
from tests.kernel.conftest import Start
from tests.kernel.hands import Hands, Once, found, rest, sow, until
from tests.kernel.machines import discovered


async def test_answers_come_out_when_the_log_moves_past_what_they_answer(
    start: Start, hands: Hands, log: SqliteLog
) -> None:
    sow(log, "a", "b", "c", "d")
    async with start(hands):
        await until(lambda: len(hands.open()) == 4)
        hands.done("c", "b")
        await until(lambda: hands.open() == {"a", "d"})
        assert (found(log), rest(log)) == ([], 4), "the first is not done"
        hands.done("a")
        await until(lambda: rest(log) == 1)
        assert sorted(found(log)) == ["a", "b", "c"]
        hands.done("d")
        await until(lambda: rest(log) == 0)
    assert sorted(found(log)) == ["a", "b", "c", "d"]


async def test_nothing_is_said_twice_of_what_is_done_twice(start: Start, log: SqliteLog) -> None:
    sow(log, "a", "b", "c")
    first, second = Hands(log), Hands(log)
    async with start(first):
        await until(lambda: len(first.open()) == 3)
        first.done("c", "b")
        await until(lambda: not first._open.keys() & {"b", "c"})
    async with start(second):
        await until(lambda: len(second.open()) == 3)
        second.done("a", "b", "c")
        await until(lambda: rest(log) == 0)
    assert sorted(found(log)) == ["a", "b", "c"]


async def test_answers_of_work_that_begins_once_come_out_as_they_come(
    start: Start, log: SqliteLog
) -> None:
    sow(log, "a", "b", "c")
    job = Once(log)
    async with start(job):
        await until(lambda: len(job.open()) == 3)
        job.done("c", "b")
        await until(lambda: sorted(found(log)) == ["b", "c"])
        job.done("a")
        await until(lambda: len(found(log)) == 3)


async def test_one_that_takes_long_does_not_let_answers_pile_up(
    start: Start, hands: Hands, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "KEPT", 5)
    sow(log, *(f"{number:02}" for number in range(40)))

    def all_but_the_first_done() -> bool:
        hands.done(*(hands.open() - {"00"}))
        return len(hands.begun) > 5

    async with start(hands, limit=3):
        await until(all_but_the_first_done)
        log.append([encode(CrawlDefined(at=0.0, scope=scope, max_depth=1)) for scope in "xy"])
        await until(lambda: all_but_the_first_done() and bool(hands.heard))
        assert len(hands.begun) <= 5 + 3
        hands.done("00")
        await until(lambda: all_but_the_first_done() and rest(log) == 0)
    assert len(found(log)) == 40


async def test_no_more_than_the_limit_at_once(start: Start, hands: Hands, log: SqliteLog) -> None:
    sow(log, *(str(i) for i in range(30)))
    async with start(hands, limit=3):
        while len(found(log)) < 30:
            await until(lambda: bool(hands.open()) or len(found(log)) == 30)
            hands.done(*list(hands.open())[:2])
    assert hands.most == 3
    assert sorted(hands.begun) == sorted(str(i) for i in range(30))


async def test_the_limit_is_used_to_the_full(start: Start, hands: Hands, log: SqliteLog) -> None:
    sow(log, *"abcdef")
    async with start(hands, limit=4):
        await until(lambda: len(hands.open()) == 4)
        hands.done("b")
        await until(lambda: hands.open() == {"a", "c", "d", "e"})


async def test_the_log_moves_before_work_that_begins_once(start: Start, log: SqliteLog) -> None:
    job = Once(log)
    sow(log, *"abcde")
    async with start(job, limit=2):
        for url in "abcde":
            await until(partial(lambda wanted: wanted in job.open(), url))
            job.done(url)
    assert len(job.backlogs) == 5
    assert all(left <= 4 - i for i, left in enumerate(job.backlogs)), "moved past before begun"


async def test_other_work_is_begun_before_the_log_moves(
    start: Start, hands: Hands, log: SqliteLog
) -> None:
    sow(log, *"abc")
    async with start(hands):
        await until(lambda: len(hands.open()) == 3)
    assert hands.backlogs == [3, 3, 3]


async def test_nothing_is_begun_while_others_are_behind(
    start: Start, hands: Hands, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LOOK", 0.02)
    held, asked = [True], [0]

    def hold() -> bool:
        asked[0] += 1
        return held[0]

    async def turns(count: int) -> None:
        before = asked[0]
        await until(lambda: asked[0] > before + count)

    sow(log, *"abcdef")
    async with start(hands, 2, hold):
        await turns(3)
        assert hands.begun == []
        held[0] = False
        await until(lambda: len(hands.open()) == 2)
        held[0] = True
        await turns(3)
        hands.done("a", "b")
        await until(lambda: sorted(found(log)) == ["a", "b"])
        await turns(3)
        assert hands.begun == ["a", "b"], "polled already is not begun"
        held[0] = False
        await until(lambda: len(hands.begun) == 4)


async def test_a_stop_leaves_what_is_unfinished_to_the_next(start: Start, log: SqliteLog) -> None:
    sow(log, *"abcd")
    first = Hands(log)
    async with start(first, limit=3):
        await until(lambda: len(first.open()) == 3)
        first.done("a", "c")
        await until(lambda: rest(log) == 3)
    second = Hands(log)
    async with start(second):
        await until(lambda: second.open() == {"b", "c", "d"})
        second.done("b", "c", "d")
        await until(lambda: rest(log) == 0)


@pytest.mark.parametrize("kind", [Hands, Once])
async def test_what_was_done_when_it_was_stopped_is_done(
    start: Start, log: SqliteLog, kind: type[Hands]
) -> None:
    sow(log, *"ab")
    job = kind(log)
    async with start(job):
        await until(lambda: len(job.open()) == 2)
        job.done("a", "b")
        # No turn of the loop comes between the end of the work and the stop.
        while job._open:
            await asyncio.sleep(0)
    assert (sorted(found(log)), rest(log)) == (["a", "b"], 0)


async def test_control_is_heard_before_work_and_while_there_is_none(
    start: Start, hands: Hands, log: SqliteLog
) -> None:
    def define(scope: str) -> None:
        log.append([encode(CrawlDefined(at=0.0, scope=scope, max_depth=1))])

    define("first")
    sow(log, "a")
    async with start(hands, hold=lambda: not hands.heard):
        await until(lambda: hands.open() == {"a"})
        define("second")
        await until(lambda: hands.heard == ["first", "second"])


async def test_events_of_one_call_are_appended_together(
    start: Start, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Batches(Hands):
        async def work(self, event: Event, emit: Emit) -> None:
            for n in range(20):
                emit(*(discovered(f"{n}.{i}", 1.0) for i in range(5)))
                await asyncio.sleep(0)

    seen: list[list[str]] = []
    advance = log.append

    def append(messages: list[Message]) -> None:
        seen.append([message.key for message in messages])
        advance(messages)

    sow(log, "a")
    monkeypatch.setattr(log, "append", append)
    async with start(Batches(log)):
        await until(lambda: rest(log) == 0)
    assert len(found(log)) == 100
    assert all(len(batch) % 5 == 0 for batch in seen)
