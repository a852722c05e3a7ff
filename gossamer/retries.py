"""The waits before retries of an unavailable server."""

from collections.abc import Iterator

FIRST_WAIT, MAX_WAIT = 0.25, 5.0
"""Minimum and maximum seconds of a wait."""


def waits() -> Iterator[float]:
    """Yield the seconds before each further attempt, without end. Each wait is twice the one
    before."""
    wait = FIRST_WAIT
    while True:
        yield wait
        wait = min(2 * wait, MAX_WAIT)
