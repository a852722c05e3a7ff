"""What one crawl has in a partition: its queues, plans, parked URLs, sites and totals.

A handler of an event gets the claimed `Partition`, which has what all crawls share, and the
`CrawlShare` of the event's crawl. Nothing in a share belongs to another crawl.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gossamer.erasures import Erasures
from gossamer.events import PageDeduplicated
from gossamer.events.hazards import HAZARDS, Hazard
from gossamer.services.frontier.partition.awaited_visits import SlowStart
from gossamer.services.frontier.partition.directory import Directory
from gossamer.services.frontier.partition.parked import ParkedUrls
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.partition.plans import Plans
from gossamer.services.frontier.partition.queue import HostQueues
from gossamer.services.frontier.partition.sites import CrawlSites
from gossamer.services.frontier.tables.hosts import OffsetAndTime
from gossamer.services.frontier.tables.ordering import Prospect, Strategy, rank_of
from gossamer.services.frontier.tables.totals import pick
from gossamer.services.frontier.tables.urls import Origin
from gossamer.services.frontier.totals.daily import FreshnessSums, HazardExample
from gossamer.services.frontier.totals.tally import Tally
from gossamer.settings import FrontierSettings
from gossamer.web.url import Site, site_of


@dataclass
class CrawlShare:
    """What *crawl* has in a partition."""

    crawl: str
    settings: FrontierSettings
    erasures: Erasures
    """The erasures of the partition, which concern all crawls."""
    sites: CrawlSites
    directory: Directory
    """The hosts with URLs of the crawl that wait for the workbench."""
    queues: HostQueues
    parts: Parts
    parked: ParkedUrls
    plans: Plans
    tally: Tally
    slow_start: SlowStart = field(default_factory=SlowStart)
    is_removed: bool = False
    """Whether the crawl is removed."""

    def __repr__(self) -> str:
        return f"<CrawlShare of {self.crawl}>"

    def close(self) -> None:
        """Store nothing more about the sites of the crawl, which is removed. Outcomes of visits in
        flight still change the hosts."""
        self.is_removed = True
        self.sites.is_closed = self.parts.is_closed = self.tally.daily.is_closed = True

    # The rank of URLs that were never visited.

    def rank(
        self,
        site: Site,
        url: str,
        origin: Origin,
        strategy: Strategy,
        is_linked: bool,
        is_next: bool = False,
        good_links: int = 0,
    ) -> int:
        """Return the rank of a URL of *site*, as `rank_by_parts` does."""
        has_seed = self.sites.has_seed
        return rank_by_parts(
            self.parts, has_seed, site, url, origin, strategy, is_linked, is_next, good_links
        )

    def release_budgets(self, site: Site, now: float) -> None:
        """Release URLs of the budgets of *site* that have room.

        It is called when the site may have earned more, and when URLs that were released are not
        visited: no verdict follows then.
        """
        hosts, has_seed = self.sites.hosts(site), self.sites.has_seed(site)
        self.parts.release_budgets(site, hosts, has_seed, self.settings, now)

    # Totals.

    def count_refused(self, rule: Hazard, site: Site, url: str) -> None:
        """Count a *url* of *site* that *rule* refuses."""
        self.count_hazards(site, url, self.tally.count_refused(rule))

    def count_hazard(self, hazard: Hazard, site: Site, url: str) -> None:
        """Count a *hazard* that the frontier counts, and that *url* of *site* met."""
        self.count_hazards(site, url, self.tally.count_hazard(hazard))

    def count_verdict(self, event: PageDeduplicated, record: OffsetAndTime | None) -> bool:
        """Count a verdict; return False if it was counted before, from the same *record*."""
        hazards = self.tally.count_verdict(event, record)
        if hazards is None:
            return False
        self.count_hazards(event.site, event.visit.url, sorted(hazards))
        self.sites.note_page(event)
        return True

    def count_parked(self, site: Site, via: str, limit: str, urls: Sequence[str]) -> None:
        """Count the links to *urls* of a page of *site*, the visit *via*, which are parked because
        of *limit*."""
        hazard = Hazard(limit) if limit in HAZARDS else Hazard.BLACKLISTED
        first = bool(self._add_hazards(site, [hazard]))
        productive = self.sites.is_productive(site)
        self.tally.daily.count_parked(hazard, len(urls), first, productive)
        # An example of another site would not be erased with its site, in another partition.
        page = via.partition("@")[2]
        example = next((url for url in urls if site_of(url) == site), page)
        if example and not self.erasures.of_link(via, example):
            self.tally.daily.add_example(hazard, HazardExample(example, site))

    def count_hazards(self, site: Site, url: str, hazards: Sequence[str]) -> None:
        """Count the *hazards* that *url* of *site* met."""
        if hazards:
            first = self._add_hazards(site, hazards)
            productive = self.sites.is_productive(site)
            self.tally.daily.count_hazards(url, site, hazards, first, productive)

    def _add_hazards(self, site: Site, hazards: Sequence[str]) -> list[str]:
        """Return the *hazards* that *site* meets for the first time."""
        if self.sites.is_new(site):
            self.tally.daily.count_site()
        return self.sites.add_hazards(site, hazards)

    def write(self) -> bool:
        """Put changed totals and cursors of the crawl into the store; return whether the plans have
        changed, whose next row may be without buckets that were dropped."""
        has_changed = self.plans.write()
        self.parked.write()
        freshness = pick(FreshnessSums, self.plans.crawl, planned=self.plans.planned)
        self.tally.daily.freshness = freshness
        self.tally.write()
        return has_changed


def rank_by_parts(
    parts: Parts,
    has_seed: Callable[[Site], bool],
    site: Site,
    url: str,
    origin: Origin,
    strategy: Strategy,
    is_linked: bool,
    is_next: bool = False,
    good_links: int = 0,
) -> int:
    """Return the rank of a URL of *site* that was never visited, by the worth of its *parts*.

    *has_seed*: whether a seed of a site was admitted; *is_linked*: a page of another site linked to
    the URL; *is_next*: the random walk goes on with it; *good_links*: the links of good pages that
    promoted it.
    """
    if not strategy.predicts:
        return rank_of(strategy, url, origin, Prospect())
    worth = parts.rank_worth(site, url, origin) if strategy.worth else 1.0
    is_seeded = not strategy.expansion or has_seed(site)
    prospect = Prospect(worth, is_linked, is_seeded, is_next, good_links)
    return rank_of(strategy, url, origin, prospect)
