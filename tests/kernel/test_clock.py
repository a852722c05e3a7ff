"""A clock that is set is noticed, one that is corrected gently is not; how long it is quiet."""

import pytest

from gossamer import clock


def test_a_clock_that_is_set_is_noticed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    day, passed = 1_700_000_000.0, 0.0
    monkeypatch.setattr(clock, "now", lambda: day + passed)
    monkeypatch.setattr(clock, "steady", lambda: passed)
    steps = clock.JumpDetector()
    passed += 3600.0
    assert not steps.pop_jump(), "an hour has passed"
    day += 0.5
    assert not steps.pop_jump(), "it was corrected"
    for by in (600.0, -600.0):
        day += by
        assert steps.pop_jump()
        assert not steps.pop_jump()


def test_polls_grow_rarer_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 0.0
    monkeypatch.setattr(clock, "steady", lambda: passed)
    quiet = clock.IdleTimer()
    assert quiet.poll_interval(0.01, 0.5) == 0.01
    passed += 2.0
    assert quiet.poll_interval(0.01, 0.5) == 0.2
    passed += 3600.0
    assert quiet.poll_interval(0.01, 0.5) == 0.5
    quiet.end()
    assert quiet.poll_interval(0.01, 0.5) == 0.01
