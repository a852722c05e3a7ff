"""How long to wait before a server that was unavailable is asked again."""

from collections.abc import Iterator

FIRST_WAIT, LONGEST_WAIT = 0.25, 5.0
"""Seconds."""


def waits() -> Iterator[float]:
    """Yield the seconds to wait before each further attempt: twice as long each time, for ever."""
    wait = FIRST_WAIT
    while True:
        yield wait
        wait = min(2 * wait, LONGEST_WAIT)
