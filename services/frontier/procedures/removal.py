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
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from gossamer.events import CrawlDefined, Erasure, Event, UrlsErased
from gossamer.log import MAX_POLL_RECORDS, key_group_of
from gossamer.services.frontier.features.usage_files import archived_files
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.procedures.erasing import MAX_URLS_PER_EVENT, ErasureHandler
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.store import Store
from gossamer.web.url import Site, host_key

MAX_SITES = 20
"""Sites that are removed at once."""
MAX_SCANNED_SITES = 100
"""Sites of the scan that are read at once."""
MAX_HOSTS = 20
"""Hosts whose URLs are read together."""
MAX_PIECES_PER_STEP = 10
"""Pieces of work of one step. Each reads some rows together, in a few requests of a store."""
MAX_DROPPED_BUCKETS = 1000
"""Buckets of the calendars of one partition that are dropped in one step."""
SiteOfCrawl = tuple[str, Site]
"""A crawl and a site."""


class CrawlRemoval:
    """Drops the rows of removed crawls from the claimed partitions."""

    def __init__(self, store: Store, partitions: Partitions, erasures: ErasureHandler) -> None:
        self._partitions, self._erasures = partitions, erasures
        self._sites, self._plans = store.table(SiteRow), store.table(PartitionPlansRow)
        self._urls = store.table(UrlRow)
        self._definitions = dict[str, CrawlDefined]()
        """The removed crawls."""
        self._now = 0.0
        self.start()

    def start(self) -> None:
        """Begin again with what is left, after a change of the claimed partitions."""
        self._left = [*self._find_partitions()]
        """The partitions with rows of a removed crawl, and the share of that crawl."""
        self._pieces = self._remove_sites()
        """The pieces of work that remove the sites, each with its events."""
        self._max_awaited = MAX_SITES
        """The number of sites in removal for which the next piece of work waits."""
        self._awaited = set[SiteOfCrawl]()
        """Sites whose rows dedup has yet to erase."""
        self._erased = list[SiteOfCrawl]()
        """Sites whose rows were erased in this step."""
        self._stored = list[SiteOfCrawl]()
        """Sites whose rows were erased in an earlier step. The crawl leaves them now."""
        self._drops: Iterator[None] | None = None
        """The steps that drop the rows about whole partitions; None before the last scan."""

    def _find_partitions(self) -> Iterator[tuple[Partition, CrawlShare]]:
        """Yield the partitions with rows of a removed crawl. The others write no more of it."""
        for crawl in self._definitions:
            for partition, share in self._partitions.of_crawl(crawl):
                if self._plans.get(partition.key, crawl):
                    yield partition, share
                else:
                    partition.dropped.add(crawl)

    def define(self, crawl: CrawlDefined) -> None:
        """Begin to remove *crawl* if it is removed."""
        if crawl.removed and crawl.crawl not in self._definitions:
            self._definitions[crawl.crawl] = crawl
            for _, share in self._partitions.of_crawl(crawl.crawl):
                share.close()
            self.start()

    @property
    def has_work(self) -> bool:
        """Whether `wake` has something to do now."""
        return bool(self._stored or self._drops) or bool(self._left and not self._is_waiting)

    @property
    def _is_waiting(self) -> bool:
        return len(self._awaited) + len(self._erased) >= self._max_awaited

    def wake(self, now: float) -> Iterator[Event]:
        """Do the work of one step; yield the erasures for other services."""
        self._now = now
        stored, self._stored = self._stored, []
        for crawl, site in stored:
            if found := self._partitions.find(site, crawl):
                partition, share = found
                partition.leave(share, site)
        if self._drops:
            if next(self._drops, self) is self:
                self.start()
        elif self._left:
            yield from self._do_pieces()

    def settle(self) -> None:
        """Note that the rows that were erased in this step are stored with it."""
        self._stored += self._erased
        self._erased = []

    def _do_pieces(self) -> Iterator[Event]:
        urls = 0
        for _ in range(MAX_PIECES_PER_STEP):
            if self._is_waiting or urls >= MAX_POLL_RECORDS:
                return
            if (events := next(self._pieces, None)) is None:
                self._drops = self._drop_partitions()
                return
            for event in events:
                urls += len(getattr(event, "urls", ()))
                yield event

    def _remove_sites(self) -> Iterator[Sequence[Event]]:
        """Scan the sites, and begin to remove those where a removed crawl has rows, until a scan
        finds none."""
        is_found = True
        while is_found:
            is_found, scan = False, self._sites.everything()
            while rows := [*islice(scan, MAX_SCANNED_SITES)]:
                yield ()
                for partition, share, site in self._find_left(rows):
                    is_found = True
                    yield from self._begin(partition, share, site)
            self._max_awaited = 1
            yield ()
            self._max_awaited = MAX_SITES

    def _find_left(self, rows: Sequence[SiteRow]) -> Iterator[tuple[Partition, CrawlShare, Site]]:
        """Yield the sites of *rows* where a removed crawl has rows, with the partition and the
        share of that crawl."""
        left = defaultdict[str, list[tuple[Partition, CrawlShare]]](list)
        for partition, share in self._left:
            left[share.crawl].append((partition, share))
        for row in rows:
            number = self._partitions.number_of(row.site)
            for crawl in row.crawls.keys() & left.keys():
                for partition, share in left[crawl]:
                    # The scan may read rows that are older than those in memory.
                    if partition.number == number and share.sites.has_entered(row.site):
                        yield partition, share, row.site

    def _begin(
        self, partition: Partition, share: CrawlShare, site: Site
    ) -> Iterator[Sequence[Event]]:
        """Stop all visits of the crawl to *site*, in pieces with the erasures for other
        services."""
        crawl, orders = share.crawl, partition.tally.orders
        at = self._definitions[crawl].at
        erasure = Erasure(site, at, f"removal of crawl {crawl}", key_group_of(site), orders)

        def make_events(urls: Sequence[str], is_last: bool) -> Sequence[Event]:
            found, now = {crawl: urls}, self._now
            return [
                *self._erasures.make_events(crawl, site, erasure, (), found, now, True, is_last)
            ]

        seen, urls = set[str](), list[str]()
        for page in self._find_urls(partition, share, site):
            new = dict.fromkeys(url for url in page if url and url not in seen)
            seen.update(new)
            urls += new
            if len(urls) < MAX_URLS_PER_EVENT:
                yield ()
            while len(urls) >= MAX_URLS_PER_EVENT:
                yield make_events(urls[:MAX_URLS_PER_EVENT], False)
                del urls[:MAX_URLS_PER_EVENT]
        self._awaited.add((crawl, site))
        yield make_events(urls, True)

    def _find_urls(
        self, partition: Partition, share: CrawlShare, site: Site
    ) -> Iterator[Iterable[str]]:
        """Yield the URLs of the crawl at *site*, whose queues are cleared first, in pages."""
        crawl, after = share.crawl, None
        while hosts := partition.page_of_hosts(site, after, MAX_HOSTS):
            after = hosts[-1].row.host
            partition.read_robots_ahead(hosts)
            self._erasures.shared.drop_crawl([host.row.host for host in hosts], crawl)
            files = list[str]()
            for host in hosts:
                files += archived_files(host.row.host, partition.robots(host))
                if crawl in host.row.crawls:
                    partition.clear_queues(share, host)
            yield files
            yield from self._erasures.find_urls(share, hosts)
        yield from share.parts.parked_urls(site, site)

    def finish(self, partition: Partition, share: CrawlShare, event: UrlsErased) -> None:
        """Erase the rows of URLs that dedup has erased; with the last part, those of the site."""
        self._erasures.erase_urls(partition, share, event.urls)
        if not event.last:
            return
        for host in partition.hosts_of(event.site):
            share.queues.drop_cleared_buckets(host.row)
        share.parts.erase(event.site, event.site)
        self._awaited.discard((event.crawl, event.site))
        self._erased.append((event.crawl, event.site))

    def _drop_partitions(self) -> Iterator[None]:
        """Drop the rows about whole partitions. The rows of each step are stored before the
        next."""
        for partition, share in self._left:
            partition.dropped.add(share.crawl)
            # The first of these URLs have rows, too, perhaps of hosts without a row.
            for urls in share.parked.iter_urls():
                keys = [((share.crawl, host_key(url)), url) for url in {*urls}]
                for row in self._urls.get_all(keys):
                    self._urls.erase((share.crawl, row.host), row.url)
                yield
        yield
        for _, share in self._left:
            share.parked.drop_buckets()
            share.directory.drop()
        yield
        for partition, share in self._left:
            while not share.plans.drop_buckets(MAX_DROPPED_BUCKETS):
                yield
            yield from partition.calendar.erase(share.crawl)
        yield
        for _, share in self._left:
            share.parked.drop_limits()
            share.tally.drop()
        yield
        for _, share in self._left:
            share.plans.drop_row()
