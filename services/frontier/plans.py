"""The plans of one partition: which URLs are visited again at what time, and how plans are changed.

A plan is a row of its URL (`rows.PlanRow`), and the calendar has an entry for each. A policy that
says "never" keeps entries as well, under the time of the last visit, and takes none: another policy
may plan these pages. When the crawl's policy changes, the entries are moved into a new calendar, a
few a step, and each page is planned again on the way.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gossamer.policies import NEVER
from gossamer.store import Store
from gossamer.telemetry import count
from services.frontier import revisit
from services.frontier.bucketed_log import NO_BUCKETS, BucketRange, RangedLog
from services.frontier.calendar import MOST, Calendar
from services.frontier.revisit import Basis
from services.frontier.revisit.price import next_token_at, refill_tokens, refund_token, spend_token
from services.frontier.rows import DueRow, PartitionPlansRow, QueuedUrl

UNREAD = 1
"""Entries in memory of a calendar that nobody takes from."""
HALF = 0.5
LOOKED_INTO = 20
"""Most buckets that a step reads to replan their visits."""


class Plans:
    """The visits of the crawl *crawl_id* that *partition* has planned, and what its pages have in
    common. Their calendars have buckets of their own."""

    def __init__(self, crawl_id: str, partition: str, store: Store, now: float) -> None:
        self.partition, self._crawl_id = partition, crawl_id
        self._rows, self._visits = store.table(PartitionPlansRow), store.table(DueRow)
        keys = crawl_id, partition
        self._found = row = self._rows.get(keys) or PartitionPlansRow(*keys)
        # As `Partition._written`.
        self._written: PartitionPlansRow | None = None
        self.crawl = refill_tokens(revisit.unpack_crawl(row.statistics), now)
        self.policy, self._generation = row.policy, row.generation
        former = self._calendar_name(row.generation - 1)
        self._moving = RangedLog(self._visits, former, row.moving)
        """The calendar of the policy before."""
        self._moved_to: str | None = None
        """The last key of the bucket that is being moved that has been."""
        self.planned, self.spent, self.liars = row.planned, Counter(row.spent), row.liars
        self._calendar = self._opened(row.revisits, now)
        new = new_calendar_name(crawl_id)
        self._new = Calendar(self._visits, new, row.new, now)
        self._waiting = row.waiting
        self.discovery_share, self._credit = HALF, 0.0
        self._settled = self.standing()

    def _opened(self, found: BucketRange, now: float) -> Calendar:
        most = UNREAD if self.policy == NEVER else MOST
        name = self._calendar_name(self._generation)
        return Calendar(self._visits, name, found, now, most)

    def _calendar_name(self, generation: int) -> str:
        return calendar_name(self._crawl_id, generation)

    def add(self, entry: DueRow) -> None:
        """Return *entry* at its time, once if it is added again."""
        self._calendar.add(entry)

    def due(self) -> float | None:
        """Return when a visit may be taken, or more must be read; None if never."""
        ends = [self._new.due(), None if self.policy == NEVER else self._calendar.due()]
        at = min((end for end in ends if end is not None), default=None)
        return None if at is None else max(at, next_token_at(self.crawl))

    def take(self, now: float, most: int) -> list[DueRow]:
        """Remove and return visits whose time has come and that the budget pays for."""
        self.crawl = refill_tokens(self.crawl, now)
        if self.crawl.budget:
            most = min(most, int(self.crawl.tokens))
        taken: list[DueRow] = []
        while len(taken) < most and (found := self._next(now)):
            taken += found
            self.crawl = spend_token(self.crawl)
        return taken

    def _next(self, now: float) -> list[DueRow]:
        """Remove and return the visit whose turn it is: a first one as often as its share says."""
        self._credit = min(self._credit + self.discovery_share, 2.0)
        if self._credit >= 1.0 and (new := self._take_new(now)):
            return new
        again = [] if self.policy == NEVER else self._calendar.take(now, 1)
        return again or self._take_new(now)

    def _take_new(self, now: float) -> list[DueRow]:
        new = self._new.take(now, 1)
        self._credit = max(0.0, self._credit - len(new))
        self._waiting -= len(new)
        return new

    def hold(self, entry: DueRow) -> None:
        """Have a URL that was never visited wait for the budget."""
        self._new.add(entry)
        self._waiting += 1

    @property
    def waiting(self) -> int:
        """How many URLs that were never visited wait for the budget."""
        # Whatever was counted before a crash: where none is left, none has a share of the budget.
        return 0 if self._new.due() is None else max(self._waiting, len(self._new))

    def ordered(self, visits: Iterable[QueuedUrl]) -> None:
        """Count those of *visits* that come back to a page."""
        for visit in visits:
            if visit.basis:
                self.spent[visit.basis] += 1
                count("gossamer_revisits_total", basis=visit.basis)

    def left_out(self, visits: Iterable[QueuedUrl]) -> None:
        """Refund what was paid for *visits* that are not made."""
        for visit in visits:
            if visit.basis and visit.basis != Basis.REQUESTED:
                self.refund()

    def refund(self) -> None:
        """Refund one visit that `take` has paid for."""
        self.crawl = refund_token(self.crawl)

    def lied(self) -> None:
        """Count a host whose validators are not trusted any more."""
        self.liars += 1
        count("gossamer_lying_validators_total")

    def is_behind(self, policy: str) -> bool:
        """Whether some visits are still to be planned by *policy*."""
        return policy != self.policy or self._is_moving

    @property
    def _is_moving(self) -> bool:
        return self._moving.first <= self._moving.last

    def follow(self, policy: str, now: float) -> None:
        """Have all visits planned by *policy* from now on, once those of before are moved."""
        if policy == self.policy or self._is_moving:
            return
        self.policy, self._generation = policy, self._generation + 1
        self._moving = self._calendar.log
        self._calendar = self._opened(NO_BUCKETS, now)

    def moved(self, most: int) -> Sequence[DueRow]:
        """Remove and return at most *most* entries of the former policy's calendar."""
        moved: list[DueRow] = []
        for _ in range(LOOKED_INTO):
            if not self._is_moving or len(moved) >= most:
                break
            moved += self._moved_of_a_bucket(most - len(moved))
        return moved

    def _moved_of_a_bucket(self, most: int) -> list[DueRow]:
        bucket = self._moving.first
        found = self._moving.page(bucket, self._moved_to, most)
        self._moved_to = found[-1].key if found else None
        if len(found) < most:
            self._moving.drop(bucket)
            self._moving.leave(bucket + 1)
            self._moved_to = None
        return found

    @property
    def row(self) -> PartitionPlansRow:
        """How they stood at the last write."""
        return self._settled

    def standing(self) -> PartitionPlansRow:
        """Return how the plans stand; `write` adds the buckets of their calendars."""
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
        """Put what has changed into the store.

        The row names dropped buckets until the next write: after a crash before the rows of the
        hosts are written that have queued what was there, it must still be found.
        """
        self._settled = self.standing()
        row = replace(
            self._settled,
            revisits=self._calendar.log.range_to_write(),
            moving=self._moving.range_to_write(),
            new=self._new.log.range_to_write(),
        )
        if row != self._written:
            self._written = row
            self._rows.put(row)


def calendar_name(crawl_id: str, generation: int) -> str:
    """Return the name of the calendar of all visits to known pages."""
    return f"{crawl_id}/{generation}"


def new_calendar_name(crawl_id: str) -> str:
    """Return the name of the calendar of URLs that were never visited."""
    return f"{crawl_id}/new"
