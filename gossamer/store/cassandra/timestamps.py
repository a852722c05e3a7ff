"""The timestamps of our writes to Cassandra, which keeps the write with the largest one.

They follow the clock. Those of an owner stay inside its leased window (`gossamer.store.claims`).
"""

from gossamer import clock
from gossamer.errors import Unavailable

NODE_RESOLUTION = 0.002
"""Seconds after which a timestamp of a node is certainly later than ours. Nodes count whole
milliseconds."""
RESERVED_MICROSECONDS = 1000
"""Microseconds at the end of a window that are issued one after another, and not by the clock. They
are for a flush after a pause in which the clock has passed the end of the window."""


class Timestamps:
    """Issues increasing timestamps of writes, in microseconds."""

    def __init__(self) -> None:
        self._last = 0
        self._end: int | None = None
        self._issued_at = 0.0

    def next(self) -> int:
        """Return a timestamp larger than all before. Raise Unavailable if the window is used up."""
        self._issued_at = clock.steady()
        now = int(clock.now() * 1e6)
        issued = max(
            self._last + 1,
            now if self._end is None else min(now, self._end - RESERVED_MICROSECONDS),
        )
        if self._end is not None and issued >= self._end:
            raise Unavailable("the leased window of write timestamps is used up")
        self._last = issued
        return issued

    def stamp(self, first: int, end: int) -> None:
        """Issue timestamps from *first* to below *end*."""
        self._last, self._end = max(self._last, first - 1), end

    def wait_to_pass(self) -> None:
        """Wait until timestamps of nodes, in whole milliseconds, are later than ours.

        It uses the steady clock, because a clock that is set back by minutes must not stop us for
        minutes.
        """
        while clock.steady() <= self._issued_at + NODE_RESOLUTION:
            clock.pause(0.0005)
