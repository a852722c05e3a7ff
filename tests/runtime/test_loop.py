"""The loop that drives a processor along the log."""

import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gossamer import clock
from gossamer.errors import NoSpace, Poison, Unavailable
from gossamer.events import CrawlDefined, Event, SeedAdded
from gossamer.events.topics import PAGES, SEEDS
from gossamer.log import MAX_POLL_RECORDS, Message, Reader, Record, Tail, partition_of
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime import loop as loop_module
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Key
from gossamer.runtime.sequential import FIRST_STEP, sequential_loop
from gossamer.sqlite import Database
from gossamer.store import Row, Store
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site, canonicalize
from tests.runtime.manual import append_seeds, dead_letters, emitted_urls
from tests.runtime.processors import Discoverer, SeenRow, drain, make_discovery
from tests.support.metrics import growth
from tests.support.read_ahead import ReadAheadStore

ROOT = Path(__file__).resolve().parents[2]
DISCOVERED, DEAD = "urls.discovered", "dead.letters"


@pytest.fixture
def discoverer(store: SqliteStore) -> Discoverer:
    return Discoverer(store)


@pytest.fixture
def runner(discoverer: Discoverer, log: SqliteLog, store: SqliteStore) -> Loop:
    return sequential_loop(discoverer, log, store, lambda: 100.0)


def test_step_appends_messages_and_advances(runner: Loop, log: SqliteLog) -> None:
    append_seeds(log, "a", "b")
    assert runner.step() is True
    assert sorted(emitted_urls(log)) == ["a", "b"]
    assert log.lag("dedup", "seeds") == 0
    assert runner.step() is False
    runner.close()


def test_throttled_partition_is_not_polled(
    discoverer: Discoverer, log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_module, "HOLD_INTERVAL", 0.0)
    at = partition_of("same place, so in this order", log.partitions)
    held = {at}
    runner = sequential_loop(discoverer, log, store, lambda: 100.0, hold=lambda: held)
    append_seeds(log, "a", "b")
    for _ in range(3):
        assert runner.step() is False
    elsewhere = next(f"{n}" for n in range(9) if partition_of(f"{n}", log.partitions) != at)
    log.append([Message("seeds", "k", b"c", elsewhere)])
    assert runner.step() is True and emitted_urls(log) == ["c"], "others go on"
    held.clear()
    assert runner.step() is True
    assert sorted(emitted_urls(log)) == ["a", "b", "c"]


def test_steps_with_an_advance_are_timed(runner: Loop, log: SqliteLog) -> None:
    steps = growth("gossamer_step_seconds_count", service="dedup")
    append_seeds(log, "a", "b")
    assert [runner.step() for _ in range(3)] == [True, False, False]
    assert steps() == 1


class Awaiting(Discoverer):
    """Records when it has caught up."""

    awaits = (SEEDS,)

    def finish_catching_up(self, partitions: frozenset[int], now: float) -> None:
        seeds = sum(call.startswith("seed ") for call in self.calls)
        self.calls += [f"{number} after {seeds}" for number in sorted(partitions)]


def test_processor_is_called_when_caught_up(log: SqliteLog, store: SqliteStore) -> None:
    append_seeds(log, *(f"{n}" for n in range(700)))
    [at] = {record.partition for record in drain(log.tail(["seeds"]))}
    awaiting = Awaiting(store)
    runner = sequential_loop(awaiting, log, store, lambda: 100.0)
    caught_up: list[list[str]] = []
    while runner.step():
        append_seeds(log, f"fresh {len(caught_up)}")
        caught_up.append([call for call in awaiting.calls if " after " in call])
        if len(caught_up) == 10:
            break
    others = [f"{number} after {FIRST_STEP}" for number in range(4) if number != at]
    assert caught_up[0] == others
    # Newer records do not count: with faster writers it would never catch up.
    assert caught_up[5] == caught_up[-1] == [*others, f"{at} after 704"]


def test_processor_without_lag_is_caught_up_at_once(log: SqliteLog, store: SqliteStore) -> None:
    awaiting = Awaiting(store)
    sequential_loop(awaiting, log, store, lambda: 100.0).step()
    told = [call for call in awaiting.calls if " after " in call]
    assert told == [f"{number} after 0" for number in range(4)]


