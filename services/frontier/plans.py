"""The plans of one partition: its calendar of revisits, its budget, and changes of the policy.

A plan is a row of its URL (`rows.PlanRow`), and the calendar has an entry for each plan. The policy
`none` also keeps entries, at the time of the last visit, and never pops them, because another
policy may plan these pages. When the crawl's policy changes, the entries move to a new calendar, a
few in each step, and each page is planned again.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gossamer.policies import NEVER
from gossamer.store import Store
from gossamer.telemetry import count
from services.frontier import revisit
from services.frontier.bucketed_log import NO_BUCKETS, BucketRange, RangedLog
from services.frontier.calendar import MAX_LOADED_ENTRIES, Calendar
from services.frontier.revisit import Basis
from services.frontier.revisit.price import next_token_at, refill_tokens, refund_token, spend_token
from services.frontier.rows import DueRow, PartitionPlansRow, QueuedUrl

IDLE_READ_AHEAD = 1
"""The entries that are read ahead while the policy never revisits."""
DEFAULT_DISCOVERY_SHARE = 0.5
"""The fraction of visits that are first visits, before the first allocation."""
MAX_MOVED_BUCKETS = 20
"""The maximum number of buckets that a step reads to replan their visits."""


class Plans:
    """The planned visits of the crawl *crawl_id* in *partition*, and the state of the crawl."""

    def __init__(self, crawl_id: str, partition: str, store: Store, now: float) -> None:
        self.partition, self._crawl_id = partition, crawl_id
        self._rows, self._visits = store.table(PartitionPlansRow), store.table(DueRow)
        keys = crawl_id, partition
        self._found = row = self._rows.get(keys) or PartitionPlansRow(*keys)
        # None, so that the first `write` puts the row, as in `Partition._written`.
        self._written: PartitionPlansRow | None = None
        self.crawl = refill_tokens(revisit.unpack_crawl(row.statistics), now)
        self.policy, self._generation = row.policy, row.generation
        former = self._calendar_name(row.generation - 1)
        self._moving = RangedLog(self._visits, former, row.moving)
        """The calendar of the former policy, while its entries are moved."""
        self._moved_to: str | None = None
        """The last moved key of the bucket that is being moved."""
        self.planned, self.spent, self.liars = row.planned, Counter(row.spent), row.liars
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
                count("gossamer_revisits_total", basis=visit.basis)

    def refund_excluded(self, visits: Iterable[QueuedUrl]) -> None:
        """Return the tokens of *visits* that are not made."""
        for visit in visits:
            if visit.basis and visit.basis != Basis.REQUESTED:
                self.refund()

    def refund(self) -> None:
        """Return the token of one visit."""
        self.crawl = refund_token(self.crawl)

    def count_distrusted(self) -> None:
        """Count a host whose validators are no longer trusted."""
        self.liars += 1
        count("gossamer_lying_validators_total")

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
            liars=self.liars,
            statistics=revisit.pack(self.crawl),
        )

    def write(self) -> None:
        """Write the totals and the buckets of the calendars, if they have changed.

        The row still names the buckets that were dropped since the last write. It is written before
        the rows of the hosts that queued their URLs: after a crash between the two writes, the
        entries must still be found.
        """
        self._written_totals = self.to_row()
        row = replace(
            self._written_totals,
            revisits=self._calendar.log.range_to_write(),
            moving=self._moving.range_to_write(),
            first_visits=self._first_visits.log.range_to_write(),
        )
        if row != self._written:
            self._written = row
            self._rows.put(row)


def calendar_name(crawl_id: str, generation: int) -> str:
    """Return the name of the calendar of revisits."""
    return f"{crawl_id}/{generation}"


def first_visit_calendar_name(crawl_id: str) -> str:
    """Return the name of the calendar of first visits."""
    return f"{crawl_id}/first"
