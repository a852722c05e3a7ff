"""Erases the rows about URLs and hosts that the frontier erases; see
`gossamer.services.frontier.procedures.erasing`.

An erasure is received on `urls.discovered`, where the URL-seen set can be changed. The rows in the
store are erased by `settle`, in the thread that handles pages.

To remove a crawl, the frontier sends the same events for each site of the crawl. Evidence about
hosts stays then, since other crawls use it, and no visit of another crawl becomes invalid. The
whole site is dropped from the URL-seen set of the crawl.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from gossamer.erasures import Erasures, NamedRows, erase_rows, tombstones_of
from gossamer.events import ErasureBegun, Event, Tombstone, UrlsErased
from gossamer.events.topics import PAGES
from gossamer.services.dedup.content import DigestRow, NearRow, bands
from gossamer.services.dedup.requisites import Requisites
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.seen import SeenSet
from gossamer.store import Partition, R, Store
from gossamer.web.url import fingerprint, site_of


class Erasing:
    """Erases URLs and hosts, and lists the visits that no longer count."""

    def __init__(self, seen: SeenSet, store: Store, requisites: Requisites) -> None:
        self._seen, self._store, self._requisites = seen, store, requisites
        self._of_urls = NamedRows(store, "gossamer.services.dedup", "url")
        self._of_hosts = NamedRows(store, "gossamer.services.dedup", "host")
        self.erasures = Erasures(store, "dedup")
        self._begun: list[tuple[ErasureBegun, int]] = []
        """Erasures for `settle`, with the number of URLs that were erased from the URL-seen set."""

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` has rows to erase."""
        return bool(self._begun)

    def begin(self, event: ErasureBegun, now: float) -> Iterator[Event | Tombstone]:
        """Erase URLs from the URL-seen set; yield tombstones and the reply to the frontier."""
        is_dropped = event.removal and self._seen.drop(event.crawl, event.site)
        self._begun.append((event, 0 if is_dropped else self._erase_seen(event, now)))
        yield from tombstones_of(event, PAGES.name)
        yield UrlsErased(
            crawl=event.crawl,
            at=now,
            site=event.site,
            erasure=event.erasure,
            part=event.part,
            last=event.last,
            hosts=event.hosts,
            urls=event.urls,
            removal=event.removal,
        )

    def _erase_seen(self, event: ErasureBegun, now: float) -> int:
        keys = [*map(fingerprint, event.urls)]
        keys += [self._requisites.key(url, now) for url in event.urls]
        return self._seen.erase(event.crawl, event.site, keys)

    def discard(self) -> None:
        """Drop erasures that were not settled: their records are redelivered."""
        self._begun = []

    def settle(self) -> bool:
        """Erase rows from the store; return whether there was an erasure."""
        begun, self._begun = self._begun, []
        for event, seen in begun:
            rows = self._erase_rows(event)
            if not event.removal:
                self.erasures.add(event.erasure, rows + Counter(seen_urls=seen), event.part)
        return bool(begun)

    def _erase_rows(self, event: ErasureBegun) -> Counter[str]:
        """Erase the rows about the URLs and hosts of *event*; return their number by table."""
        rows = self._of_urls.find([(event.crawl, url) for url in event.urls])
        documents = [row for row in rows if isinstance(row, DocumentRow)]
        digests = {*event.digests, *(row.digest for row in documents)} - {""}
        texts = self._get_all(DigestRow, [(event.crawl, digest) for digest in digests])
        with_links = {row.links for row in texts} - digests - {""}
        found = {
            band
            for row in documents
            if row.simhash
            for band in bands(site_of(row.url), row.simhash)
        }
        led = [
            *self._get_all(DigestRow, [(event.crawl, digest) for digest in with_links]),
            *self._get_all(NearRow, [(event.crawl, band) for band in found]),
        ]
        rows += texts
        if not event.removal:
            urls = [*event.urls, *(f"{host}/" for host in event.hosts)]
            rows += self._of_hosts.find([(event.crawl, url) for url in urls])
        is_erased = frozenset((*event.urls, *event.hosts)).__contains__
        return erase_rows(self._store, rows, is_erased, led)

    def _get_all(self, kind: type[R], keys: Sequence[Partition]) -> list[R]:
        return self._store.table(kind).get_all([(key, "") for key in keys])
