"""Removal of a crawl: its queues and rows are dropped site by site.

The frontier finds the sites of a removed crawl in a scan of all sites (`SiteRow.crawls`). For each
site it empties the queues of the crawl, and sends the events of an erasure to dedup and the
archive. When dedup has answered, it erases the rows of the URLs. The crawl leaves the rows of the
site and its hosts in a later step, after the rows before were erased. So what is left is the
progress: after a crash, the scan finds the remaining sites. Another scan follows until one finds no
site. Then the rows about the whole partition are dropped: first the buckets, then the rows that
name the buckets, last the row by which a frontier sees that a partition has rows of the crawl.

Hosts, robots.txt rules, leases, delays, and the rows of other crawls stay. Visits in flight end as
others, so that their hosts keep their delays, but nothing is stored about their URLs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gossamer.events import CrawlDefined, Erasure, Event, UrlsErased
from gossamer.log import MAX_POLL_RECORDS, key_group_of
from gossamer.store import Store
from gossamer.web.url import host_key
from services.frontier.erasing import ErasureHandler
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.rows import PartitionPlansRow, PlanRow, SiteRow, UrlRow
from services.frontier.usage_files import archived_files

MAX_SITES = 20
"""Sites that are removed at once."""
MAX_SITES_PER_STEP = 1
"""Sites whose removal begins in one step. Each needs about forty reads for each of its hosts."""
MAX_SCANNED_SITES = 1000
"""Sites that are read in one step."""
MAX_DROPPED_BUCKETS = 1000
"""Buckets of the calendars of one partition that are dropped in one step."""
SiteOfCrawl = tuple[str, str]
"""A crawl and a site."""


class CrawlRemoval:
    """Drops the rows of removed crawls from the claimed partitions."""

    def __init__(self, store: Store, partitions: Partitions, erasures: ErasureHandler) -> None:
        self._partitions, self._erasures = partitions, erasures
        self._sites, self._plans = store.table(SiteRow), store.table(PartitionPlansRow)
        self._plans_of_urls, self._urls = store.table(PlanRow), store.table(UrlRow)
        self._definitions = dict[str, CrawlDefined]()
        """The removed crawls."""
        self.start()

    def start(self) -> None:
        """Begin again with what is left, after a change of the claimed partitions."""
        self._left = [
            partition
            for crawl in self._definitions
            for partition in self._partitions.of_crawl(crawl)
            if self._has_rows(partition)
        ]
        """The partitions with rows of a removed crawl, as that crawl sees them."""
        self._scan: Iterator[SiteRow] | None = None
        self._found = False
        """Whether this scan has found a site of a removed crawl."""
        self._awaited = set[SiteOfCrawl]()
        """Sites whose rows dedup has yet to erase."""
        self._erased = list[SiteOfCrawl]()
        """Sites whose rows were erased in this step."""
        self._stored = list[SiteOfCrawl]()
        """Sites whose rows were erased in an earlier step. The crawl leaves them now."""
        self._drops: Iterator[None] | None = None
        """The steps that drop the rows about whole partitions; None before the last scan."""

    def _has_rows(self, partition: Partition) -> bool:
        if self._plans.get((partition.crawl, partition.shared.key)):
            return True
        partition.shared.dropped.add(partition.crawl)
        return False

    def define(self, crawl: CrawlDefined) -> None:
        """Begin to remove *crawl* if it is removed."""
        if crawl.removed and crawl.crawl not in self._definitions:
            self._definitions[crawl.crawl] = crawl
            for partition in self._partitions.of_crawl(crawl.crawl):
                partition.close()
            self.start()

    @property
    def has_work(self) -> bool:
        """Whether `wake` has something to do now."""
        if self._stored or self._drops:
            return True
        is_waiting = self._scan is None and bool(self._awaited or self._erased)
        return bool(self._left) and not is_waiting and len(self._awaited) < MAX_SITES

    def wake(self, now: float) -> Iterator[Event]:
        """Do the work of one step; yield the erasures for other services."""
        stored, self._stored = self._stored, []
        for crawl, site in stored:
            if partition := self._partitions.of(site, crawl):
                partition.leave(site)
        if self._left and not self._drops:
            yield from self._begin_sites(now)
        if self._drops and next(self._drops, self) is self:
            self.start()

    def settle(self) -> None:
        """Note that the rows that were erased in this step are stored with it."""
        self._stored += self._erased
        self._erased = []

    def _begin_sites(self, now: float) -> Iterator[Event]:
        """Go on with the scan, until enough sites or URLs are in flight."""
        if self._scan is None:
            if self._awaited or self._erased:
                return
            self._scan, self._found = self._sites.everything(), False
        left = defaultdict[str, list[Partition]](list)
        for partition in self._left:
            left[partition.crawl].append(partition)
        urls, limit = 0, min(MAX_SITES, len(self._awaited) + MAX_SITES_PER_STEP)
        for _ in range(MAX_SCANNED_SITES):
            if urls >= MAX_POLL_RECORDS or len(self._awaited) >= limit:
                return
            if (row := next(self._scan, None)) is None:
                self._end_scan()
                return
            number = self._partitions.number_of(row.site)
            for crawl in row.crawls.keys() & left.keys():
                for partition in left[crawl]:
                    # The scan may read rows that are older than those in memory.
                    if partition.number == number and partition.sites.has_entered(row.site):
                        self._found = True
                        for event in self._begin(partition, row.site, now):
                            urls += len(getattr(event, "urls", ()))
                            yield event

    def _end_scan(self) -> None:
        self._scan = None
        if not self._found:
            self._drops = self._drop_partitions()

    def _begin(self, partition: Partition, site: str, now: float) -> Iterator[Event]:
        """Stop all visits of the crawl to *site*; yield the erasures for other services."""
        crawl, urls = partition.crawl, dict[str, None]()
        for host in partition.hosts_of(site):
            urls |= dict.fromkeys(self._erasures.iter_urls(crawl, host))
            urls |= dict.fromkeys(archived_files(host.row.host, partition.robots(host)))
            self._erasures.shared.drop_crawl(host.row.host, crawl)
            if crawl in host.row.crawls:
                partition.clear_queues(host)
                urls |= dict.fromkeys(one.url for one in partition.queues.iter_cleared(host.row))
        urls |= dict.fromkeys(partition.parts.parked_urls(site, site))
        partition.parts.erase_zones(site)
        self._awaited.add((crawl, site))
        at, orders = self._definitions[crawl].at, partition.shared.tally.orders
        erasure = Erasure(site, at, f"removal of crawl {crawl}", key_group_of(site), orders)
        found = {crawl: [*filter(None, urls)]}
        yield from self._erasures.make_events(crawl, site, erasure, (), found, now, removal=True)

    def finish(self, partition: Partition, event: UrlsErased) -> None:
        """Erase the rows of URLs that dedup has erased; with the last part, those of the site."""
        keys = [((event.crawl, host_key(url)), url) for url in event.urls]
        for plan in self._plans_of_urls.get_all(keys):
            if plan.is_retry and not plan.queued:
                partition.count_wait_over()
        self._erasures.erase_urls(event.crawl, event.urls)
        if not event.last:
            return
        for host in partition.hosts_of(event.site):
            partition.queues.drop_cleared_buckets(host.row)
        partition.parts.erase(event.site, event.site)
        self._awaited.discard((event.crawl, event.site))
        self._erased.append((event.crawl, event.site))

    def _erase_refused(self, crawl: str, urls: Iterable[str]) -> None:
        keys = [((crawl, host_key(url)), url) for url in urls]
        for row in self._urls.get_all(keys):
            self._urls.erase((crawl, row.host), row.url)

    def _drop_partitions(self) -> Iterator[None]:
        """Drop the rows about whole partitions. The rows of each step are stored before the
        next."""
        for partition in self._left:
            partition.shared.dropped.add(partition.crawl)
            # The first of these URLs have rows, too, perhaps of hosts without a row.
            for urls in partition.parked.iter_urls():
                self._erase_refused(partition.crawl, urls)
                yield
        yield
        for partition in self._left:
            partition.parked.drop_buckets()
            partition.directory.drop()
        yield
        for partition in self._left:
            while not partition.plans.drop_buckets(MAX_DROPPED_BUCKETS):
                yield
        yield
        for partition in self._left:
            partition.parked.drop_limits()
            partition.tally.drop()
        yield
        for partition in self._left:
            partition.plans.drop_row()
