"""How the crawl's budget is shared out: among partitions, and between new URLs and known pages.

The budget limits revisits. It limits first visits only where `discovery_share` is set: a new crawl
should not have to wait for its first pass.

Each partition has a share by what its pages ask for; each frontier reads how the others stand, from
time to time, and nobody decides for all. Where a host has both kinds of work, its visits are shared
out in the same way.
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

AT_LEAST = 60.0
"""Seconds between two looks at how the budget is shared out among the partitions."""


class Shares:
    """Shares out what the crawl in force may spend."""

    def __init__(self, partitions: Partitions, store: Store) -> None:
        self._partitions, self._rows = partitions, store.table(PartitionPlansRow)
        self._policy, self._budget, self._shared_at, self._pages = NEVER, 0.0, 0.0, 0.0
        self._discovery_share: float | None = None

    def define(self, crawl: CrawlDefined) -> None:
        """Share out the budget of *crawl* from now on."""
        self._policy, self._budget, self._shared_at = crawl.revisit, crawl.budget, 0.0
        self._discovery_share = crawl.discovery_share

    @property
    def limited(self) -> bool:
        """Whether URLs that were never visited wait for their share of the budget."""
        return self._budget > 0 and self._discovery_share is not None

    def of_new(self, partition: Partition, site: str) -> float:
        """Return which share of the visits to a host of *site* is to new URLs, while some wait."""
        if self._discovery_share is not None:
            return self._discovery_share
        return revisit.discovery_share(partition.plans.crawl, partition.sites.revisits(site))

    def share_out(self, now: float) -> None:
        """Share the crawl's budget out among all partitions, as their pages ask for it."""
        pages = sum(partition.plans.crawl.pages for partition in self._partitions)
        # Sooner while there are few pages: the first ones decide whose budget it is.
        if now < self._shared_at + AT_LEAST and pages < 2 * self._pages + 1:
            return
        self._shared_at, self._pages = now, pages
        claimed = self._partitions
        keys = [(claimed.crawl, key) for key in partition_keys(claimed.in_all)]
        found = self._rows.get_all([(key, "") for key in keys]) if self._budget else ()
        rows = {row.partition: row for row in found}
        rows |= {one.plans.partition: one.plans.standing() for one in claimed}
        stands = [rows.get(key[1]) or PartitionPlansRow(*key) for key in keys]
        parts = self._parts(stands)
        for partition in claimed:
            plans, (again, new) = partition.plans, parts[partition.number]
            plans.crawl = set_budget(plans.crawl, again + new)
            plans.discovery_share = new / (again + new) if new else 0.0

    def _parts(self, stands: list[PartitionPlansRow]) -> list[tuple[float, float]]:
        """Return the visits a day of each partition: to known pages, and to new URLs."""
        crawls = [revisit.unpack_crawl(row.statistics) for row in stands]
        again = revisit.split_budget([crawl.curve for crawl in crawls], self._budget)
        if not any(crawl.curve for crawl in crawls):
            # Each plans its first page as if it had all: whose budget it is shows after that.
            again = [self._budget] * len(stands)
        waiting = sum(row.waiting for row in stands)
        share = self._share_of_new(crawls) if waiting else 0.0
        return [
            ((1 - share) * part, share * self._budget * row.waiting / (waiting or 1))
            for part, row in zip(again, stands, strict=True)
        ]

    def _share_of_new(self, crawls: list[CrawlState]) -> float:
        """Return which part of the budget new URLs have: at least what pages do not ask for."""
        share = self._discovery_share
        if share is None:
            share = revisit.discovery_share(max(crawls, key=lambda crawl: crawl.pages))
        asked = 0.0 if self._policy == NEVER else sum(crawl.demand for crawl in crawls)
        return max(share, 1 - asked / self._budget) if self._budget else 0.0
