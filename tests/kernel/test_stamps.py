"""The timestamps of writes, where clocks are set: they only grow, and nobody waits for a clock."""

import pytest

from gossamer import clock
from gossamer.store.cassandra.timestamps import Timestamps


class Clocks:
    """A time of day that is set, and time that passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day, self.passed = 1_700_000_000.0, 0.0
        monkeypatch.setattr(clock, "now", lambda: self.day + self.passed)
        monkeypatch.setattr(clock, "steady", lambda: self.passed)
        monkeypatch.setattr(clock, "pause", self.pause)

    def pause(self, seconds: float) -> None:
        self.passed += seconds
        assert self.passed < 60, "it waits until the clock is where it was"


def test_a_clock_that_is_set_back_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, stamps = Clocks(monkeypatch), Timestamps()
    first = stamps.next()
    clocks.day -= 600
    stamps.wait_to_pass()
    assert clocks.passed < 0.1
    assert stamps.next() > first


def test_what_a_node_stamps_afterwards_is_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, stamps = Clocks(monkeypatch), Timestamps()
    last = stamps.next()
    stamps.wait_to_pass()
    in_whole_milliseconds = int((clocks.day + clocks.passed) * 1000) * 1000
    assert in_whole_milliseconds > last
