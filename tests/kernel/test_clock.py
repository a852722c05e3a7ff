"""The detection of clock steps, and poll intervals while a loop is idle."""

import pytest

from gossamer import clock


def test_clock_step_is_detected_once(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_poll_interval_grows_while_idle(monkeypatch: pytest.MonkeyPatch) -> None:
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
