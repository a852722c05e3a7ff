"""Whose orders count: the newest claim on each partition, as frontier and fetcher both read it.

A frontier that takes a partition over writes its claim before it reads anything else of it; a
fetcher asks for the claim before it begins an order. So of one that was thought dead and writes on,
every order either is void, or was written to the host's row before the new owner read that.
"""

from gossamer.store import Row


class ClaimRow(Row, frozen=True):
    """The newest claim on a partition."""

    table = "claims"
    partition_key = "partition"

    partition: str
    epoch: int
    """Microseconds since 1970 when it was made, or one more than the last: they only grow."""
    claimed_at: float
