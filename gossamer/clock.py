"""The only place that asks what time it is."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Returns epoch seconds. Tests pass one that they move by hand; logic never holds one at all."""

now: Clock = time.time
steady: Clock = time.monotonic
"""Seconds that no correction of the clock moves; to measure waits by."""
pause = time.sleep
