"""Records share advances under load, and a lone record is advanced at once."""

from collections.abc import Callable

import pytest

from gossamer import clock
from gossamer.log import MAX_POLL_RECORDS
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime import concurrent
from gossamer.runtime.health import Health, ObservedLog
from gossamer.runtime.process import MIN_STEP_INTERVAL, Backends, Process, run_processor
from gossamer.settings import Settings
from gossamer.store.sqlite import SqliteStore
from tests.runtime.conftest import Start
from tests.runtime.manual import Manual, ManualOnce, append_seeds, emitted_urls, seed_lag, until
from tests.runtime.processors import Discoverer
from tests.support.metrics import growth

SEED_INTERVAL = 0.01


def count_advances() -> Callable[[], float]:
    """Return a function that returns the number of advances since now."""
    return growth("gossamer_step_seconds_count", service="dedup")


class ArrivingSeeds:
    """The stop event of a process. During its waits a seed arrives every `SEED_INTERVAL` virtual
    seconds, up to *most* seeds."""

    def __init__(self, log: SqliteLog, most: int) -> None:
        self.now, self._log, self._most = 0.0, log, most

    def is_set(self) -> bool:
        return not self._most and not seed_lag(self._log)

    def wait(self, timeout: float) -> bool:
        self.now += timeout
        count = min(self._most, round(timeout / SEED_INTERVAL))
        self._most -= count
        append_seeds(self._log, *(f"{self.now}-{n}" for n in range(count)))
        return self.is_set()


def test_busy_processor_advances_in_groups(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, advances = ArrivingSeeds(log, 1000), count_advances()
    monkeypatch.setattr(clock, "steady", lambda: stop.now)
    append_seeds(log, "the first")
    health = Health("dedup", "grouped")
    running = Process("dedup", Settings(), health, stop)  # type: ignore[arg-type]
    run_processor(Backends(running, ObservedLog(log, health), store, "a fleet"), Discoverer(store))
    assert len(emitted_urls(log)) == 1001
    assert advances() == 1 + 1000 * SEED_INTERVAL / MIN_STEP_INTERVAL


def test_lagging_processor_does_not_pause(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = ArrivingSeeds(log, 0)
    monkeypatch.setattr(clock, "steady", lambda: stop.now)
    append_seeds(log, *(str(number) for number in range(3 * MAX_POLL_RECORDS)))
    running = Process("dedup", Settings(), Health("dedup", "behind"), stop)  # type: ignore[arg-type]
    run_processor(
        Backends(running, ObservedLog(log, running.health), store, "a fleet"), Discoverer(store)
    )
    assert not log.lag("dedup", "seeds")
    assert stop.now <= MIN_STEP_INTERVAL, "after the last of them alone"


async def test_lone_record_advances_as_soon_as_it_finishes(
    start: Start, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrent, "MIN_ADVANCE_INTERVAL", 1000.0)
    manual = ManualOnce(log)
    async with start(manual):
        for url in ("a", "b"):
            append_seeds(log, url)
            await until(lambda: bool(manual.in_progress()))
            manual.finish(url)
            await until(lambda: len(emitted_urls(log)) == len(manual.started))


async def test_records_that_finish_together_share_an_advance(
    start: Start, manual: Manual, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(clock, "steady", lambda: now[0])
    advances = count_advances()
    append_seeds(log, "a", "b", "c")
    async with start(manual):
        await until(lambda: len(manual.in_progress()) == 3)
        manual.finish("a")
        await until(lambda: seed_lag(log) == 2)
        manual.finish("b", "c")
        append_seeds(log, "d")
        now[0] += concurrent.MIN_ADVANCE_INTERVAL / 2
        await until(lambda: "d" in manual.started)
        assert seed_lag(log) == 3, "too soon"
        now[0] += concurrent.MIN_ADVANCE_INTERVAL  # Since the last advance, whenever it came.
        await until(lambda: seed_lag(log) == 1)
        manual.finish("d")
    assert advances() == 3, "the last one at the stop"
