"""The speed of the crawl and the budget of its revisits, both divided among partitions.

**Speed.** Orders are limited by the gates of the crawl (`gates.py`) and by its speed
(`gossamer.speed`). Each frontier gets a share of the speed in proportion to the number of its
partitions. So all frontiers together keep to the speed, without messages to each other. Visits are
charged when they are ordered, and the next order waits for the time that they take at the speed.
The bytes of a visit are unknown until it ends. The average of earlier visits is charged with the
order, and the difference to it at the end of the visit.

**Budget.** The budget limits revisits. It limits first visits only if `discovery_share` is set, so
that a new crawl does not wait for its first pages. Each partition receives a part that depends on
the demand of its pages. Each frontier reads the totals of all partitions from time to time and
computes the same allocation; there is no coordinator. A host with first visits and revisits splits
its visits by `discovery_share`, too.
"""

from collections.abc import Iterator
from math import inf

from gossamer.events import CrawlDefined, SpeedSet
from gossamer.policies import NEVER
from gossamer.services.frontier import revisit
from gossamer.services.frontier.partition.gates import CrawlInputs, closed_crawl_gates, pages_left
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.revisit import CrawlState
from gossamer.services.frontier.revisit.price import set_budget
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.speed import NO_LIMIT, Speeds
from gossamer.store import Store
from gossamer.web.url import Site

UNLIMITED_PAGES = 1 << 60
BURST_SECONDS = 1.0
"""Seconds of unused speed that may be used later."""
EXPECTED_VISIT_BYTES = 30_000.0
"""The expected bytes of a visit before the first one."""
ALLOCATION_INTERVAL = 60.0
"""Seconds between two allocations of the budget."""


