"""The timestamps of our writes to Cassandra, by which the last one wins.

They are the present time until an epoch is claimed, and count up from the epoch after that.
"""

from gossamer import clock

A_LITTLE = 0.002
"""Seconds; a node's timestamps are whole milliseconds."""


class Timestamps:
    """Issues the timestamps of writes, in microseconds: they only grow."""

    def __init__(self) -> None:
        self._last, self._claimed = 0, False
        self._issued_at = 0.0

    def next(self) -> int:
        """Return one that is larger than all before."""
        self._issued_at = clock.steady()
        self._last = max(self._last + 1, 0 if self._claimed else _now())
        return self._last

    def claim(self, epoch: int) -> None:
        """Count up from *epoch* from now on."""
        self._last, self._claimed = max(self._last, epoch), True

    def wait_to_pass(self) -> None:
        """Wait until the timestamps that nodes give, in whole milliseconds, are later than ours.

        By a clock that nobody sets: one that is set back by minutes must not stop us for as long.
        """
        while not self._claimed and clock.steady() <= self._issued_at + A_LITTLE:
            clock.pause(0.0005)


def _now() -> int:
    return int(clock.now() * 1e6)
