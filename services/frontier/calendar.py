"""The calendar: what is due at a later time, the soonest first.

Entries wait in due-time buckets in the store, where their keys begin with the time. Memory holds
the soonest of the next hour, a bounded number: up to the horizon, a position in the store, every
entry is in memory or was taken. What lies beyond is read when memory is empty. A bucket is dropped
whole when all of it was taken and its time is over.

The calendar is an index. An entry says where to look, and the row that it is about says whether it
still holds: the host's row, or the URL's plan. So nothing is removed from a bucket when a plan
changes, and an entry that comes again after a restart does no harm.
"""

from heapq import heappop, heappush

from gossamer.store import Table
from services.frontier.bucketed_log import PAGE, BucketRange, RangedLog
from services.frontier.rows import DueRow

HOSTS = "hosts"
"""The name of the calendar of retries and of hosts that back off."""
BUCKET = 600.0
AHEAD = 7
"""Buckets whose entries are read before their time, with the current one."""
AT_A_TIME = 20
"""Buckets that are read in one step of the log."""
TICK = 1e-6
"""Seconds between the entry that was taken last and one that is added too late."""
MOST = 5000
"""Entries that are read into memory, which holds up to twice as many."""

Position = tuple[int, str]
"""A bucket, and a key in it."""


class Calendar:
    """The entries of one partition, or a part of them, in the buckets of *name*."""

    def __init__(
        self,
        table: Table[DueRow],
        name: str,
        found: BucketRange,
        now: float,
        most: int = MOST,
    ) -> None:
        """*found*: the range in the store; *most*: entries that are read into memory."""
        self._most = most
        self.log = RangedLog(table, name, found, _bucket(now))
        self._held: dict[Position, DueRow] = {}
        self._order: list[Position] = []
        """The positions of those held, as a heap."""
        self._met = set[int]()
        """Buckets up to the horizon that have entries in the store."""
        self._bucket = self.log.first
        """The bucket that the horizon is in …"""
        self._last: DueRow | None = None
        """… and the last entry of it before the horizon."""
        self._taken_at = float("-inf")
        """The time in the key of the last entry that was taken."""
        self._ahead = 0
        """The bucket up to which it was time to read when we last did."""
        self._load(now)

    def __len__(self) -> int:
        return len(self._held)

    def add(self, row: DueRow) -> None:
        """Bring *row* back at its time; its key says what it is about."""
        # Never before what was taken: the horizon may move back to an entry that is added.
        at = row.at if row.at > self._taken_at else self._taken_at + TICK
        bucket = _bucket(at)
        row = self.log.put(bucket, row, key=f"{at:021.7f} {row.key}")
        if self._is_before_the_horizon(bucket, row.key):
            self._hold(bucket, row)
            if len(self) > 2 * self._most:
                self._give_back()

    def _is_before_the_horizon(self, bucket: int, key: str) -> bool:
        if bucket == self._bucket:
            return self._last is not None and key <= self._last.key
        return bucket < self._bucket

    def _hold(self, bucket: int, row: DueRow) -> None:
        position = bucket, row.key
        if position not in self._held:
            heappush(self._order, position)
        self._held[position] = row
        self._met.add(bucket)

    def _give_back(self) -> None:
        """Hold only the soonest: the store has the others, which are beyond the horizon now."""
        self._order = sorted(self._order)[: self._most]
        self._held = {position: self._held[position] for position in self._order}
        self._bucket, self._last = self._order[-1][0], self._held[self._order[-1]]

    def due(self) -> float | None:
        """Return when the next entry is due, or more must be read; None if there is nothing."""
        if self._order:
            return self._held[self._order[0]].at
        if self._bucket > self.log.last:
            return None
        return self._last.at if self._last else (self._bucket - AHEAD + 1) * BUCKET

    def next_entry(self) -> float | None:
        """Return when the next entry is due, if that is within the hour; else None.

        As long as the hour has not been read: when that was due.
        """
        if self._order or self._bucket < min(self._ahead, self.log.last + 1):
            return self.due()
        return None

    def take(self, now: float, most: int) -> list[DueRow]:
        """Remove and return what is due, oldest first, at most *most*."""
        taken: list[DueRow] = []
        while self._is_due(now) and len(taken) < most:
            position = heappop(self._order)
            self._taken_at = float(position[1].partition(" ")[0])
            taken.append(self._held.pop(position))
        self._drop(now)
        return taken

    def _is_due(self, now: float) -> bool:
        if not self._order:
            self._load(now)
        return bool(self._order) and self._held[self._order[0]].at <= now

    def _drop(self, now: float) -> None:
        """Drop the buckets that are over, and of which all was taken."""
        over = min(_bucket(now), self._bucket)
        if self._order:
            over = min(over, self._order[0][0])
        # Only those that had entries: between them, a clock that was wrong leaves millions.
        for bucket in [bucket for bucket in self._met if bucket < over]:
            self.log.drop(bucket)
            self._met.remove(bucket)
        self.log.leave(over)

    def _load(self, now: float) -> None:
        """Move the horizon on, to the end of the next hour or as far as memory has room."""
        self._ahead = _bucket(now) + AHEAD
        # Not all buckets of an outage at once; and beyond the last there is nothing.
        end = min(self._ahead, self.log.last + 1, self._bucket + AT_A_TIME)
        while self._bucket < end and (room := self._most - len(self)) > 0:
            after = self._last.key if self._last else None
            rows = self.log.page(self._bucket, after, min(PAGE, room))
            for row in rows:
                self._hold(self._bucket, row)
            if rows:
                self._last = rows[-1]
            else:
                self._bucket, self._last = self._bucket + 1, None
        if self._bucket > self.log.last:
            self._bucket = max(self._bucket, self._ahead)


def _bucket(at: float) -> int:
    return int(at // BUCKET)