class Pacing:
    """Limits the orders of a frontier that has claimed *partitions*."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions, self._speeds = partitions, Speeds()
        self._speed, self._share, self._refresh_at = NO_LIMIT, 1.0, 0.0
        self._pages_charged_until = self._bytes_charged_until = 0.0
        """When the charged visits and bytes are used up at the speed."""
        self._visits = self._received = 0
        """The visits to the claimed partitions that have ended, and their bytes."""
        self._counted = frozenset[int]()
        """The partitions whose earlier visits are counted."""
        self.is_paused = False
        """Whether all crawls are paused together."""

    def pause(self, is_paused: bool) -> None:
        """Pause all crawls, or end that."""
        self.is_paused = is_paused

    def change(self, event: SpeedSet) -> None:
        """Use the speed of *event* from now on."""
        self._speeds.change(event)
        self._speed, self._refresh_at = NO_LIMIT, 0.0

    def refresh(self, now: float) -> None:
        """Refresh the speed for *now* and for our share of the partitions."""
        if self._partitions.numbers != self._counted:
            self._count_visits()
        share = len(self._partitions) / self._partitions.total
        if now < self._refresh_at and share == self._share:
            return
        speed = self._speeds.at(now)
        if (speed, share) != (self._speed, self._share):
            self._speed, self._share = speed, share
            self._pages_charged_until = self._bytes_charged_until = now
        self._refresh_at = self._speeds.until(now)

    @property
    def next_at(self) -> float:
        """When more may be ordered, or the speed may change."""
        return min(self._refresh_at, self._free_at) if self._limited else 0.0

    @property
    def _limited(self) -> bool:
        return self._speed.pages is not None or self._speed.bytes is not None

    @property
    def _free_at(self) -> float:
        at = self._pages_charged_until if self._speed.pages is not None else 0.0
        at = max(at, self._bytes_charged_until if self._speed.bytes is not None else 0.0)
        return inf if 0 in (self._speed.pages, self._speed.bytes) else at

    def gate_inputs(self, crawl: CrawlDefined) -> CrawlInputs:
        """Return the inputs of the gates of the crawl."""
        left = None
        if crawl.max_pages:
            partitions = [*self._partitions.read_crawl(crawl.crawl)]
            pages = sum(share.tally.row.pages for _, share in partitions)
            outstanding = sum(one.bench.outstanding[crawl.crawl] for one, _ in partitions)
            left = pages_left(crawl, pages, outstanding)
        return CrawlInputs(crawl, left, self._speed, self._refresh_at, self.is_paused)

    def visits_left(self, crawl: CrawlDefined) -> int | None:
        """Return the visits that *crawl* may have now, apart from the speed; 0 if its gates are
        closed until a known time, None if one is closed until another event."""
        at = self.gate_inputs(crawl)
        closed = [until for _, (until, _) in closed_crawl_gates(at)]
        if closed:
            return None if None in closed else 0
        return UNLIMITED_PAGES if at.pages_left is None else at.pages_left

    def max_order_visits(self, now: float) -> int:
        """Return the visits that one order may have now by the speed; 0 for no order.

        If the speed is limited, they are at most the visits of one second, because all visits of an
        order are charged at once.
        """
        if self._limited and self._free_at > now:
            return 0
        return max(1, int(min(self._rates(), default=UNLIMITED_PAGES)))

    def charge_visits(self, visits: int, now: float) -> None:
        """Charge *visits* that were ordered."""
        if self._speed.pages:
            since = max(self._pages_charged_until, now - BURST_SECONDS)
            self._pages_charged_until = since + visits / (self._speed.pages * self._share)
        if self._speed.bytes:
            since = max(self._bytes_charged_until, now - BURST_SECONDS)
            self._bytes_charged_until = since + visits * self._visit_bytes() / (
                self._speed.bytes * self._share
            )

    def charge_bytes(self, received: int) -> None:
        """Charge the difference between the *received* bytes of a visit that has ended and the
        expected bytes."""
        if self._speed.bytes:
            self._bytes_charged_until += (received - self._visit_bytes()) / (
                self._speed.bytes * self._share
            )
        self._visits += 1
        self._received += received

    def _rates(self) -> Iterator[float]:
        """Yield the visits per second that the limits of pages and of bytes allow."""
        if self._speed.pages is not None:
            yield self._speed.pages * self._share
        if self._speed.bytes is not None:
            yield self._speed.bytes * self._share / self._visit_bytes()

    def _visit_bytes(self) -> float:
        """Return the average bytes of a visit."""
        return self._received / self._visits if self._received else EXPECTED_VISIT_BYTES

    def _count_visits(self) -> None:
        """Count the visits to the claimed partitions until now, by the totals of all crawls."""
        tallies = [share.tally.row for share in self._partitions.shares()]
        self._visits = sum(sum(tally.outcomes.values()) for tally in tallies)
        self._received = sum(tally.received for tally in tallies)
        self._counted = self._partitions.numbers


class BudgetAllocation:
    """Allocates the budget of one *crawl*."""

    def __init__(self, crawl: str, partitions: Partitions, store: Store) -> None:
        self._crawl, self._partitions = crawl, partitions
        self._rows = store.table(PartitionPlansRow)
        self._policy, self._budget, self._shared_at, self._pages = NEVER, 0.0, 0.0, 0.0
        self._discovery_share: float | None = None

    def define(self, crawl: CrawlDefined) -> None:
        """Use the budget of *crawl*."""
        self._policy, self._budget, self._shared_at = crawl.revisit, crawl.budget, 0.0
        self._discovery_share = crawl.discovery_share

    @property
    def limited(self) -> bool:
        """Whether first visits wait for the budget."""
        return self._budget > 0 and self._discovery_share is not None

    def discovery_share(self, share: CrawlShare, site: Site) -> float:
        """Return the fraction of visits to hosts of *site* that are first visits, while URLs
        wait."""
        if self._discovery_share is not None:
            return self._discovery_share
        return revisit.discovery_share(share.plans.crawl, share.sites.revisit_state(site))

    def is_due(self, now: float) -> bool:
        """Return whether the interval since the last allocation is over."""
        return now >= self._shared_at + ALLOCATION_INTERVAL

    def allocate(self, now: float) -> None:
        """Allocate the budget to the claimed partitions by the demand of all partitions, if it is
        due."""
        read = self._partitions.read_crawl(self._crawl)
        pages = sum(share.plans.crawl.pages for _, share in read)
        # Also before the interval is over, if the number of pages has doubled: the first pages of a
        # crawl decide the allocation.
        if not self.is_due(now) and pages < 2 * self._pages + 1:
            return
        claimed = [*self._partitions.of_crawl(self._crawl)]
        self._shared_at, self._pages = now, pages
        keys = partition_keys(self._partitions.total)
        found = self._rows.get_all([(key, self._crawl) for key in keys]) if self._budget else ()
        rows = {row.partition: row for row in found}
        rows |= {share.plans.partition: share.plans.to_row() for _, share in claimed}
        totals = [rows.get(key) or PartitionPlansRow(self._crawl, key) for key in keys]
        parts = self._parts(totals)
        for partition, share in claimed:
            plans, (again, new) = share.plans, parts[partition.number]
            plans.crawl = set_budget(plans.crawl, again + new, now)
            plans.discovery_share = new / (again + new) if new else 0.0

    def _parts(self, totals: list[PartitionPlansRow]) -> list[tuple[float, float]]:
        """Return the visits a day of each partition: (revisits, first visits)."""
        crawls = [revisit.unpack_crawl(row.statistics) for row in totals]
        again = revisit.split_budget([crawl.curve for crawl in crawls], self._budget)
        if not any(crawl.curve for crawl in crawls):
            # Without any demand each partition plans its first page with the whole budget.
            again = [self._budget] * len(totals)
        waiting = sum(row.waiting for row in totals)
        share = self._share_of_new(crawls) if waiting else 0.0
        return [
            ((1 - share) * part, share * self._budget * row.waiting / (waiting or 1))
            for part, row in zip(again, totals, strict=True)
        ]

    def _share_of_new(self, crawls: list[CrawlState]) -> float:
        """Return the fraction of the budget for first visits, which includes all that revisits do
        not need."""
        share = self._discovery_share
        if share is None:
            share = revisit.discovery_share(max(crawls, key=lambda crawl: crawl.pages))
        demand = 0.0 if self._policy == NEVER else sum(crawl.demand for crawl in crawls)
        return max(share, 1 - demand / self._budget) if self._budget else 0.0
