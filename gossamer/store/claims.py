"""Fencing: the newest claim on each partition, and the write timestamps that its owner leases.

A claim has an epoch. A new owner claims its partitions before it reads any row of them, and the
former owner, paused or cut off, must neither replace the new owner's rows nor continue. Cassandra
keeps the write with the larger timestamp, so an owner writes only with timestamps of a *window*
that it has leased, a few seconds of its clock, and renews the lease before the window ends:

* A claimant writes its claim, and *then* reads the windows of the partitions. It starts after the
  latest of them.
* An owner writes its next window, and *then* reads the claims. It uses the window if they stand.

Either the owner sees the claim and stops, or the claimant sees the window and starts after its end
(Dekker's algorithm for mutual exclusion). Clocks need not agree, and timestamps stay within seconds
of the clock, as `cqlsh`, repair and TTL need them.

A fetcher reads the frontier's claim before it begins an order, so that an order of a former owner
is refused, or was in the host's row before the new owner read it.
"""

from collections.abc import Collection, Iterable

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.store import Row, Store

SECOND = 1_000_000
"""Microseconds, the unit of write timestamps and epochs."""
WINDOW = 10 * SECOND
"""How far beyond the clock a window reaches: less than a consumer group takes to replace a dead
member, so that timestamps rarely run ahead of the clock after a takeover."""
RENEW_BEFORE = 5 * SECOND
"""How long before its end a window is renewed."""
LEAST_WINDOW = 1 * SECOND
"""Length of a window that begins beyond the clock: enough for 500,000 flushes."""


class ClaimRow(Row, frozen=True):
    """The newest claim on a partition."""

    table = "claims"
    partition_key = "partition"

    partition: str
    """Its number, after the kind of claim unless it is the frontier's: "archive pod-3" is a writer
    of the archive. "newest" is the newest claim on any partition."""
    epoch: int
    """Microseconds since 1970 when it was made, or more than the epoch before it: it only grows,
    and is the timestamp of this row."""
    claimed_at: float


class WindowRow(Row, frozen=True):
    """Until when the owner of a partition may stamp its writes."""

    table = "claim_windows"
    partition_key = "partition"

    partition: str
    """As in ClaimRow."""
    ends_at: int
    """Microseconds since 1970: it only grows, and is the timestamp of this row."""


class Claimant:
    """Claims partitions for one processor, whose *store* it is, and notices who claims them next.

    A process may pause between being assigned partitions and claiming them, and claim them after
    another process has: then its claim is the newer one, and what the other writes is void although
    the log says that the partitions are the other's. The other process finds out before it writes,
    and joins anew. A process that pauses between looking and writing may still change rows that the
    new owner has not written yet; the new owner accepts such rows (`Partition.find`).
    """

    def __init__(self, store: Store, kind: str = "") -> None:
        """*kind* is for processors that have claims beside the frontier's."""
        self._store, self._kind = store, kind
        self._rows, self._windows = store.table(ClaimRow), store.table(WindowRow)
        self._mine: dict[str, ClaimRow] = {}
        self._ends_at = 0
        """When the window ends that was leased for all of ours."""
        self._seen: ClaimRow | None = None
        """The newest claim on any, when ours were last known to stand."""
        store.guard(self._check)

    def claim(self, partitions: Collection[int | str], now: float) -> int:
        """Claim *partitions* from their earlier owners; return the new epoch, which is stored then.

        What an earlier owner writes after that does not count, so read the tables only afterwards.
        Raise Unavailable if somebody else claims one of them at the same time.
        """
        # An owner's writes to one partition are stamped by its newest claim on any.
        epoch = next_epoch(self._rows.get(self._newest), now)
        keys = [claim_key(partition, self._kind) for partition in partitions]
        self.release(partitions)
        claimed = {key: ClaimRow(key, epoch, now) for key in keys}
        self._store.write([ClaimRow(self._newest, epoch, now), *claimed.values()], epoch)
        windows = self._windows.get_all([(key, "") for key in keys])
        first = max((window.ends_at for window in windows), default=0)
        self._mine |= claimed
        self._seen = None
        self._lease(first)
        return epoch

    def release(self, partitions: Iterable[int | str]) -> None:
        """Others may claim *partitions* from now on."""
        for partition in partitions:
            self._mine.pop(claim_key(partition, self._kind), None)

    @property
    def _newest(self) -> str:
        return claim_key("newest", self._kind)

    def _check(self) -> None:
        """Raise Unavailable if somebody has claimed what is ours; renew the window if it is due."""
        if self._mine and _micros(clock.now()) > self._ends_at - RENEW_BEFORE:
            self._lease(0)
        else:
            self._check_claims()

    def _lease(self, first: int) -> None:
        """Lease the next window, which begins at *first* or where the present one does."""
        ends_at = max(_micros(clock.now()) + WINDOW, first + LEAST_WINDOW, self._ends_at)
        self._store.write([WindowRow(key, ends_at) for key in self._mine], ends_at)
        self._check_claims()
        self._ends_at = ends_at
        self._store.stamp(first, ends_at)

    def _check_claims(self) -> None:
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

    The claimant's clock decides its last digits, so that no two epochs are equal.
    """
    micros = _micros(now)
    return max(micros, newest.epoch + 1 + micros % SECOND) if newest else micros


def claim_key(partition: int | str, kind: str = "") -> str:
    """Return the partition key of the claim on *partition*."""
    return f"{kind} {partition}" if kind else str(partition)


def _micros(seconds: float) -> int:
    return int(seconds * SECOND)
