"""Fencing: the newest claim on each partition; who takes over claims before it reads anything else.

A claim has an epoch, and the store holds back what is written under an older one
(`gossamer.store.Store.claim`). A fetcher reads the frontier's claim before it begins an order. So
an order of a frontier that was thought dead and goes on writing is either refused, or was in the
host's row before the new owner read that.
"""

from collections.abc import Iterable

from gossamer.store import Row, Store

LEAP = 1_000_000_000
"""An epoch is at least so much larger than all before it. An owner stamps its writes by counting up
from its epoch, two for each flush: at 100 flushes a second it would reach the next one's epoch
after two months, and until then no clock that differs or steps back makes a new owner's writes
void. As microseconds it is a quarter of an hour: so far an epoch may run ahead of the clock for
each claim; nothing minds."""


class ClaimRow(Row, frozen=True):
    """The newest claim on a partition."""

    table = "claims"
    partition_key = "partition"

    partition: str
    """Its number. What is not the frontier's has a word before it, and may have a name in place of
    the number: "archive pod-3" is a writer of the archive. "newest": the newest claim on any."""
    epoch: int
    """Microseconds since 1970 when it was made, or well beyond the last one: it only grows."""
    claimed_at: float


def make_claims(partitions: Iterable[int | str], store: Store, now: float, kind: str = "") -> int:
    """Claim *partitions* from their earlier owners; return the new epoch, which is stored then.

    What an earlier owner writes after that does not count, so read the tables only afterwards.
    *kind* is for what has claims beside the frontier's. From now on the store writes under the new
    epoch, so claims of one kind have a store of their own.
    """
    rows = store.table(ClaimRow)
    # An owner's writes to one partition are stamped by its newest claim on any.
    newest = rows.get(claim_key("newest", kind))
    epoch = max(int(now * 1e6), newest.epoch + LEAP if newest else 0)
    for key in [claim_key("newest", kind), *(claim_key(p, kind) for p in partitions)]:
        rows.put(ClaimRow(key, epoch, now))
    store.claim(epoch)
    store.flush()
    return epoch


def claim_key(partition: int | str, kind: str = "") -> str:
    """Return the partition key of the claim on *partition*."""
    return f"{kind} {partition}" if kind else str(partition)
