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

from msgspec.structs import replace

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
from gossamer.store import R, Row, Store
from gossamer.web.url import host_key
from services.frontier.partition import Partition
from services.frontier.rows import (
    HistoryRow,
    HostSigning,
    PlanRow,
    RequisiteRow,
    UrlRow,
    VerdictRow,
)
from services.frontier.shared import SharedCaptures
from services.frontier.usage_files import archived_files
from services.frontier.workbench import Host

QUOTES = 3
"""Bytes of JSON around a string in a list."""
MAX_URLS_PER_EVENT = 500
"""URLs of one event."""
LATE_LINKS_PART = 9999
"""The number of the part that has the links that were in flight when the erasure began."""
URL_TABLES: tuple[type[UrlRow | VerdictRow | PlanRow | RequisiteRow], ...] = (
    UrlRow,
    VerdictRow,
    PlanRow,
    RequisiteRow,
)


class ErasureHandler:
    """Applies the requests of `gossamer forget`."""

    def __init__(self, store: Store, shared: SharedCaptures) -> None:
        self._store, self._history = store, store.table(HistoryRow)
        self.shared = shared

    def begin(self, partition: Partition, event: ErasureRequested, now: float) -> Iterator[Event]:
        """Stop all visits of all crawls to the target of *event*; yield the erasures for other
        services.

        It reads all rows of a host's URLs, about `frontier.url_budget`, and all URLs that are
        parked at the site.
        """
        erasure = Erasure(
            event.target,
            event.at,
            event.requested_by,
            key_group_of(event.site),
            partition.shared.tally.orders,
        )
        rows, hosts = Counter[str](), list[str]()
        urls: dict[str, dict[str, None]] = {each.crawl: {} for each in partition.all_crawls}
        if event.url:
            self.shared.erase(event.url)
            host = partition.find(event.site, host_key(event.url))
            for each in partition.all_crawls:
                urls[each.crawl][event.url] = None
                if host.stored:
                    visited = self._store.table(UrlRow).get((each.crawl, host.row.host), event.url)
                    rows["queues"] += each.queues.erase(host.row, event.url, visited)
            if host.stored and host.row.signing.url == event.url:
                partition.update(host, replace(host.row, signing=HostSigning()))
        else:
            for host in self._target_hosts(partition, event):
                hosts.append(host.row.host)
                self.shared.drop_host(host.row.host)
                files = archived_files(host.row.host, partition.robots(host))
                for each in partition.all_crawls:
                    urls[each.crawl] |= dict.fromkeys(self.iter_urls(each.crawl, host))
                    urls[each.crawl] |= dict.fromkeys(files)
                partition.erase(host, now)
                for each in partition.all_crawls:
                    cleared = each.queues.iter_cleared(host.row)
                    urls[each.crawl] |= dict.fromkeys(one.url for one in cleared)
            rows["hosts"] = len(hosts)
            for each in partition.all_crawls:
                parked = each.parts.parked_urls(event.site, event.target)
                urls[each.crawl] |= dict.fromkeys(parked)
        if not (event.url or event.host):
            partition.sites.erase(event.site)
            rows["sites"] = 1
        partition.shared.tally.erase(event.target)
        for each in partition.all_crawls:
            each.tally.erase(event.target)
        partition.erasures.add(erasure, rows, ended=False)
        found = {crawl: [*filter(None, of_crawl)] for crawl, of_crawl in urls.items()}
        yield from self.make_events(event.crawl, event.site, erasure, hosts, found, now)

    def _target_hosts(self, partition: Partition, event: ErasureRequested) -> list[Host]:
        if not event.host:
            return [*partition.hosts_of(event.site)]
        host = partition.find(event.site, event.host)
        return [host] if host.stored else []

    def iter_urls(self, crawl: str, host: Host) -> Iterator[str]:
        """Yield the URLs of *host* with rows of *crawl*. A URL may come several times."""
        key = crawl, host.row.host
        return (row.url for kind in URL_TABLES for row in self._iter_rows(kind, key))

    def _iter_rows(self, kind: type[R], key: tuple[str, str]) -> Iterator[R]:
        table, after = self._store.table(kind), None
        while rows := table.scan(key, after):
            after = getattr(rows[-1], kind.sort_key)
            yield from rows

    def make_events(
        self,
        crawl: str,
        site: str,
        erasure: Erasure,
        hosts: Sequence[str],
        urls: Mapping[str, Sequence[str]],
        now: float,
        removal: bool = False,
    ) -> Iterator[Event]:
        """Yield the events of an erasure; *urls*: crawl → its URLs to erase.

        Without URLs the event is of *crawl*. *removal*: the crawl is removed.
        """
        parts = [
            (each, *part) for each, of_crawl in urls.items() for part in self._split(each, of_crawl)
        ] or [(crawl, list[str](), set[str]())]
        for part, (each, urls_of_part, digests) in enumerate(parts):
            last = part == len(parts) - 1
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
        for url in urls:
            visits = self._iter_rows(HistoryRow, (crawl, url))
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

    def finish(self, partition: Partition, event: UrlsErased) -> None:
        """Erase the rows of URLs that dedup has erased; with the last part, drop the queues of
        hosts."""
        rows = self.erase_urls(event.crawl, event.urls)
        for key_of_host in event.hosts:
            host = partition.find(event.site, key_of_host)
            if host.stored:
                rows["queues"] += sum(
                    1 for each in partition.all_crawls for _ in each.queues.iter_cleared(host.row)
                )
                rows["robots"] += 1
                partition.drop_erased(host)
        if event.last:
            for each in partition.all_crawls:
                rows["parked"] += each.parts.erase(event.site, event.erasure.target)
        partition.erasures.add(event.erasure, rows, event.part + 1)
        if event.last:
            partition.erasures.add(event.erasure, {})

    def erase_urls(self, crawl: str, urls: Iterable[str]) -> Counter[str]:
        """Erase the rows of *urls* of *crawl*; return the number of erased rows by table."""
        rows = Counter[str]()
        for url in urls:
            key = crawl, host_key(url)
            for kind in URL_TABLES:
                rows[kind.table] += self._erase(kind, key, url)
            if visits := sum(1 for _ in self._iter_rows(HistoryRow, (crawl, url))):
                self._history.drop((crawl, url))
                rows["page_history"] += visits
        return rows

    def _erase(self, kind: type[Row], key: tuple[str, str], url: str) -> bool:
        table = self._store.table(kind)
        found = table.get(key, url) is not None
        if found:
            table.erase(key, url)
        return found
