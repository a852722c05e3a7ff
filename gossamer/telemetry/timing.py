"""Measures durations, for shells and the runtime. Logic does not read clocks.

import-linter keeps logic from importing this module.
"""

from contextlib import AbstractContextManager

from gossamer import clock
from gossamer.telemetry.metrics import observe


class observe_duration(AbstractContextManager[None]):
    """Observe the block's duration, in seconds, in a registered histogram, even if it raises."""

    def __init__(self, name: str, **labels: str) -> None:
        self._name, self._labels = name, labels

    def __enter__(self) -> None:
        self._started = clock.steady()

    def __exit__(self, *_: object) -> None:
        observe(self._name, clock.steady() - self._started, **self._labels)
