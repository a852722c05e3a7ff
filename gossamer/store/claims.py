"""Fencing: the newest claim on each partition; who takes over claims before it reads anything else.

A claim has an epoch, and the store holds back what is written under an older one
(`gossamer.store.Store.claim`). A fetcher reads the frontier's claim before it begins an order. So
an order of a frontier that was thought dead and goes on writing is either refused, or was in the
host's row before the new owner read that.
"""

from collections.abc import Collection, Iterable

from gossamer.errors import Unavailable
from gossamer.store import Row, Store

LEAP = 1_000_000_000
"""An epoch is at least so much larger than all before it. An owner stamps its writes by counting up
from its epoch, two for each flush: at 100 flushes a second it would reach the next one's epoch
after two months, and until then no clock that differs or steps back makes a new owner's writes
void. As microseconds it is a quarter of an hour: so far an epoch may run ahead of the clock for
each claim; nothing minds."""


SPREAD = 1_000_000
"""Claimants whose clocks differ in this many microseconds have different epochs."""


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


class Claimant:
    """Claims partitions for one processor, whose *store* it is, and notices who claims them next.

    A process may stop between being given partitions and claiming them, and go on when others have
    claimed them long ago: then its claim is the newer one, and what the others write is void
    although the log says that the partitions are theirs. They find that out before they write, and
    join anew. Who stops between looking and writing may still change rows that the new owner has
    not written yet: that one takes them for what they are when it meets them (`Hosts.find`).
    """

    def __init__(self, store: Store, kind: str = "") -> None:
        """*kind* is for what has claims beside the frontier's."""
        self._store, self._kind = store, kind
        self._rows = store.table(ClaimRow)
        self._mine: dict[str, ClaimRow] = {}
        self._seen: ClaimRow | None = None
        """The newest claim on any, when ours were last known to stand."""
        store.guard(self._check)

    def claim(self, partitions: Collection[int | str], now: float) -> int:
        """Claim *partitions* from their earlier owners; return the new epoch, which is stored then.

        What an earlier owner writes after that does not count, so read the tables only afterwards.
        Raise Unavailable if somebody else claims one of them at the same time.
        """
        # An owner's writes to one partition are stamped by its newest claim on any.
        newest = self._rows.get(self._newest)
        epoch = next_epoch(newest, now)
        keys = [claim_key(partition, self._kind) for partition in partitions]
        self.release(partitions)
        claimed = {key: ClaimRow(key, epoch, now) for key in keys}
        for row in (ClaimRow(self._newest, epoch, now), *claimed.values()):
            self._rows.put(row)
        self._store.claim(epoch)
        self._store.flush()
        self._mine |= claimed
        self._seen = None
        self._check()
        return epoch

    def release(self, partitions: Iterable[int | str]) -> None:
        """Others may claim *partitions* from now on."""
        for partition in partitions:
            self._mine.pop(claim_key(partition, self._kind), None)

    @property
    def _newest(self) -> str:
        return claim_key("newest", self._kind)

    def _check(self) -> None:
        """Raise Unavailable if somebody has claimed what is ours: what was written may be void."""
        newest = self._rows.get(self._newest)
        if newest == self._seen:
            return
        found = self._rows.get_all([(key, "") for key in self._mine])
        if lost := sorted(row.partition for row in found if row != self._mine[row.partition]):
            raise Unavailable(
                f"another process has claimed {', '.join(lost)}: this one joins anew; if that goes "
                "on, both have the same service.instance"
            )
        self._seen = newest


def next_epoch(newest: ClaimRow | None, now: float) -> int:
    """Return the epoch of a claim made at *now*: beyond the *newest* claim's, whatever clocks say.

    The last digits are the claimant's own: no two epochs are equal.
    """
    micros = int(now * 1e6)
    return max(micros, newest.epoch + LEAP + micros % SPREAD) if newest else micros


def claim_key(partition: int | str, kind: str = "") -> str:
    """Return the partition key of the claim on *partition*."""
    return f"{kind} {partition}" if kind else str(partition)
