"""How long something takes: for shells and the runtime, since logic reads no clock.

import-linter keeps logic from importing this module.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from gossamer import clock
from gossamer.telemetry.metrics import observe


@contextmanager
def timed(name: str, **labels: str) -> Iterator[None]:
    """Observe in a registered histogram how many seconds the block takes, however it ends."""
    started = clock.steady()
    try:
        yield
    finally:
        observe(name, clock.steady() - started, **labels)
