"""Erasure of a URL, a host or a site, on demand of the people who run it: `gossamer forget`.

The frontier begins, because only the frontier knows the URLs of a host and the unanswered orders.
It removes the URLs from the queues, erases the host, and sends dedup and the archive the URLs to
erase. Its own rows of URLs are erased when dedup answers: until then, the frontier can send them
again after a crash. Dedup answers before it can admit one of these URLs again, so URLs that are
admitted later are not erased. The parked URLs of a site are erased then, too: their hosts may have
no row. An erasure concerns all crawls: each has events of its own.

Visits of orders from before the erasure do not count (`gossamer.erasures`). The row of a host
stays, emptied, for its last order and its delay: a host that is admitted again at once is not
visited sooner.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from gossamer.erasures import NamedRows, erase_rows, is_about
from gossamer.events import (
    Erasure,
    ErasureBegun,
    ErasureRequested,
    Event,
    UrlsAdmitted,
    UrlsErased,
    VisitsErased,
)
from gossamer.events.pages import MAX_BYTES_PER_EVENT
from gossamer.log import key_group_of
from gossamer.runtime.processor import Key
from gossamer.services.frontier.features.shared import SharedCaptures
from gossamer.services.frontier.features.usage_files import archived_files
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.tables.hosts import HostSigning, Suspect
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.tables.urls import HistoryRow, QueuedUrl, UrlRow
from gossamer.store import Partition as StorePartition
from gossamer.store import Row, Store, iterate_partition, partition_fields
from gossamer.web.url import HostKey, Site, host_key

QUOTES = 3
"""Bytes of JSON around a string in a list."""
PARTITIONS_PER_READ = 20
"""Hosts, buckets of queues or pages whose rows are read together."""
PAGE_URLS = 1000
"""URLs that are found at once."""
MAX_URLS_PER_EVENT = 500
"""URLs of one event."""
LATE_LINKS_PART = 9999
"""The number of the part that has the links that were in flight when the erasure began."""


class ErasureHandler:
    """Applies the requests of `gossamer forget`."""

    def __init__(self, store: Store, shared: SharedCaptures) -> None:
        self._store, self._history = store, store.table(HistoryRow)
        self._rows = NamedRows(store, "gossamer.services.frontier", "url")
        self.shared = shared

    def begin(
        self, partition: Partition, share: CrawlShare, event: ErasureRequested, now: float
    ) -> Iterator[Event]:
        """Stop all visits of all crawls to the target of *event*; yield the erasures for other
        services.

        It reads all rows of the URLs of the target and all URLs that are parked there in one step,
        since after a crash the event alone tells what is to be erased.
        """
        erasure = Erasure(
            event.target,
            event.at,
            event.requested_by,
            key_group_of(event.site),
            partition.tally.orders,
        )
        rows, hosts = Counter[str](), list[HostKey]()
        urls: dict[str, dict[str, None]] = {each.crawl: {} for each in partition.all_shares}
        if event.url:
            self.shared.erase(event.url)
            host = partition.find(event.site, host_key(event.url))
            for each in partition.all_shares:
                urls[each.crawl][event.url] = None
                if host.stored:
                    visited = self._store.table(UrlRow).get((each.crawl, host.row.host), event.url)
                    rows["queues"] += each.queues.erase(host.row, event.url, visited)
            if host.stored and host.row.signing.url == event.url:
                partition.update(host, replace(host.row, signing=HostSigning()))
            if host.stored and host.row.suspect.url == event.url:
                suspect = Suspect(host.row.suspect.expired_at)
                partition.update(host, replace(host.row, suspect=suspect))
        else:
            targets = self._target_hosts(partition, event)
            partition.read_robots_ahead(targets)
            files = dict[str, None]()
            for host in targets:
                hosts.append(host.row.host)
                rows["queues"] += host.row.queued
                self.shared.drop_host(host.row.host)
                files |= dict.fromkeys(archived_files(host.row.host, partition.robots(host)))
                partition.erase(host, now)
            rows["hosts"] = len(hosts)
            for each in partition.all_shares:
                parked = each.parts.parked_urls(event.site, event.target)
                pages = (files, *self.find_urls(each, targets), *parked)
                urls[each.crawl] = dict.fromkeys(url for page in pages for url in page)
        if not (event.url or event.host):
            partition.sites.erase(event.site)
            rows["sites"] = 1
        partition.tally.remove_entries(partial(is_about, target=event.target))
        for each in partition.all_shares:
            each.tally.erase(event.target)
        partition.erasures.add(erasure, rows, ended=False)
        found = {crawl: [*filter(None, of_crawl)] for crawl, of_crawl in urls.items()}
        yield from self.make_events(event.crawl, event.site, erasure, hosts, found, now)

    def _target_hosts(self, partition: Partition, event: ErasureRequested) -> list[Host]:
        if not event.host:
            return [*partition.hosts_of(event.site)]
        host = partition.find(event.site, event.host)
        return [host] if host.stored else []

    def find_urls(self, share: CrawlShare, hosts: Sequence[Host]) -> Iterator[list[str]]:
        """Yield the URLs of *hosts* with rows of the crawl of *share*, whose queues were
        cleared, at most `PAGE_URLS` at a time.

        A URL may be yielded several times. An erased entry of a queue yields "".
        """
        keys = [(share.crawl, host.row.host) for host in hosts]
        for kind in self._rows.tables:
            if partition_fields(kind) == ("crawl", "host"):
                yield from self._pages_of_urls(kind, keys)
        cleared = [key for host in hosts for key in share.queues.cleared_keys(host.row)]
        yield from self._pages_of_urls(QueuedUrl, cleared)

    def _pages_of_urls(
        self, kind: type[Row], keys: Sequence[StorePartition]
    ) -> Iterator[list[str]]:
        for first in range(0, len(keys), PARTITIONS_PER_READ):
            some = keys[first : first + PARTITIONS_PER_READ]
            table, page = self._store.table(kind), list[str]()
            table.scan_ahead(some)
            for row in (one for key in some for one in iterate_partition(table, key)):
                page.append(row.url)  # type: ignore[attr-defined]
                if len(page) == PAGE_URLS:
                    yield page
                    page = []
            yield page

    def make_events(
        self,
        crawl: str,
        site: Site,
        erasure: Erasure,
        hosts: Sequence[HostKey],
        urls: Mapping[str, Sequence[str]],
        now: float,
        removal: bool = False,
        is_last: bool = True,
    ) -> Iterator[Event]:
        """Yield the events of an erasure; *urls*: crawl → its URLs to erase.

        Without URLs the event is of *crawl*. *removal*: the crawl is removed. *is_last*: whether no
        further URLs follow.
        """
        parts = [
            (each, *part) for each, of_crawl in urls.items() for part in self._split(each, of_crawl)
        ] or [(crawl, list[str](), set[str]())]
        for part, (each, urls_of_part, digests) in enumerate(parts):
            last = is_last and part == len(parts) - 1
            # First, because dedup's answer ends the rows that name the captures: after a crash
            # between the two events they must still be there.
            yield VisitsErased(
                crawl=each,
                at=now,
                site=site,
                erasure=erasure,
                part=part,
                urls=tuple(urls_of_part),
                removal=removal,
            )
            yield ErasureBegun(
                crawl=each,
                at=now,
                site=site,
                erasure=erasure,
                part=part,
                last=last,
                hosts=tuple(hosts) if last else (),
                urls=tuple(urls_of_part),
                digests=tuple(sorted(digests)),
                removal=removal,
            )

    def _split(self, crawl: str, urls: Sequence[str]) -> Iterator[tuple[list[str], set[str]]]:
        """Yield *urls* with the digests of their visits, in parts that fit into events."""
        part, digests, size = list[str](), set[str](), 0
        for number, url in enumerate(urls):
            if number % PARTITIONS_PER_READ == 0:
                some = urls[number : number + PARTITIONS_PER_READ]
                self._history.scan_ahead([(crawl, one) for one in some])
            visits = iterate_partition(self._history, (crawl, url))
            found = {visit.digest for visit in visits if visit.digest}
            more = len(url) + sum(map(len, found)) + QUOTES * (1 + len(found))
            if part and (len(part) == MAX_URLS_PER_EVENT or size + more > MAX_BYTES_PER_EVENT):
                yield part, digests
                part, digests, size = [], set(), 0
            part.append(url)
            digests |= found
            size += more
        if part:
            yield part, digests

    def remove_erased_links(
        self, partition: Partition, event: UrlsAdmitted, now: float
    ) -> tuple[UrlsAdmitted, list[Event]]:
        """Return *event* without links from an erased page to URLs that were erased with it.

        Return also the events with which dedup, which has admitted them in the meantime, erases
        these URLs.
        """
        late: dict[Erasure, list[str]] = {}
        for found in event.urls:
            if erasure := partition.erasures.of_link(event.via, found.url):
                late.setdefault(erasure, []).append(found.url)
        dropped = {url for links in late.values() for url in links}
        kept = tuple(found for found in event.urls if found.url not in dropped)
        events: list[Event] = [
            ErasureBegun(
                crawl=event.crawl,
                at=now,
                site=event.site,
                erasure=erasure,
                part=LATE_LINKS_PART,
                last=False,
                urls=tuple(urls),
            )
            for erasure, urls in late.items()
        ]
        return (replace(event, urls=kept) if dropped else event), events

    def finish(self, partition: Partition, share: CrawlShare, event: UrlsErased) -> None:
        """Erase the rows of URLs that dedup has erased; with the last part, drop the queues of
        hosts."""
        rows = self.erase_urls(partition, share, event.urls)
        for host in partition.find_all((event.site, key) for key in event.hosts):
            rows["robots"] += 1
            partition.drop_erased(host)
        if event.last:
            for each in partition.all_shares:
                rows["parked"] += each.parts.erase(event.site, event.erasure.target)
        partition.erasures.add(event.erasure, rows, event.part + 1)
        if event.last:
            partition.erasures.add(event.erasure, {})

    def erase_urls(
        self, partition: Partition, share: CrawlShare, urls: Sequence[str]
    ) -> Counter[str]:
        """Erase the rows of *urls* of the crawl of *share*; return the number of erased rows by
        table. Their retries do not wait any more."""
        found = self._rows.find([(share.crawl, url) for url in urls])
        for row in found:
            if isinstance(row, PlanRow) and row.is_retry and not row.queued:
                partition.count_wait_over()
        visits = [row for row in found if isinstance(row, HistoryRow)]
        others = [row for row in found if not isinstance(row, HistoryRow)]
        return erase_rows(self._store, others, frozenset(urls).__contains__, visits)

    def read_ahead(self, events: Iterable[Event]) -> Iterator[list[Key]]:
        """Read the history of the URLs that *events* report as erased; yield the keys of their
        other rows."""
        erased = [event for event in events if isinstance(event, UrlsErased)]
        yield [*self._rows.read_ahead([(one.crawl, url) for one in erased for url in one.urls])]
