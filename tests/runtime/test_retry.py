"""The waits between retries grow while a server is unavailable."""

import threading

import pytest

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.runtime.health import Health
from gossamer.runtime.process import Process, retry
from gossamer.settings import Settings


class Stop(threading.Event):
    """Records the waits of the process without waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return self.is_set()


def test_waits_double_and_start_over_after_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds_of_attempts = [0.0] * 7 + [3600.0, 0.0, 0.0]
    now, stop = [1000.0], Stop()
    monkeypatch.setattr(clock, "steady", lambda: now[0])

    def attempt() -> None:
        if not seconds_of_attempts:
            return
        now[0] += seconds_of_attempts.pop(0)
        raise Unavailable("nobody answers at kafka:9092")

    process = Process("test", Settings(), Health("test", "retrying"), stop)
    assert retry(process, attempt) == 0
    assert stop.waits == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 0.25, 0.5, 1.0]
