"""Fencing: the newest claim on each partition, which frontier and fetcher both read.

A frontier that takes over a partition writes its claim before it reads anything else of it. A
fetcher reads the claim before it begins an order. So an order of a frontier that was thought dead
and goes on writing is either refused, or was in the host's row before the new owner read that.
"""

from gossamer.store import Row


class ClaimRow(Row, frozen=True):
    """The newest claim on a partition."""

    table = "claims"
    partition_key = "partition"

    partition: str
    epoch: int
    """Microseconds since 1970 when it was made, or one more than the last: it only grows."""
    claimed_at: float