def test_partitions_precede_control_events_and_records(
    runner: Loop, discoverer: Discoverer, log: SqliteLog
) -> None:
    append_seeds(log, "a", "b")
    log.append([encode(CrawlDefined(at=0.0, scope="any()", max_depth=1))])
    runner.step()
    assert discoverer.calls == ["assign 4", "settle", "control any()", "seed a", "seed b", "settle"]


def test_control_topic_is_read_before_the_first_record(
    runner: Loop, discoverer: Discoverer, log: SqliteLog
) -> None:
    crawls = (CrawlDefined(at=0.0, crawl=f"{n}", scope=f"{n}", max_depth=1) for n in range(1200))
    log.append([encode(crawl) for crawl in crawls])
    append_seeds(log, "a")
    runner.step()
    assert discoverer.calls.index("seed a") > discoverer.calls.index("control 1199")


class GivenLater:
    """A reader whose partitions are assigned in a poll."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self.partitions = reader, frozenset[int]()
        self.advance, self.close = reader.advance, reader.close

    def poll(self, timeout: float, *how: Any) -> Sequence[Record]:
        self.partitions = self._reader.partitions
        return self._reader.poll(timeout, *how)


class Slow(Discoverer):
    """An operator writes a control event during its takeover."""

    log: SqliteLog

    def assign(self, partitions: frozenset[int], now: float) -> None:
        super().assign(partitions, now)
        if partitions:
            self.log.append([encode(CrawlDefined(at=0.0, scope="any()", max_depth=1))])


class Background:
    """A tail whose records arrive in the background, as late as its promises permit."""

    def __init__(self, tail: Tail) -> None:
        self._tail, self._arrived = tail, list[Record]()
        self.find_end()

    def poll(self, timeout: float) -> list[Record]:
        found, self._arrived = self._arrived, []
        return found

    def find_end(self) -> None:
        while records := self._tail.poll(0.0):
            self._arrived += records

    def close(self) -> None:
        self._tail.close()


def test_control_events_during_takeover_are_applied_first(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(store)
    slow.log, reader, tail = log, log.reader, log.tail
    monkeypatch.setattr(log, "reader", lambda *given: GivenLater(reader(*given)))
    monkeypatch.setattr(log, "tail", lambda *given: Background(tail(*given)))
    runner = sequential_loop(slow, log, store, lambda: 100.0)
    append_seeds(log, "a")
    while runner.step():
        pass
    said = [call for call in slow.calls if call != "settle"]
    assert said == ["assign 0", "assign 4", "control any()", "seed a"]


def test_crawl_is_defined_before_its_first_event_is_handled(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = log.tail
    monkeypatch.setattr(log, "tail", lambda *given: Background(tail(*given)))
    discoverer = Discoverer(store)
    runner = sequential_loop(discoverer, log, store, lambda: 100.0)
    runner.step()
    for crawl in ("news", "shops"):
        log.append([encode(CrawlDefined(at=0.0, crawl=crawl, scope=f"{crawl}()", max_depth=1))])
        log.append([encode(SeedAdded(url=f"of {crawl}", crawl=crawl))])
        runner.step()
    said = [call for call in discoverer.calls if call.startswith(("control", "seed"))]
    assert said == ["control news()", "seed of news", "control shops()", "seed of shops"]


def test_every_process_reads_control_topic_from_the_start(
    log: SqliteLog, store: SqliteStore
) -> None:
    for scope in ("old()", "any()"):
        log.append([encode(CrawlDefined(at=0.0, scope=scope, max_depth=1))])
    for _ in range(2):
        discoverer = Discoverer(store)
        runner = sequential_loop(discoverer, log, store, lambda: 1.0)
        runner.step()
        assert "control any()" in discoverer.calls and "control old()" not in discoverer.calls
        log.append([encode(CrawlDefined(at=0.0, scope="new()", max_depth=1))])
        runner.step()
        assert discoverer.calls[-1] == "control new()"
        log.append([encode(CrawlDefined(at=0.0, scope="any()", max_depth=1))])


def test_unreadable_record_becomes_dead_letter_and_others_continue(
    runner: Loop, log: SqliteLog
) -> None:
    append_seeds(log, "a", b'{"no": "seed"}', b"\xff\0", "b")
    runner.step()
    assert emitted_urls(log) == ["a", "b"]
    first, second = dead_letters(log)
    assert (first.value, second.value) == (b'{"no": "seed"}', b"\xff\0")
    assert (first.service, first.topic, first.key, first.at) == ("dedup", "seeds", "k", 100.0)
    assert (first.offset, second.offset) == (1, 2)
    assert "url" in first.reason and "utf-8" in second.reason
    assert log.lag("dedup", "seeds") == 0


class Fussy(Discoverer):
    """Fails at some seeds, halfway through handling."""

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        yield make_discovery(Site("half"), now)
        match event:
            case SeedAdded(url="bad"):
                raise ValueError("not this one")
            case SeedAdded(url="worse"):
                canonicalize("javascript:1")
            case SeedAdded(url="worst"):
                raise NoSpace("the disk is full")
        yield make_discovery(Site("whole"), now)


@pytest.fixture
def fussy(log: SqliteLog, store: SqliteStore) -> Loop:
    return sequential_loop(Fussy(store), log, store, lambda: 100.0)


def test_failing_handler_writes_dead_letter_with_reason(fussy: Loop, log: SqliteLog) -> None:
    append_seeds(log, "a", "bad", "worse", "b")
    fussy.step()
    assert sorted(emitted_urls(log)) == ["half", "half", "whole", "whole"], "no partial results"
    bad, worse = dead_letters(log)
    assert (bad.value, bad.reason) == (b"bad", "ValueError: not this one")
    assert worse.value == b"worse" and "'javascript:1' is not a URL to visit" in worse.reason
    assert log.lag("dedup", "seeds") == 0


def test_record_with_too_large_result_becomes_dead_letter(
    log: SqliteLog, store: SqliteStore
) -> None:
    runner = sequential_loop(Discoverer(store), log, store, lambda: 100.0)
    large = "x" * (PAGES.limit // 2)
    append_seeds(log, "a", large, "b")
    runner.step()
    runner.step()
    assert sorted(emitted_urls(log)) == ["a", "b"]
    (letter,) = dead_letters(log)
    assert letter.value == large.encode()
    assert "an event for urls.discovered is too large" in letter.reason
    assert log.lag("dedup", "seeds") == 0


def test_tombstone_on_control_topic_is_skipped(
    runner: Loop, discoverer: Discoverer, log: SqliteLog
) -> None:
    log.append([Message("control", "default", b"", "default")])
    append_seeds(log, "a")
    runner.step()
    assert (emitted_urls(log), dead_letters(log)) == (["a"], [])


def test_failure_without_record_stops_the_loop_without_advance(fussy: Loop, log: SqliteLog) -> None:
    append_seeds(log, "a", "worst", "b")
    with pytest.raises(NoSpace, match="the disk is full"):
        fussy.step()
    assert log.lag("dedup", "seeds") == 3
    assert emitted_urls(log) == [] and dead_letters(log) == []


def test_processor_is_woken_when_due(discoverer: Discoverer, log: SqliteLog) -> None:
    now = [100.0]
    store = SqliteStore(Database(":memory:"))
    runner = sequential_loop(discoverer, log, store, lambda: now[0])
    assert runner.due() is None
    discoverer.at = 105.0
    assert runner.step() is False
    assert runner.due() == 105.0
    now[0] = 105.0
    assert runner.step() is True
    assert emitted_urls(log) == ["wake"]
    assert "wake 105" in discoverer.calls
    assert runner.step() is False


def test_processor_is_not_woken_in_takeover_step(
    runner: Loop, discoverer: Discoverer, log: SqliteLog
) -> None:
    discoverer.at = 0.0
    append_seeds(log, "a")
    runner.step()
    assert emitted_urls(log) == ["a"]
    runner.step()
    assert emitted_urls(log) == ["a", "wake"]


def test_state_is_settled_before_the_log_advances(
    runner: Loop, discoverer: Discoverer, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_seeds(log, "a")
    seen: list[int] = []
    monkeypatch.setattr(discoverer, "settle", lambda: seen.append(log.lag("dedup", "seeds")))
    runner.step()
    assert seen == [1, 1]
    assert log.lag("dedup", "seeds") == 0


@pytest.mark.slow
def test_step_waits_for_records(runner: Loop, log: SqliteLog, database: Database) -> None:
    runner.step()
    runner.step()
    code = (
        "import sys; from gossamer.sqlite import Database; from gossamer.log import Message;"
        "from gossamer.log.sqlite import SqliteLog;"
        "SqliteLog(Database(sys.argv[1])).append([Message('seeds', 'k', b'late', 'k')])"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(database.path)], cwd=ROOT) as other:
        while not runner.step(60.0):
            assert other.poll() is None or log.lag("dedup", "seeds")
    assert emitted_urls(log) == ["late"]


class Hours(Discoverer):
    """Advances the clock by *seconds* for each record, and emits as many events as allowed."""

    now, seconds, steps = 0.0, 0.0, 0

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        self.now += self.seconds
        return ()

    def wake(self, now: float, most: int = 0) -> Iterable[Event]:
        self.at = None
        self.calls.append(f"wake {most}")
        return ()


@pytest.fixture
def hours(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> Hours:
    made = Hours(store)
    monkeypatch.setattr(clock, "steady", lambda: made.now)
    return made


def lengths(loop: Loop, hours: Hours) -> list[float]:
    durations, before = list[float](), hours.now
    while loop.step():
        durations.append(hours.now - before)
        before = hours.now
    return durations


def test_step_size_shrinks_with_slow_records(
    hours: Hours, log: SqliteLog, store: SqliteStore
) -> None:
    loop, hours.seconds = sequential_loop(hours, log, store, lambda: 100.0, limit=2.0), 0.25
    append_seeds(log, *map(str, range(100)))
    first, *others = lengths(loop, hours)
    assert first == FIRST_STEP * hours.seconds
    assert max(others) == 2.0, "as it was set"
    hours.seconds = 30.0
    append_seeds(log, *map(str, range(20)))
    assert lengths(loop, hours)[-10:] == [30.0] * 10, "one record is the least"


def test_step_size_grows_with_quick_records(
    hours: Hours, log: SqliteLog, store: SqliteStore
) -> None:
    loop, hours.seconds = sequential_loop(hours, log, store, lambda: 100.0), 0.0001
    append_seeds(log, *map(str, range(4 * MAX_POLL_RECORDS)))
    assert max(lengths(loop, hours)) == pytest.approx(MAX_POLL_RECORDS * hours.seconds)


def test_large_records_after_many_small_ones_do_not_make_a_long_step(
    hours: Hours, log: SqliteLog, store: SqliteStore
) -> None:
    """For example, a sitemap of 50,000 hosts after ordinary links."""
    loop, hours.seconds = sequential_loop(hours, log, store, lambda: 100.0), 0.0001
    append_seeds(log, *map(str, range(4 * MAX_POLL_RECORDS)))
    lengths(loop, hours)
    hours.seconds = 0.1
    append_seeds(log, *(f"{number} {'x' * 60_000}" for number in range(100)))
    large = lengths(loop, hours)
    assert sum(large) == pytest.approx(100 * hours.seconds)
    assert max(large) <= 1.0
    hours.seconds = 0.0001
    append_seeds(log, *(f"{number} {'x' * 60_000}" for number in range(400)))
    assert max(lengths(loop, hours)) > 50 * hours.seconds, "quick large records share a step"


def test_due_work_is_bounded_like_records(hours: Hours, log: SqliteLog, store: SqliteStore) -> None:
    loop, hours.seconds = sequential_loop(hours, log, store, lambda: 100.0), 1.0
    append_seeds(log, *map(str, range(FIRST_STEP)))
    loop.step()
    hours.at = 50.0
    loop.step()
    assert hours.calls[-2:] == ["wake 1", "settle"]


class Reading(Discoverer):
    """Needs a row for each seed."""

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows of the seeds. Fail for an invalid one."""
        seeds = [event for event in events if isinstance(event, SeedAdded)]
        yield [(SeenRow, seed.url.removeprefix("!"), "") for seed in seeds]
        assert not any(seed.url.startswith("!") for seed in seeds)

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        if isinstance(event, SeedAdded):
            self._seen.get(event.url)
        yield from super().handle(event, now)


