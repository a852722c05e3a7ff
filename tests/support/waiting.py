"""Waiting for a condition: nothing here sleeps in the hope that some time will do."""

import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds after which something hangs; a busy machine needs some of them."""


def until(happened: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait for a condition; a failure says what never came."""
    latest = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < latest, f"never came: {what}"
        time.sleep(0.02)
