"""Records share advances under load, and a lone record is advanced at once."""

import pytest
from prometheus_client import REGISTRY

from gossamer import clock
from gossamer.log import MAX_POLL_RECORDS
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime import concurrent
from gossamer.runtime.health import Health, ObservedLog
from gossamer.runtime.process import MIN_STEP_INTERVAL, Backends, Process, run_processor
from gossamer.settings import Settings
from gossamer.store.sqlite import SqliteStore
from tests.runtime.conftest import Start
from tests.runtime.manual import Manual, ManualOnce, found, left, sow, until
from tests.runtime.processors import Sower

EACH = 0.01


def advances() -> float:
    """Return the number of advances."""
    sample = "gossamer_step_seconds_count"
    return REGISTRY.get_sample_value(sample, {"service": "dedup"}) or 0.0


class Meanwhile:
    """Stands for the event that ends a process: while it is waited for, a seed comes each so many
    virtual seconds, *most* in all."""

    def __init__(self, log: SqliteLog, most: int) -> None:
        self.now, self._log, self._most = 0.0, log, most

    def is_set(self) -> bool:
        return not self._most and not left(self._log)

    def wait(self, timeout: float) -> bool:
        self.now += timeout
        count = min(self._most, round(timeout / EACH))
        self._most -= count
        sow(self._log, *(f"{self.now}-{n}" for n in range(count)))
        return self.is_set()


def test_busy_processor_advances_in_groups(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, before = Meanwhile(log, 1000), advances()
    monkeypatch.setattr(clock, "steady", lambda: stop.now)
    sow(log, "the first")
    health = Health("dedup", "grouped")
    running = Process("dedup", Settings(), health, stop)  # type: ignore[arg-type]
    run_processor(Backends(running, ObservedLog(log, health), store, "a fleet"), Sower(store))
    assert len(found(log)) == 1001
    assert advances() - before == 1 + 1000 * EACH / MIN_STEP_INTERVAL


def test_lagging_processor_does_not_pause(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Meanwhile(log, 0)
    monkeypatch.setattr(clock, "steady", lambda: stop.now)
    sow(log, *(str(number) for number in range(3 * MAX_POLL_RECORDS)))
    running = Process("dedup", Settings(), Health("dedup", "behind"), stop)  # type: ignore[arg-type]
    run_processor(
        Backends(running, ObservedLog(log, running.health), store, "a fleet"), Sower(store)
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
            sow(log, url)
            await until(lambda: bool(manual.open()))
            manual.done(url)
            await until(lambda: len(found(log)) == len(manual.started))


async def test_records_that_finish_together_share_an_advance(
    start: Start, manual: Manual, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(clock, "steady", lambda: now[0])
    before = advances()
    sow(log, "a", "b", "c")
    async with start(manual):
        await until(lambda: len(manual.open()) == 3)
        manual.done("a")
        await until(lambda: left(log) == 2)
        manual.done("b", "c")
        sow(log, "d")
        now[0] += concurrent.MIN_ADVANCE_INTERVAL / 2
        await until(lambda: "d" in manual.started)
        assert left(log) == 3, "too soon"
        now[0] += concurrent.MIN_ADVANCE_INTERVAL / 2
        await until(lambda: left(log) == 1)
        manual.done("d")
    assert advances() == before + 3, "the last one at the stop"
