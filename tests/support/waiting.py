"""Waits for a condition, without a sleep of a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
HANG_TIMEOUT = 300.0
"""Seconds after which a process counts as hung; a busy machine needs some of them."""


def until(happened: Callable[[], Answer], what: str, patience: float = HANG_TIMEOUT) -> Answer:
    """Wait for a condition and return its value; a failure names the condition."""
    latest = time.monotonic() + patience
    while not (answer := happened()):
        assert time.monotonic() < latest, f"timed out: {what}"
        time.sleep(0.02)
    return answer
