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