class Away(ReadAheadStore):
    """Is unavailable once it *is_away*."""

    is_away = False

    def table(self, row: type[Row]) -> Any:
        if self.is_away:
            raise Unavailable("Cassandra is away")
        return super().table(row)


def test_rows_are_read_together_and_store_outage_prevents_advance(log: SqliteLog) -> None:
    store = Away()
    loop = sequential_loop(Reading(store), log, store, lambda: 100.0)
    loop.step()
    store.alone.clear()  # The reads of a takeover.
    append_seeds(log, "a", "b")
    loop.step()
    assert emitted_urls(log) == ["a", "b"]
    assert not store.alone
    store.is_away = True
    append_seeds(log, "c")
    with pytest.raises(Unavailable):
        loop.step()
    assert emitted_urls(log) == ["a", "b"], "no offset is committed"


def test_failing_read_ahead_falls_back_to_single_reads(log: SqliteLog) -> None:
    store = ReadAheadStore()
    loop = sequential_loop(Reading(store), log, store, lambda: 100.0)
    append_seeds(log, "a", "!b")
    loop.step()
    assert emitted_urls(log) == ["a", "!b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "kills"),
    [
        pytest.param("handle", (1, 2, 3, 150, 2500, 1, 1500), marks=pytest.mark.long),
        ("settle", (1, 2, 3, 1, 2, 3)),
    ],
)
def test_killed_process_loses_and_repeats_nothing(
    log: SqliteLog, database: Database, what: str, kills: tuple[int, ...]
) -> None:
    urls = [f"u{i}" for i in range(4500)]
    log.append(Message("seeds", url, url.encode(), url) for url in urls)
    module = [sys.executable, "-m", "tests.runtime.processors", str(database.path), what]
    seen = SqliteStore(database).table(SeenRow)
    for most in (*kills, 10_000):
        end = subprocess.run([*module, str(most)], cwd=ROOT).returncode
        assert end == (0 if most == 10_000 else -signal.SIGKILL)
        answered = emitted_urls(log)
        assert len(answered) == len(set(answered)) == len(urls) - log.lag("dedup", "seeds")
        assert sorted(answered) == sorted(url for url in urls if seen.get(url))
    assert sorted(answered) == sorted(urls)
    assert drain(log.tail(["seeds"])) == []


