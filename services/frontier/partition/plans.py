"""Later visits: the calendar, and the plans of one partition.

**Calendar.** Entries are due at a later time, the soonest first. They are stored in buckets of ten
minutes, and their keys begin with the time. Memory has the soonest entries of the next hour, up to
a limit. The horizon is a position in the store: every entry before it is in memory or was popped.
Later entries are read when memory is empty. A bucket is dropped when its time is over and all of
its entries were popped in earlier steps.

The calendar is an index. An entry names a row, and the row decides whether the entry still holds:
the host's row, or the URL's plan. So nothing is removed from a bucket when a plan changes, and an
entry that comes again after a restart does no harm.

**Plans.** A plan is a row of its URL (`tables.plans.PlanRow`), and a calendar has an entry for each
plan: one has the first visits that wait for the budget, another the revisits. The policy `none`
also keeps entries, at the time of the last visit, and never pops them, because another policy may
plan these pages. When the crawl's policy changes, the entries move to a new calendar, a few in each
step, and each page is planned again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from msgspec.structs import replace

from gossamer.policies import NEVER
from gossamer.services.frontier import revisit
from gossamer.services.frontier.revisit import Basis
from gossamer.services.frontier.revisit.price import (
    next_token_at,
    refill_tokens,
    refund_token,
    spend_token,
)
from gossamer.services.frontier.tables.bucketed_log import (
    NO_BUCKETS,
    PAGE_SIZE,
    BucketRange,
    RangedLog,
)
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.store import Partition, Store, Table
from gossamer.telemetry import count

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
IDLE_READ_AHEAD = 1
"""The entries that are read ahead while the policy never revisits."""
DEFAULT_DISCOVERY_SHARE = 0.5
"""The fraction of visits that are first visits, before the first allocation."""
MAX_MOVED_BUCKETS = 20
"""The maximum number of buckets that a step reads to replan their visits."""


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
        """Remove and return at most *limit* due entries, the oldest first.

        Their buckets are dropped by a later call: after a crash before the rows that they name were
        erased, the entries must come again.
        """
        self._drop(now)
        popped: list[DueRow] = []
        while self._is_due(now) and len(popped) < limit:
            position = heappop(self._order)
            self._popped_at = _time_of(position[1])
            popped.append(self._entries.pop(position))
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

    def erase(self, crawl: str) -> Iterator[None]:
        """Erase the entries of URLs of *crawl*, in pieces of some buckets."""
        end = self.log.last + 1
        for first in range(self.log.first, end, MAX_BUCKETS_PER_READ):
            last = min(first + MAX_BUCKETS_PER_READ, end) - 1
            self.log.read_ahead(first, last)
            for row in [row for row in self.log.rows(first, last) if row.crawl == crawl]:
                self.log.erase(row)
                self._entries.pop((_bucket(_time_of(row.key)), row.key), None)
            self._order = sorted(self._entries)
            yield

    def _load(self, now: float) -> None:
        """Move the horizon to the end of the lookahead, or until memory is full."""
        self._lookahead_end = _bucket(now) + LOOKAHEAD_BUCKETS
        end = _end_of_load(self._bucket, self.log.last, now)
        while self._bucket < end and (capacity := self._max_entries - len(self)) > 0:
            after = self._last.key if self._last else None
            rows = self.log.page(self._bucket, after, min(PAGE_SIZE, capacity))
            for row in rows:
                self._keep_in_memory(self._bucket, row)
            if rows:
                self._last = rows[-1]
            else:
                self._bucket, self._last = self._bucket + 1, None
        if self._bucket > self.log.last:
            self._bucket = max(self._bucket, self._lookahead_end)


def _time_of(key: str) -> float:
    """Return the time in the key of an entry."""
    return float(key.partition(" ")[0])


def _bucket(at: float) -> int:
    return int(at // BUCKET_SECONDS)


def _end_of_load(first: int, last: int, now: float) -> int:
    """Return the end of the buckets from *first* to *last* that are read at once."""
    # After an outage many buckets are due: some of them are read now, and none after the last.
    return min(_bucket(now) + LOOKAHEAD_BUCKETS, last + 1, first + MAX_BUCKETS_PER_READ)


def keys_to_load(
    table: Table[DueRow], name: str, stored: BucketRange, now: float
) -> list[Partition]:
    """Return the keys of the buckets that the calendar *name* reads when it is opened, with the
    range in the store."""
    log = RangedLog(table, name, stored)
    end = _end_of_load(log.first, log.last, now)
    return [key for bucket in range(log.first, end) for key in log.keys(bucket)]


class Plans:
    """The planned visits of the crawl *crawl_id* in *partition*, and the state of the crawl."""

    def __init__(self, crawl_id: str, partition: str, store: Store, now: float) -> None:
        self.partition, self._crawl_id = partition, crawl_id
        self._rows, self._visits = store.table(PartitionPlansRow), store.table(DueRow)
        row = self._rows.get(partition, crawl_id) or PartitionPlansRow(crawl_id, partition)
        self._found = row
        # None, so that the first `write` puts the row, as in `Partition._written`.
        self._written: PartitionPlansRow | None = None
        self.crawl = refill_tokens(revisit.unpack_crawl(row.statistics), now)
        self.policy, self._generation = row.policy, row.generation
        former = self._calendar_name(row.generation - 1)
        self._moving = RangedLog(self._visits, former, row.moving)
        """The calendar of the former policy, while its entries are moved."""
        self._moved_to: str | None = None
        """The last moved key of the bucket that is being moved."""
        self.planned, self.spent = row.planned, Counter(row.spent)
        self.distrusted_hosts = row.distrusted_hosts
        self._calendar = self._open_calendar(row.revisits, now)
        name = first_visit_calendar_name(crawl_id)
        self._first_visits = Calendar(self._visits, name, row.first_visits, now)
        self._waiting = row.waiting
        self.discovery_share, self._credit = DEFAULT_DISCOVERY_SHARE, 0.0
        self._written_totals = self.to_row()

    def _open_calendar(self, found: BucketRange, now: float) -> Calendar:
        read_ahead = IDLE_READ_AHEAD if self.policy == NEVER else MAX_LOADED_ENTRIES
        name = self._calendar_name(self._generation)
        return Calendar(self._visits, name, found, now, read_ahead)

    def _calendar_name(self, generation: int) -> str:
        return calendar_name(self._crawl_id, generation)

    def add(self, entry: DueRow) -> None:
        """Add *entry* to the calendar; adding it twice has no effect."""
        self._calendar.add(entry)

    def due(self) -> float | None:
        """Return when `pop_due` can return a visit, or must read entries; None if never."""
        ends = [self._first_visits.due(), None if self.policy == NEVER else self._calendar.due()]
        at = min((end for end in ends if end is not None), default=None)
        return None if at is None else max(at, next_token_at(self.crawl))

    def pop_due(self, now: float, limit: int) -> list[DueRow]:
        """Pop at most *limit* due visits that the budget allows."""
        due = self.due()
        if (due is None or due > now) and self.crawl.tokens_at <= now:
            # The tokens are not refilled: a crawl without due visits writes nothing.
            return []
        self.crawl = refill_tokens(self.crawl, now)
        if self.crawl.budget:
            limit = min(limit, int(self.crawl.tokens))
        taken: list[DueRow] = []
        while len(taken) < limit and (found := self._next(now)):
            taken += found
            self.crawl = spend_token(self.crawl)
        return taken

    def _next(self, now: float) -> list[DueRow]:
        """Pop the next due visit. The fraction `discovery_share` of visits are first visits."""
        self._credit = min(self._credit + self.discovery_share, 2.0)
        if self._credit >= 1.0 and (first := self._pop_first_visit(now)):
            return first
        again = [] if self.policy == NEVER else self._calendar.pop_due(now, 1)
        return again or self._pop_first_visit(now)

    def _pop_first_visit(self, now: float) -> list[DueRow]:
        popped = self._first_visits.pop_due(now, 1)
        self._credit = max(0.0, self._credit - len(popped))
        self._waiting -= len(popped)
        return popped

    def add_first_visit(self, entry: DueRow) -> None:
        """Add the first visit to a URL, which waits for the budget."""
        self._first_visits.add(entry)
        self._waiting += 1

    @property
    def waiting(self) -> int:
        """The number of first visits that wait for the budget."""
        # The count may be wrong after a crash, so an empty calendar counts as 0.
        if self._first_visits.due() is None:
            return 0
        return max(self._waiting, len(self._first_visits))

    def count_ordered(self, visits: Iterable[QueuedUrl]) -> None:
        """Count the revisits among ordered *visits*."""
        for visit in visits:
            if visit.basis:
                self.spent[visit.basis] += 1
                count("gossamer_revisits_total", basis=visit.basis, crawl=self._crawl_id)

    def refund_excluded(self, visits: Iterable[QueuedUrl]) -> None:
        """Refund the tokens of *visits* that are not made."""
        for visit in visits:
            if visit.basis and visit.basis != Basis.REQUESTED:
                self.refund()

    def refund(self) -> None:
        """Refund the token of one visit."""
        self.crawl = refund_token(self.crawl)

    def count_distrusted(self) -> None:
        """Count a host whose validators are no longer trusted."""
        self.distrusted_hosts += 1
        count("gossamer_distrusted_validators_total")

    def is_behind(self, policy: str) -> bool:
        """Return whether some visits are not yet planned by *policy*."""
        return policy != self.policy or self._is_moving

    @property
    def _is_moving(self) -> bool:
        return self._moving.first <= self._moving.last

    def follow(self, policy: str, now: float) -> None:
        """Change the policy to *policy*, unless an earlier change is still in progress."""
        if policy == self.policy or self._is_moving:
            return
        self.policy, self._generation = policy, self._generation + 1
        self._moving = self._calendar.log
        self._calendar = self._open_calendar(NO_BUCKETS, now)

    def pop_moved(self, limit: int) -> Sequence[DueRow]:
        """Pop at most *limit* entries of the former policy's calendar."""
        moved: list[DueRow] = []
        for _ in range(MAX_MOVED_BUCKETS):
            if not self._is_moving or len(moved) >= limit:
                break
            moved += self._pop_moved_bucket(limit - len(moved))
        return moved

    def _pop_moved_bucket(self, limit: int) -> list[DueRow]:
        bucket = self._moving.first
        found = self._moving.page(bucket, self._moved_to, limit)
        self._moved_to = found[-1].key if found else None
        if len(found) < limit:
            self._moving.drop(bucket)
            self._moving.skip_to(bucket + 1)
            self._moved_to = None
        return found

    def drop_buckets(self, limit: int) -> bool:
        """Drop at most *limit* buckets of the calendars; return whether no bucket is left."""
        for log in (self._moving, self._calendar.log, self._first_visits.log):
            while limit and log.first <= log.last:
                log.drop(log.first)
                log.skip_to(log.first + 1)
                limit -= 1
        return limit > 0

    def drop_row(self) -> None:
        """Erase the row of the crawl in the partition."""
        self._rows.erase(self.partition, self._crawl_id)

    @property
    def row(self) -> PartitionPlansRow:
        """The totals at the last write."""
        return self._written_totals

    def to_row(self) -> PartitionPlansRow:
        """Return the totals; `write` adds the buckets of the calendars."""
        return replace(
            self._found,
            policy=self.policy,
            generation=self._generation,
            waiting=self.waiting,
            planned=self.planned,
            next_at=None if self.policy == NEVER else self._calendar.next_entry(),
            spent=dict(self.spent),
            distrusted_hosts=self.distrusted_hosts,
            statistics=revisit.pack(self.crawl),
        )

    def write(self) -> bool:
        """Write the totals and the buckets of the calendars, and return whether they have changed.

        The row still includes the buckets that were dropped since the last write. The URLs of their
        entries were queued at hosts whose rows are written later. After a crash between the two
        writes, the entries must still be found.
        """
        self._written_totals = self.to_row()
        row = replace(
            self._written_totals,
            revisits=self._calendar.log.range_to_write(),
            moving=self._moving.range_to_write(),
            first_visits=self._first_visits.log.range_to_write(),
        )
        if row == self._written:
            return False
        self._written = row
        self._rows.put(row)
        return True


def calendar_name(crawl_id: str, generation: int) -> str:
    """Return the name of the calendar of revisits."""
    return f"{crawl_id}/{generation}"


def first_visit_calendar_name(crawl_id: str) -> str:
    """Return the name of the calendar of first visits."""
    return f"{crawl_id}/first"
