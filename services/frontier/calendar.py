"""The calendar: entries that are due at a later time, the soonest first.

Entries are stored in buckets of ten minutes, and their keys begin with the time. Memory has the
soonest entries of the next hour, up to a limit. The horizon is a position in the store: every entry
before it is in memory or was popped. Later entries are read when memory is empty. A bucket is
dropped when all of its entries were popped and its time is over.

The calendar is an index. An entry names a row, and the row decides whether the entry still holds:
the host's row, or the URL's plan. So nothing is removed from a bucket when a plan changes, and an
entry that comes again after a restart does no harm.
"""

from heapq import heappop, heappush

from gossamer.store import Table
from services.frontier.bucketed_log import PAGE_SIZE, BucketRange, RangedLog
from services.frontier.rows import DueRow

HOSTS = "hosts"
"""The name of the calendar of retries and of hosts that back off."""
BUCKET_SECONDS = 600.0
LOOKAHEAD_BUCKETS = 7
"""Buckets that are read before their time, including the current one."""
MAX_BUCKETS_PER_READ = 20
"""Buckets that are read in one step of the loop."""
LATE_ENTRY_DELAY = 1e-6
"""Seconds from the last popped entry to an entry that is added with an earlier time."""
MAX_LOADED_ENTRIES = 5000
"""The maximum number of entries that are read into memory. Added entries may double it."""

EntryPosition = tuple[int, str]
"""The number of a bucket, and a key in the bucket."""


class Calendar:
    """The entries of one calendar of a partition, in the buckets of *name*."""

    def __init__(
        self,
        table: Table[DueRow],
        name: str,
        stored: BucketRange,
        now: float,
        max_entries: int = MAX_LOADED_ENTRIES,
    ) -> None:
        """*stored*: the range in the store; *max_entries*: entries that are read into memory."""
        self._max_entries = max_entries
        self.log = RangedLog(table, name, stored, _bucket(now))
        self._entries: dict[EntryPosition, DueRow] = {}
        self._order: list[EntryPosition] = []
        """The positions of the entries in memory, as a heap."""
        self._stored_buckets = set[int]()
        """Buckets up to the horizon that have entries in the store."""
        self._bucket = self.log.first
        """The bucket that the horizon is in."""
        self._last: DueRow | None = None
        """The last entry before the horizon in the horizon's bucket."""
        self._popped_at = float("-inf")
        """The time in the key of the entry that was popped last."""
        self._lookahead_end = 0
        """The end of the lookahead at the last read, as a bucket."""
        self._load(now)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, row: DueRow) -> None:
        """Add *row*, which is due at `row.at`. Its key names the host or URL."""
        # The key is never before the last popped entry. Else `_shrink` could move the horizon back
        # to the new entry, and the popped entries after it would be read again.
        at = row.at if row.at > self._popped_at else self._popped_at + LATE_ENTRY_DELAY
        bucket = _bucket(at)
        row = self.log.put(bucket, row, key=f"{at:021.7f} {row.key}")
        if self._is_before_horizon(bucket, row.key):
            self._keep_in_memory(bucket, row)
            if len(self) > 2 * self._max_entries:
                self._shrink()

    def _is_before_horizon(self, bucket: int, key: str) -> bool:
        if bucket == self._bucket:
            return self._last is not None and key <= self._last.key
        return bucket < self._bucket

    def _keep_in_memory(self, bucket: int, row: DueRow) -> None:
        position = bucket, row.key
        if position not in self._entries:
            heappush(self._order, position)
        self._entries[position] = row
        self._stored_buckets.add(bucket)

    def _shrink(self) -> None:
        """Keep only the soonest entries in memory, and move the horizon back to the last of
        them."""
        self._order = sorted(self._order)[: self._max_entries]
        self._entries = {position: self._entries[position] for position in self._order}
        self._bucket, self._last = self._order[-1][0], self._entries[self._order[-1]]

    def due(self) -> float | None:
        """Return when the next entry is due, or entries must be read; None if the calendar is
        empty."""
        if self._order:
            return self._entries[self._order[0]].at
        if self._bucket > self.log.last:
            return None
        return (
            self._last.at if self._last else (self._bucket - LOOKAHEAD_BUCKETS + 1) * BUCKET_SECONDS
        )

    def next_entry(self) -> float | None:
        """Return when the next entry is due, if that is within the hour; else None.

        Until the current hour was read, return when it must be read.
        """
        if self._order or self._bucket < min(self._lookahead_end, self.log.last + 1):
            return self.due()
        return None

    def pop_due(self, now: float, limit: int) -> list[DueRow]:
        """Remove and return at most *limit* due entries, the oldest first."""
        popped: list[DueRow] = []
        while self._is_due(now) and len(popped) < limit:
            position = heappop(self._order)
            self._popped_at = float(position[1].partition(" ")[0])
            popped.append(self._entries.pop(position))
        self._drop(now)
        return popped

    def _is_due(self, now: float) -> bool:
        if not self._order:
            self._load(now)
        return bool(self._order) and self._entries[self._order[0]].at <= now

    def _drop(self, now: float) -> None:
        """Drop the buckets whose time is over and whose entries were all popped."""
        over = min(_bucket(now), self._bucket)
        if self._order:
            over = min(over, self._order[0][0])
        # Only buckets with entries: a wrong clock leaves millions of empty buckets between them.
        for bucket in [bucket for bucket in self._stored_buckets if bucket < over]:
            self.log.drop(bucket)
            self._stored_buckets.remove(bucket)
        self.log.skip_to(over)

    def _load(self, now: float) -> None:
        """Move the horizon to the end of the lookahead, or until memory is full."""
        self._lookahead_end = _bucket(now) + LOOKAHEAD_BUCKETS
        # After an outage many buckets are due: some of them are read now, and none after the last.
        end = min(self._lookahead_end, self.log.last + 1, self._bucket + MAX_BUCKETS_PER_READ)
        while self._bucket < end and (room := self._max_entries - len(self)) > 0:
            after = self._last.key if self._last else None
            rows = self.log.page(self._bucket, after, min(PAGE_SIZE, room))
            for row in rows:
                self._keep_in_memory(self._bucket, row)
            if rows:
                self._last = rows[-1]
            else:
                self._bucket, self._last = self._bucket + 1, None
        if self._bucket > self.log.last:
            self._bucket = max(self._bucket, self._lookahead_end)


def _bucket(at: float) -> int:
    return int(at // BUCKET_SECONDS)
