"""The only place that asks what time it is."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns epoch seconds. Tests pass one that they move by hand; logic never holds one at all."""

now: Clock = time.time
steady: Clock = time.monotonic
"""Seconds that no correction of the clock moves; to measure waits by."""
pause = time.sleep
STEP = 1.0
"""Seconds by which a clock is corrected gently; more means that it was set."""


class Steps:
    """Notices that the time of day was set, or that the machine slept: more or less time has passed
    by it than has passed."""

    def __init__(self) -> None:
        self._apart = now() - steady()

    def seen(self) -> bool:
        """Return whether it was set since the last call."""
        before, self._apart = self._apart, now() - steady()
        return abs(self._apart - before) > STEP


class Quiet:
    """How long nothing has happened, and so how often to look whether something has."""

    def __init__(self) -> None:
        self._since = steady()

    def end(self) -> None:
        """Start anew: something has happened."""
        self._since = steady()

    def poll_interval(self, shortest: float, longest: float) -> float:
        """Return the seconds until the next poll: a tenth of the quiet time, within these bounds.

        So what comes is found at most a tenth later than it could be, and waiting for long is
        cheap.
        """
        return max(shortest, min((steady() - self._since) / 10, longest))
