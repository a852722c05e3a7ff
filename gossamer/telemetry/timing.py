"""Measures durations, for shells and the runtime. Logic does not read clocks.

import-linter keeps logic from importing this module.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from gossamer import clock
from gossamer.telemetry.metrics import observe


@contextmanager
def observe_duration(name: str, **labels: str) -> Iterator[None]:
    """Observe the block's duration, in seconds, in a registered histogram, even if it raises."""
    started = clock.steady()
    try:
        yield
    finally:
        observe(name, clock.steady() - started, **labels)
