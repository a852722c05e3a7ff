"""The only place that asks what time it is."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Epoch seconds. Tests pass one that moves when told to; logic never holds one at all."""

now: Clock = time.time
steady: Clock = time.monotonic
"""Seconds that no correction of the clock moves, to wait by."""
pause = time.sleep
