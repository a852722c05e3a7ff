"""The only module that reads clocks."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns epoch seconds. Tests pass a clock that they move by hand. Logic holds no clock."""

now: Clock = time.time
steady: Clock = time.monotonic
"""Seconds that are not affected by corrections of the clock, for measuring durations."""
pause = time.sleep
MAX_AHEAD = 60.0
"""Maximum seconds by which a time that another clock has measured may be ahead."""
MIN_JUMP = 1.0
"""Minimum seconds of a jump of the clock. Gradual corrections are smaller."""


def is_future(at: float, present: float) -> bool:
    """Return whether *at* is a time of a clock that was ahead: no visit can be after *present*."""
    return at > present + MAX_AHEAD


class JumpDetector:
    """Detects that the clock was set or the machine slept: the clock and the steady clock have
    advanced by different times."""

    def __init__(self) -> None:
        self._apart = now() - steady()

    def pop_jump(self) -> bool:
        """Return whether the clock was set since the last call."""
        before, self._apart = self._apart, now() - steady()
        return abs(self._apart - before) > MIN_JUMP


class IdleTimer:
    """Measures how long nothing has happened, which determines the next poll interval."""

    def __init__(self) -> None:
        self._since = steady()

    def end(self) -> None:
        """Start again, because something has happened."""
        self._since = steady()

    def poll_interval(self, shortest: float, longest: float) -> float:
        """Return the seconds until the next poll: a tenth of the quiet time, within these bounds.

        An event is therefore found with a delay of at most a tenth of the quiet time, and long
        waits are cheap.
        """
        return max(shortest, min((steady() - self._since) / 10, longest))
