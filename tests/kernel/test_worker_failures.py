"""What becomes of records that break the work, or cannot be read at all."""

import pytest

from gossamer.codec import encode
from gossamer.errors import BadSettings, NoSpace, Poison
from gossamer.events import CrawlDefined, Event
from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.topics import LIMIT
from gossamer.worker import Emit
from tests.kernel.conftest import Start
from tests.kernel.hands import Hands, Once, found, letters, rest, sow, until
from tests.kernel.machines import discovered

LARGE = "x" * LIMIT


async def test_what_cannot_be_read_is_buried_and_the_log_moves(
    start: Start, hands: Hands, log: SqliteLog
) -> None:
    sow(log, b"\xff", "a")
    async with start(hands):
        await until(lambda: hands.open() == {"a"})
        hands.done("a")
        await until(lambda: rest(log) == 0)
    (letter,) = letters(log)
    assert (letter.value, letter.topic, letter.at) == (b"\xff", "seeds", 100.0)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("not this one"), "ValueError: not this one"),
        (TimeoutError(), "TimeoutError: "),
        (Poison("cannot be read"), "cannot be read"),
    ],
)
async def test_what_breaks_is_buried_with_the_reason(
    start: Start, hands: Hands, log: SqliteLog, error: Exception, reason: str
) -> None:
    sow(log, "a", "b")
    async with start(hands):
        await until(lambda: len(hands.open()) == 2)
        hands.broken("a", error)
        hands.done("b")
        await until(lambda: rest(log) == 0)
    (letter,) = letters(log)
    assert (letter.value, letter.reason) == (b"a", reason)
    assert found(log) == ["b"]


class Talker(Hands):
    """Says something small and something too large at once, when it is done."""

    async def work(self, event: Event, emit: Emit) -> None:
        """Say it."""
        await super().work(event, lambda *_: emit(discovered("a", 1.0), discovered(LARGE, 1.0)))


class TalkerOnce(Talker, Once):
    """The same, of a kind that must not be begun twice."""


@pytest.mark.parametrize("kind", [Talker, TalkerOnce])
async def test_a_record_whose_answer_is_too_large_is_buried_whole(
    start: Start, log: SqliteLog, kind: type[Hands]
) -> None:
    hands = kind(log)
    sow(log, "a", "b")
    async with start(hands):
        await until(lambda: len(hands.open()) == 2)
        hands.done("a", "b")
        await until(lambda: len(letters(log)) == 2)
    assert found(log) == [], "what is said at once is said whole or not at all"
    assert {letter.value for letter in letters(log)} == {b"a", b"b"}
    assert all("urls.discovered is too large" in letter.reason for letter in letters(log))


@pytest.mark.parametrize("error", [NoSpace("the disk is full"), BadSettings("what?")])
async def test_what_a_person_must_hear_stops_the_worker(
    start: Start, hands: Hands, log: SqliteLog, error: Exception
) -> None:
    sow(log, "a", "b", "c")
    with pytest.raises(type(error), match=str(error)):
        async with start(hands) as worker:
            await until(lambda: len(hands.open()) == 3)
            hands.done("a")
            await until(lambda: rest(log) == 2)
            hands.broken("b", error)
            await until(lambda: not hands._open)
    assert worker and rest(log) == 2
    assert letters(log) == []


async def test_control_that_cannot_be_read_or_heard_is_buried(
    start: Start, hands: Hands, log: SqliteLog
) -> None:
    log.append([Message("control", "other", b"garbage", "other")])
    log.append([encode(CrawlDefined(at=0.0, scope="broken", max_depth=1))])
    sow(log, "a")
    async with start(hands):
        await until(lambda: hands.open() == {"a"})
        await until(lambda: len(letters(log)) == 2)
    assert {letter.topic for letter in letters(log)} == {"control"}
