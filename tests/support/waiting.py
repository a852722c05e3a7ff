"""Waiting for a condition: nothing here sleeps in the hope that some time will do."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
PATIENCE = 300.0
"""Seconds after which something hangs; a busy machine needs some of them."""


def until(happened: Callable[[], Answer], what: str, patience: float = PATIENCE) -> Answer:
    """Wait for a condition and return what fulfilled it; a failure says what never came."""
    latest = time.monotonic() + patience
    while not (answer := happened()):
        assert time.monotonic() < latest, f"never came: {what}"
        time.sleep(0.02)
    return answer