class Careless(Discoverer):
    """Changes store and memory before it fails."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.known: list[str] = []

    def restart(self, partitions: frozenset[int], now: float) -> None:
        self.known.clear()

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        assert isinstance(event, SeedAdded)
        self.known.append(event.url)
        self._seen.put(SeenRow(event.url))
        if event.url.startswith("bad"):
            raise ValueError("not this one")
        if event.url.startswith("large"):
            return [make_discovery(Site("x" * PAGES.limit), now)]
        return [make_discovery(Site(event.url), now)]


@pytest.mark.parametrize("bad", ["bad", "large"])
def test_handler_failing_halfway_leaves_no_effects(
    log: SqliteLog, store: SqliteStore, bad: str
) -> None:
    careless = Careless(store)
    append_seeds(log, "a", f"{bad} 1", b"\xff", "b", f"{bad} 2", "c")
    runner = sequential_loop(careless, log, store, lambda: 100.0)
    while runner.step():
        pass
    assert sorted(emitted_urls(log)) == careless.known == ["a", "b", "c"]
    seen = store.table(SeenRow)
    assert [seen.get(url) is not None for url in ("a", f"{bad} 1", "b", f"{bad} 2", "c")] == [
        True, False, True, False, True,
    ]  # fmt: skip
    assert sorted(letter.offset for letter in dead_letters(log)) == [1, 2, 4]


class Waking(Discoverer):
    """Emits a too large event, or fails, when it is woken."""

    def __init__(self, store: Store, error: Exception | None = None) -> None:
        super().__init__(store)
        self.at, self._error = 0.0, error

    def wake(self, now: float, most: int = 0) -> Iterable[Event]:
        self.at = None
        self._seen.put(SeenRow("woken"))
        yield make_discovery(Site("x" * PAGES.limit), now)
        if self._error:
            raise self._error
        yield make_discovery(Site("small"), now)


def test_too_large_event_of_wake_is_dropped_and_counted(log: SqliteLog, store: SqliteStore) -> None:
    dropped = growth("gossamer_dead_letters_total", service="dedup")
    runner = sequential_loop(Waking(store), log, store, lambda: 1.0)
    runner.step()
    runner.step()
    assert emitted_urls(log) == ["small"]
    assert dropped() == 1


@pytest.mark.parametrize("error", [ValueError("a bug"), Poison("whose record?")])
def test_error_in_wake_stops_the_loop_before_writes(
    log: SqliteLog, store: SqliteStore, error: Exception
) -> None:
    runner = sequential_loop(Waking(store, error), log, store, lambda: 1.0)
    runner.step()
    with pytest.raises(type(error)):
        runner.step()
    assert emitted_urls(log) == []
    store.discard()
    assert store.table(SeenRow).get("woken") is None
