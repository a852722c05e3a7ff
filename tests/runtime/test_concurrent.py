"""The runner for concurrent work, and how far it lets the log advance."""

import asyncio
from functools import partial
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import CrawlDefined, Event
from gossamer.log import Message, Record, partition_of
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime import concurrent, loop
from gossamer.runtime.concurrent import OffsetTracker
from gossamer.runtime.processor import Emitter
from gossamer.web.url import Site
from tests.runtime.conftest import Start
from tests.runtime.manual import Manual, ManualOnce, append_seeds, emitted_urls, seed_lag, until
from tests.runtime.processors import make_discovery
from tests.support.metrics import growth


async def test_messages_are_appended_when_the_log_advances_past_their_record(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    append_seeds(log, "a", "b", "c", "d")
    async with start(manual):
        await until(lambda: len(manual.in_progress()) == 4)
        manual.finish("c", "b")
        await until(lambda: manual.in_progress() == {"a", "d"})
        assert (emitted_urls(log), seed_lag(log)) == ([], 4), "the first is not done"
        manual.finish("a")
        await until(lambda: seed_lag(log) == 1)
        assert sorted(emitted_urls(log)) == ["a", "b", "c"]
        manual.finish("d")
        await until(lambda: seed_lag(log) == 0)
    assert sorted(emitted_urls(log)) == ["a", "b", "c", "d"]


async def test_control_topic_is_read_before_the_first_record(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    crawls = (CrawlDefined(at=0.0, crawl=f"{n}", scope=f"{n}", max_depth=1) for n in range(1200))
    log.append([encode(crawl) for crawl in crawls])
    append_seeds(log, "a")
    async with start(manual):
        await until(lambda: bool(manual.started))
        assert len(manual.controls) == 1200


async def test_steps_with_an_advance_are_timed(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    steps = growth("gossamer_step_seconds_count", service="dedup")
    append_seeds(log, "a", "b", "c")
    async with start(manual):
        await until(lambda: len(manual.in_progress()) == 3)
        assert steps() == 0, "no offset is committed yet"
        for count, url in enumerate("abc", 1):
            manual.finish(url)
            await until(lambda waiting=3 - count: seed_lag(log) == waiting)  # type: ignore[misc]
    assert steps() == 3


async def test_repeated_work_appends_messages_once(start: Start, log: SqliteLog) -> None:
    append_seeds(log, "a", "b", "c")
    first, second = Manual(log), Manual(log)
    async with start(first):
        await until(lambda: len(first.in_progress()) == 3)
        first.finish("c", "b")
        await until(lambda: not first._open.keys() & {"b", "c"})
    async with start(second):
        await until(lambda: len(second.in_progress()) == 3)
        second.finish("a", "b", "c")
        await until(lambda: seed_lag(log) == 0)
    assert sorted(emitted_urls(log)) == ["a", "b", "c"]


async def test_messages_of_unrepeatable_work_are_appended_at_once(
    start: Start, log: SqliteLog
) -> None:
    append_seeds(log, "a", "b", "c")
    processor = ManualOnce(log)
    async with start(processor):
        await until(lambda: len(processor.in_progress()) == 3)
        processor.finish("c", "b")
        await until(lambda: sorted(emitted_urls(log)) == ["b", "c"])
        processor.finish("a")
        await until(lambda: len(emitted_urls(log)) == 3)


async def test_slow_record_limits_waiting_results(
    start: Start, manual: Manual, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrent, "MAX_HELD_OUTPUTS", 5)
    append_seeds(log, *(f"{number:02}" for number in range(40)))

    def others_are_done() -> bool:
        manual.finish(*(manual.in_progress() - {"00"}))
        return len(manual.started) > 5

    async with start(manual, limit=3):
        await until(others_are_done)
        log.append([encode(CrawlDefined(at=0.0, scope=scope, max_depth=1)) for scope in "xy"])
        await until(lambda: others_are_done() and bool(manual.controls))
        assert len(manual.started) <= 5 + 3
        manual.finish("00")
        await until(lambda: others_are_done() and seed_lag(log) == 0)
    assert len(emitted_urls(log)) == 40


async def test_concurrency_stays_within_the_limit(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    append_seeds(log, *(str(i) for i in range(30)))
    async with start(manual, limit=3):
        while len(emitted_urls(log)) < 30:
            await until(lambda: bool(manual.in_progress()) or len(emitted_urls(log)) == 30)
            manual.finish(*list(manual.in_progress())[:2])
    assert manual.most == 3
    assert sorted(manual.started) == sorted(str(i) for i in range(30))


async def test_concurrency_reaches_the_limit(start: Start, manual: Manual, log: SqliteLog) -> None:
    append_seeds(log, *"abcdef")
    async with start(manual, limit=4):
        await until(lambda: len(manual.in_progress()) == 4)
        manual.finish("b")
        await until(lambda: manual.in_progress() == {"a", "c", "d", "e"})


async def test_log_advances_before_unrepeatable_work_starts(start: Start, log: SqliteLog) -> None:
    processor = ManualOnce(log)
    append_seeds(log, *"abcde")
    async with start(processor, limit=2):
        for url in "abcde":
            await until(partial(lambda wanted: wanted in processor.in_progress(), url))
            processor.finish(url)
    assert len(processor.lags) == 5
    lags = enumerate(processor.lags)
    assert all(lag <= 4 - i for i, lag in lags), "its offset was committed before it began"


async def test_repeatable_work_starts_before_the_log_advances(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    append_seeds(log, *"abc")
    async with start(manual):
        await until(lambda: len(manual.in_progress()) == 3)
    assert manual.lags == [3, 3, 3]


async def test_no_work_starts_while_consumers_lag(
    start: Start, manual: Manual, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HOLD_INTERVAL", 0.02)
    held, asked, log_partitions = [True], [0], frozenset(range(log.partitions))

    def hold() -> frozenset[int]:
        asked[0] += 1
        return log_partitions if held[0] else frozenset()

    async def turns(count: int) -> None:
        before = asked[0]
        await until(lambda: asked[0] > before + count)

    append_seeds(log, *"abcdef")
    async with start(manual, 2, hold):
        await turns(3)
        assert manual.started == []
        held[0] = False
        await until(lambda: len(manual.in_progress()) == 2)
        held[0] = True
        await turns(3)
        manual.finish("a", "b")
        await until(lambda: sorted(emitted_urls(log)) == ["a", "b"])
        await turns(3)
        assert manual.started == ["a", "b"], "a polled record does not begin"
        held[0] = False
        await until(lambda: len(manual.started) == 4)


async def test_throttled_partition_does_not_delay_others(
    start: Start, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HOLD_INTERVAL", 0.0)
    monkeypatch.setattr(concurrent, "MAX_POLL_RECORDS", 3)
    processor = ManualOnce(log)
    held = [{partition_of("slow", log.partitions)}]

    def append_at(site: str, *urls: str) -> None:
        log.append(Message("seeds", "k", url.encode(), site) for url in urls)

    assert partition_of("fast", log.partitions) not in held[0]
    append_at("slow", *(f"slow {n}" for n in range(8)))
    async with start(processor, 100, lambda: held[0]):
        for url in "ab":
            append_at("fast", url)
            await until(partial(lambda wanted: wanted in processor.in_progress(), url))
            processor.finish(url)
        await until(lambda: emitted_urls(log) == ["a", "b"])
        assert (processor.started, seed_lag(log)) == (["a", "b"], 8), "no offset is committed"
        held[0] = set()
        await until(lambda: len(processor.in_progress()) == 8)
    assert processor.started[2:] == [f"slow {n}" for n in range(8)], "in their order"


async def test_stop_leaves_unfinished_work_to_the_next_reader(start: Start, log: SqliteLog) -> None:
    append_seeds(log, *"abcd")
    first = Manual(log)
    async with start(first, limit=3):
        await until(lambda: len(first.in_progress()) == 3)
        first.finish("a", "c")
        await until(lambda: seed_lag(log) == 3)
    second = Manual(log)
    async with start(second):
        await until(lambda: second.in_progress() == {"b", "c", "d"})
        second.finish("b", "c", "d")
        await until(lambda: seed_lag(log) == 0)


@pytest.mark.parametrize("kind", [Manual, ManualOnce])
async def test_stop_advances_past_finished_work(
    start: Start, log: SqliteLog, kind: type[Manual]
) -> None:
    append_seeds(log, *"ab")
    processor = kind(log)
    async with start(processor):
        await until(lambda: len(processor.in_progress()) == 2)
        processor.finish("a", "b")
        # No turn of the loop comes between the end of the work and the stop.
        while processor._open:
            await asyncio.sleep(0)
    assert (sorted(emitted_urls(log)), seed_lag(log)) == (["a", "b"], 0)


async def test_control_events_are_applied_before_and_without_work(
    start: Start, manual: Manual, log: SqliteLog
) -> None:
    def define(scope: str) -> None:
        log.append([encode(CrawlDefined(at=0.0, scope=scope, max_depth=1))])

    define("first")
    append_seeds(log, "a")
    async with start(manual, hold=lambda: set() if manual.controls else {*range(4)}):
        await until(lambda: manual.in_progress() == {"a"})
        define("second")
        await until(lambda: manual.controls == ["first", "second"])


async def test_events_of_one_emit_call_are_appended_together(
    start: Start, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Batches(Manual):
        def announce(self, event: Event, offset: int) -> tuple[Event, ...]:
            return ()

        async def work(self, event: Event, emit: Emitter) -> None:
            for n in range(20):
                emit(*(make_discovery(Site(f"{n}.{i}"), 1.0) for i in range(5)))
                await asyncio.sleep(0)

    seen: list[list[str]] = []
    advance = log.append

    def append(messages: list[Message]) -> None:
        seen.append([message.key for message in messages])
        advance(messages)

    append_seeds(log, "a")
    monkeypatch.setattr(log, "append", append)
    async with start(Batches(log)):
        await until(lambda: seed_lag(log) == 0)
    assert len(emitted_urls(log)) == 100
    assert all(len(batch) % 5 == 0 for batch in seen)


def record(offset: int, partition: int = 0, topic: str = "t") -> Record:
    return Record(topic, partition, offset, "", b"")


steps = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), unique=True, max_size=40)
"""Places, which are a partition of a topic, and offsets, which may have gaps."""


@given(steps, st.data())
def test_tracker_advances_past_finished_records_only(
    places: list[tuple[int, int]], data: st.DataObject
) -> None:
    begun = [record(offset, place % 2, "tu"[place // 2]) for place, offset in sorted(places)]
    tracker, finished, passed = OffsetTracker(), set[Record](), dict[tuple[str, int], int]()

    def place(one: Record) -> tuple[str, int]:
        return one.topic, one.partition

    def follow() -> None:
        for one in tracker.pop_completed():
            assert passed.get(place(one), -1) < one.offset, "a record is passed once"
            passed[place(one)] = one.offset

    for one in begun:
        tracker.begin(one)
    for one in data.draw(st.permutations(begun)):
        tracker.complete(one)
        finished.add(one)
        if data.draw(st.booleans()):
            follow()
            for other in set(begun) - finished:
                assert passed.get(place(other), -1) < other.offset
    follow()
    assert passed == {at: max(r.offset for r in part) for at, part in groupby(begun, place)}


@pytest.mark.parametrize("count", [1, 1000])
def test_records_start_while_others_complete(count: int) -> None:
    tracker = OffsetTracker()
    for offset in range(count):
        tracker.begin(record(offset + 1))
        if offset:
            tracker.complete(record(offset))
            assert tracker.pop_completed() == [record(offset)]


def test_record_of_lost_partition_is_not_advanced_past() -> None:
    tracker = OffsetTracker()
    tracker.begin(record(0, partition=1))
    tracker.release(frozenset({0}))
    tracker.complete(record(0, partition=1))
    assert tracker.pop_completed() == [], "another member commits that partition now"
