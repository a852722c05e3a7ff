"""Fencing: the newest claim on each partition, and the write timestamps that its owner leases.

A claim has an epoch. A new owner claims its partitions before it reads any of their rows. The
former owner, which may be suspended or disconnected, must neither replace the new owner's rows nor
continue. Cassandra keeps the write with the larger timestamp. An owner therefore writes only with
timestamps of a leased *window*, which covers a few seconds of its clock, and renews the lease
before the window ends:

* A claimant writes its claim, and *then* reads the windows of the partitions. Its own window
  starts after the latest of them.
* An owner writes its next window, and *then* reads the claims. It uses the window if its claims
  are still the newest.

Either the owner sees the claim and stops, or the claimant sees the window and starts after its end
(Dekker's algorithm for mutual exclusion). Clocks need not agree, and timestamps stay within seconds
of the clock, as `cqlsh`, repair and TTL require.

A fetcher reads the frontier's claim before it starts an order. An order of a former owner is
therefore refused, or was in the host's row before the new owner read it.
"""

from collections.abc import Collection, Iterable

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.store import Row, Store

SECOND = 1_000_000
"""Microseconds, the unit of write timestamps and epochs."""
WINDOW = 10 * SECOND
"""Microseconds by which a window extends beyond the clock. It is shorter than the time in which
a group replaces a crashed member, so that timestamps rarely run ahead of the clock after a
takeover."""
RENEW_BEFORE = 5 * SECOND
"""Microseconds before the end of a window at which it is renewed."""
MIN_WINDOW = 1 * SECOND
"""Minimum microseconds of a window, for one that starts beyond the clock: enough for 500,000
flushes."""


class ClaimRow(Row, frozen=True):
    """The newest claim on a partition."""

    table = "claims"
    partition_key = "partition"
    about = ()

    partition: str
    """The partition's number, preceded by the kind of claim except for the frontier's: "archive
    pod-3" is a writer of the archive. "newest" is the newest claim on any partition."""
    epoch: int
    """Microseconds since 1970 at which the claim was made, or more if the epoch before it is
    larger. It only grows, and is the write timestamp of this row."""
    claimed_at: float


class WindowRow(Row, frozen=True):
    """The end of the window in which the owner of a partition may stamp its writes."""

    table = "claim_windows"
    partition_key = "partition"
    about = ()

    partition: str
    """The partition, as in ClaimRow."""
    ends_at: int
    """Microseconds since 1970. It only grows, and is the write timestamp of this row."""


class Claimant:
    """Claims partitions for the processor that owns *store*, and detects newer claims.

    A process may pause after it is assigned partitions, and claim them after another process has.
    Its claim is then the newer one and fences the other process, although the log assigns the
    partitions to that one. The other process detects this before it writes, and joins the group
    again. A process that pauses between this check and the write may still change rows that the new
    owner has not written yet. The new owner accepts such rows (`find` in
    `gossamer.services.frontier.partition.partition`).
    """

    def __init__(self, store: Store, kind: str = "") -> None:
        """*kind* names the claims of processors other than the frontier."""
        self._store, self._kind = store, kind
        self._rows, self._windows = store.table(ClaimRow), store.table(WindowRow)
        self._claims: dict[str, ClaimRow] = {}
        self._ends_at = 0
        """The end of the leased window of all our partitions."""
        self._newest_seen: ClaimRow | None = None
        """The newest claim on any partition at the last check of our claims."""
        store.guard(self._check)

    def claim(self, partitions: Collection[int | str], now: float) -> int:
        """Claim *partitions* from their earlier owners, and return the new epoch once it is stored.

        Later writes of an earlier owner are ignored, so the tables must be read after this. Raise
        Unavailable if another process claims one of the partitions at the same time.
        """
        # The epoch is also the write timestamp of the row of the newest claim on any partition. It
        # must exceed that claim's epoch, or the store would ignore the write.
        epoch = next_epoch(self._rows.get(self._newest), now)
        keys = [claim_key(partition, self._kind) for partition in partitions]
        self.release(partitions)
        claimed = {key: ClaimRow(key, epoch, now) for key in keys}
        self._store.write([ClaimRow(self._newest, epoch, now), *claimed.values()], epoch)
        windows = self._windows.get_all([(key, "") for key in keys])
        first = max((window.ends_at for window in windows), default=0)
        self._claims |= claimed
        self._newest_seen = None
        self._lease(first)
        return epoch

    def release(self, partitions: Iterable[int | str]) -> None:
        """Allow others to claim *partitions*."""
        for partition in partitions:
            self._claims.pop(claim_key(partition, self._kind), None)

    @property
    def _newest(self) -> str:
        return claim_key("newest", self._kind)

    def _check(self) -> None:
        """Raise Unavailable if our partitions were claimed by others. Renew the window if that is
        due."""
        if self._claims and _micros(clock.now()) > self._ends_at - RENEW_BEFORE:
            self._lease(0)
        else:
            self._check_claims()

    def _lease(self, first: int) -> None:
        """Lease the next window, which starts at *first* or continues the current one."""
        ends_at = max(_micros(clock.now()) + WINDOW, first + MIN_WINDOW, self._ends_at)
        self._store.write([WindowRow(key, ends_at) for key in self._claims], ends_at)
        self._check_claims()
        self._ends_at = ends_at
        self._store.stamp(first, ends_at)

    def _check_claims(self) -> None:
        newest = self._rows.get(self._newest)
        if newest == self._newest_seen:
            return
        found = self._rows.get_all([(key, "") for key in self._claims])
        if lost := sorted(row.partition for row in found if row != self._claims[row.partition]):
            raise Unavailable(
                f"another process has claimed {', '.join(lost)}: this one joins again; if this "
                "repeats, both have the same service.instance"
            )
        self._newest_seen = newest


def next_epoch(newest: ClaimRow | None, now: float) -> int:
    """Return the epoch of a claim made at *now*, which is larger than the *newest* claim's.

    The claimant's clock determines its last digits, so that no two epochs are equal.
    """
    micros = _micros(now)
    return max(micros, newest.epoch + 1 + micros % SECOND) if newest else micros


def claim_key(partition: int | str, kind: str = "") -> str:
    """Return the partition key of the claim on *partition*."""
    return f"{kind} {partition}" if kind else str(partition)


def _micros(seconds: float) -> int:
    return int(seconds * SECOND)
