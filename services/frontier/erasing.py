"""Erasing what is known of a URL, a host or a site, as an owner may demand: `gossamer forget`.

The frontier begins, since it alone knows which URLs a host has, and which orders are out. It takes
the URLs out of the queues, forgets the host, and tells dedup and the archive what they are to
erase. Its rows of single URLs go when dedup answers: until then they are what it tells, however
often it dies. Dedup answers before it can admit one of these URLs again, so what is admitted later
is not touched.

Visits of orders from before the erasure do not count any more (`gossamer.erasures`). The row of a
host stays for its last order and its rest, emptied: a host that is asked for again at once is
visited no sooner for it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

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
from gossamer.log import key_group_of
from gossamer.store import R, Row, Store
from gossamer.web.url import host_key
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.rows import HistoryRow, PlanRow, UrlRow, VerdictRow

MOST = 500
"""URLs of one event."""
LATE = 9999
"""The part of an erasure that is about links which were under way."""
OF_URLS: tuple[type[UrlRow | VerdictRow | PlanRow], ...] = UrlRow, VerdictRow, PlanRow


class Erasing:
    """Carries out what `gossamer forget` asks for."""

    def __init__(self, store: Store) -> None:
        self._store, self._history = store, store.table(HistoryRow)

    def begin(self, partition: Partition, event: ErasureRequested, now: float) -> Iterator[Event]:
        """Stop all visits to what *event* names; yield what others are to erase.

        All rows of a host's URLs are read: there are about `frontier.url_budget` of them.
        """
        erasure = Erasure(
            event.target,
            event.at,
            event.requested_by,
            key_group_of(event.site),
            partition.tally.orders,
        )
        rows, hosts, urls = Counter[str](), list[str](), dict[str, None]()
        if event.url:
            urls[event.url] = None
            host = partition.find(event.site, host_key(event.url))
            if host.stored:
                rows["queues"] = partition.queues.erase(host.row, event.url)
        else:
            for host in self._hosts(partition, event):
                urls |= dict.fromkeys(self._urls_of(partition, event.crawl, host))
                partition.erase(host, now)
                urls |= dict.fromkeys(one.url for one in partition.queues.cleared(host.row))
                hosts.append(host.row.host)
            rows["hosts"] = len(hosts)
        if not (event.url or event.host):
            partition.sites.erase(event.site)
            rows["sites"] = 1
        partition.tally.erase(event.target)
        partition.erasures.add(erasure, rows, ended=False)
        yield from self._parts(event, erasure, hosts, [url for url in urls if url], now)

    def _hosts(self, partition: Partition, event: ErasureRequested) -> list[Host]:
        if not event.host:
            return [*partition.hosts_of(event.site)]
        host = partition.find(event.site, event.host)
        return [host] if host.stored else []

    def _urls_of(self, partition: Partition, crawl: str, host: Host) -> Iterator[str]:
        key = crawl, host.row.host
        return (row.url for kind in OF_URLS for row in self._all(kind, key))

    def _all(self, kind: type[R], key: tuple[str, str]) -> Iterator[R]:
        table, after = self._store.table(kind), None
        while rows := table.scan(key, after):
            after = getattr(rows[-1], kind.sort_key)
            yield from rows

    def _parts(
        self,
        event: ErasureRequested,
        erasure: Erasure,
        hosts: Sequence[str],
        urls: Sequence[str],
        now: float,
    ) -> Iterator[Event]:
        parts = [urls[at : at + MOST] for at in range(0, len(urls), MOST)] or [()]
        for part, some in enumerate(parts):
            visits = (self._all(HistoryRow, (event.crawl, url)) for url in some)
            digests = {visit.digest for visit in chain.from_iterable(visits) if visit.digest}
            last = part == len(parts) - 1
            yield ErasureBegun(
                crawl=event.crawl,
                at=now,
                site=event.site,
                erasure=erasure,
                part=part,
                last=last,
                hosts=tuple(hosts) if last else (),
                urls=tuple(some),
                digests=tuple(sorted(digests)),
            )
            yield VisitsErased(
                crawl=event.crawl,
                at=now,
                site=event.site,
                erasure=erasure,
                part=part,
                urls=tuple(some),
            )

    def admit(
        self, partition: Partition, event: UrlsAdmitted, now: float
    ) -> tuple[UrlsAdmitted, list[Event]]:
        """Return *event* without links from an erased page to what was erased with it.

        Return also what has dedup forget these: it has admitted them meanwhile.
        """
        late: dict[Erasure, list[str]] = {}
        for found in event.urls:
            if erasure := partition.erasures.of_link(event.via, found.url):
                late.setdefault(erasure, []).append(found.url)
        dropped = {url for urls in late.values() for url in urls}
        urls = tuple(found for found in event.urls if found.url not in dropped)
        events: list[Event] = [
            ErasureBegun(
                crawl=event.crawl,
                at=now,
                site=event.site,
                erasure=erasure,
                part=LATE,
                last=False,
                urls=tuple(some),
            )
            for erasure, some in late.items()
        ]
        return (replace(event, urls=urls) if dropped else event), events

    def end(self, partition: Partition, event: UrlsErased) -> None:
        """Erase the rows of URLs that dedup has erased; with the last part drop hosts' queues."""
        rows = Counter[str]()
        for url in event.urls:
            key = event.crawl, host_key(url)
            for kind in OF_URLS:
                rows[kind.table] += self._erase(kind, key, url)
            visits = sum(1 for _ in self._all(HistoryRow, (event.crawl, url)))
            if visits:
                self._history.drop((event.crawl, url))
                rows["page_history"] += visits
        for key_of_host in event.hosts:
            host = partition.find(event.site, key_of_host)
            if host.stored:
                rows["queues"] += sum(1 for _ in partition.queues.cleared(host.row))
                rows["robots"] += 1
                partition.drop_erased(host)
        partition.erasures.add(event.erasure, rows, event.part + 1)
        if event.last:
            partition.erasures.add(event.erasure, {})

    def _erase(self, kind: type[Row], key: tuple[str, str], url: str) -> bool:
        table = self._store.table(kind)
        found = table.get(key, url) is not None
        if found:
            table.erase(key, url)
        return found
