"""The timestamps of our writes to Cassandra, by which the last one wins.

They follow the clock. Those of an owner stay inside the window that it has leased
(`gossamer.store.claims`).
"""

from gossamer import clock
from gossamer.errors import Unavailable

A_LITTLE = 0.002
"""Seconds; a node's timestamps are whole milliseconds."""
SPARE = 1000
"""Microseconds at the end of a window that only counting reaches: an owner whose clock has passed
the end, since it was paused before a flush, still has timestamps for that flush."""


class Timestamps:
    """Issues the timestamps of writes, in microseconds: they only grow."""

    def __init__(self) -> None:
        self._last = 0
        self._end: int | None = None
        self._issued_at = 0.0

    def next(self) -> int:
        """Return one that is larger than all before; raise Unavailable if the window has none."""
        self._issued_at = clock.steady()
        now = int(clock.now() * 1e6)
        issued = max(self._last + 1, now if self._end is None else min(now, self._end - SPARE))
        if self._end is not None and issued >= self._end:
            raise Unavailable("the leased window of write timestamps is used up: a new one is due")
        self._last = issued
        return issued

    def stamp(self, first: int, end: int) -> None:
        """Issue timestamps from *first* on, below *end*."""
        self._last, self._end = max(self._last, first - 1), end

    def wait_to_pass(self) -> None:
        """Wait until the timestamps that nodes give, in whole milliseconds, are later than ours.

        By a clock that nobody sets: one that is set back by minutes must not stop us for as long.
        """
        while clock.steady() <= self._issued_at + A_LITTLE:
            clock.pause(0.0005)
