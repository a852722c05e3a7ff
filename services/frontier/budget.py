"""The allocation of the revisit budget to partitions, and to first visits and revisits.

The budget limits revisits. It limits first visits only if `discovery_share` is set, so that a new
crawl does not wait for its first pages.

Each partition receives a part that depends on the demand of its pages. Each frontier reads the
totals of all partitions from time to time and computes the same allocation; there is no
coordinator. A host with both kinds of work splits its visits in the same way.
"""

from gossamer.events import CrawlDefined
from gossamer.policies import NEVER
from gossamer.store import Store
from services.frontier import revisit
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.revisit import CrawlState
from services.frontier.revisit.price import set_budget
from services.frontier.rows import PartitionPlansRow, partition_keys

ALLOCATION_INTERVAL = 60.0
"""Seconds between two allocations of the budget."""


class BudgetAllocation:
    """Allocates the budget of the active crawl."""

    def __init__(self, partitions: Partitions, store: Store) -> None:
        self._partitions, self._rows = partitions, store.table(PartitionPlansRow)
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

    def discovery_share(self, partition: Partition, site: str) -> float:
        """Return the fraction of visits to hosts of *site* that are first visits, while URLs
        wait."""
        if self._discovery_share is not None:
            return self._discovery_share
        return revisit.discovery_share(partition.plans.crawl, partition.sites.revisit_state(site))

    def allocate(self, now: float) -> None:
        """Allocate the budget to the claimed partitions by the demand of all partitions."""
        pages = sum(partition.plans.crawl.pages for partition in self._partitions)
        # Also before the interval is over, if the number of pages has doubled: the first pages of a
        # crawl decide the allocation.
        if now < self._shared_at + ALLOCATION_INTERVAL and pages < 2 * self._pages + 1:
            return
        self._shared_at, self._pages = now, pages
        claimed = self._partitions
        keys = [(claimed.crawl, key) for key in partition_keys(claimed.total)]
        found = self._rows.get_all([(key, "") for key in keys]) if self._budget else ()
        rows = {row.partition: row for row in found}
        rows |= {one.plans.partition: one.plans.to_row() for one in claimed}
        totals = [rows.get(key[1]) or PartitionPlansRow(*key) for key in keys]
        parts = self._parts(totals)
        for partition in claimed:
            plans, (again, new) = partition.plans, parts[partition.number]
            plans.crawl = set_budget(plans.crawl, again + new)
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
        """Return the fraction of the budget for first visits: at least what revisits do not
        need."""
        share = self._discovery_share
        if share is None:
            share = revisit.discovery_share(max(crawls, key=lambda crawl: crawl.pages))
        demand = 0.0 if self._policy == NEVER else sum(crawl.demand for crawl in crawls)
        return max(share, 1 - demand / self._budget) if self._budget else 0.0
