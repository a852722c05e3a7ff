"""A loop whose clock was set recomputes its times before it orders anything."""

from collections.abc import Iterable

import pytest

from gossamer import clock
from gossamer.clock import JumpDetector
from gossamer.events import Event
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.sequential import sequential_loop
from gossamer.store.sqlite import SqliteStore
from tests.runtime.manual import append_seeds
from tests.runtime.processors import Discoverer


class Recomputing(Discoverer):
    """Is due at 105 seconds. The clock is set while it handles a record."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store)
        self.at, self.day = 105.0, 100.0

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        """Emit an event, and set the clock ten minutes ahead."""
        yield from super().handle(event, now)
        self.day += 600.0

    def reload_after_clock_set(self, partitions: frozenset[int], now: float) -> None:
        self.at = now + 5.0


def test_set_clock_recomputes_times_before_any_work(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = Recomputing(store)
    monkeypatch.setattr(clock, "now", lambda: processor.day)
    monkeypatch.setattr(clock, "steady", lambda: 0.0)
    runner = sequential_loop(processor, log, store, clock.now, JumpDetector())
    append_seeds(log, "a")
    runner.step()
    runner.step()
    assert "seed a" in processor.calls
    assert not [call for call in processor.calls if call.startswith("wake")]
    assert runner.due() == 705.0
    runner.close()
