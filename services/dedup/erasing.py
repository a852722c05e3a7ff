"""Erases the rows about URLs and hosts that the frontier erases; see
`services.frontier.procedures.erasing`.

An erasure is received on `urls.discovered`, where the URL-seen set can be changed. The rows in the
store are erased by `settle`, in the thread that handles pages.

To remove a crawl, the frontier sends the same events for each site of the crawl. Evidence about
hosts stays then, since other crawls use it, and no visit of another crawl becomes invalid. The
whole site is dropped from the URL-seen set of the crawl.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace

from gossamer.erasures import Erasures, tombstones_of
from gossamer.events import ErasureBegun, Event, Tombstone, UrlsErased
from gossamer.events.topics import PAGES
from gossamer.store import Partition, Row, Store
from gossamer.web.url import HostKey, fingerprint, host_key, site_of
from services.dedup.content import DigestRow, NearRow, bands
from services.dedup.guesses import GuessesRow
from services.dedup.listings import ListingRow
from services.dedup.requisites import Requisites
from services.dedup.rows import DocumentRow, HostNameRow, HostStepsRow
from services.dedup.seen import SeenSet


class Erasing:
    """Erases URLs and hosts, and lists the visits that no longer count."""

    def __init__(self, seen: SeenSet, store: Store, requisites: Requisites) -> None:
        self._seen, self._store, self._requisites = seen, store, requisites
        self.erasures = Erasures(store, "dedup")
        self._begun: list[tuple[ErasureBegun, int]] = []
        """Erasures for `settle`, with the number of URLs that were erased from the URL-seen set."""

    @property
    def unsettled(self) -> bool:
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
            rows = Counter({"seen_urls": seen})
            rows.update(self._erase_urls(event))
            if not event.removal:
                rows.update(self._erase_copies(event.urls))
                for host in event.hosts:
                    rows.update(self._erase_host(host))
                self.erasures.add(event.erasure, rows, event.part)
        return bool(begun)

    def _erase_urls(self, event: ErasureBegun) -> Iterator[str]:
        """Erase the rows about the URLs of *event*; yield the table of each row."""
        crawl, urls = event.crawl, frozenset(event.urls)
        keys = [((crawl, url), "") for url in event.urls]
        documents = self._store.table(DocumentRow).get_all(keys)
        digests = {*event.digests, *(row.digest for row in documents)} - {""}
        yield from self._erase_digests(crawl, urls, digests)
        yield from self._erase_bands(crawl, urls, documents)
        for document in documents:
            self._store.table(DocumentRow).erase((crawl, document.url))
            yield DocumentRow.table
        for listing in self._store.table(ListingRow).get_all(keys):
            self._store.table(ListingRow).erase((crawl, listing.url))
            yield ListingRow.table

    def _erase_digests(
        self, crawl: str, urls: Container[str], digests: Collection[str]
    ) -> Iterator[str]:
        table = self._store.table(DigestRow)
        texts = table.get_all([((crawl, digest), "") for digest in digests])
        links = table.get_all([((crawl, row.links), "") for row in texts if row.links])
        for row in {row.digest: row for row in (*texts, *links)}.values():
            if row.url in urls:
                table.erase((crawl, row.digest))
                yield DigestRow.table

    def _erase_bands(
        self, crawl: str, urls: Container[str], documents: Iterable[DocumentRow]
    ) -> Iterator[str]:
        table = self._store.table(NearRow)
        found = {
            band
            for row in documents
            if row.simhash
            for band in bands(site_of(row.url), row.simhash)
        }
        for row in table.get_all([((crawl, band), "") for band in sorted(found)]):
            remaining = tuple(page for page in row.pages if page.url not in urls)
            if len(remaining) < len(row.pages):
                if remaining:
                    table.put(replace(row, pages=remaining))
                else:
                    table.erase((crawl, row.band))
                yield NearRow.table

    def _erase_copies(self, urls: Iterable[str]) -> Iterator[str]:
        table = self._store.table(HostStepsRow)
        for host, of_host in groupby(sorted(urls, key=host_key), key=host_key):
            erased, row = frozenset(of_host), table.get(host)
            if row and not erased.isdisjoint((*row.copies, *row.default_documents)):
                copies = tuple(one for one in row.copies if one not in erased)
                documents = tuple(one for one in row.default_documents if one not in erased)
                table.put(replace(row, copies=copies, default_documents=documents))
                yield HostStepsRow.table

    def _erase_host(self, host: HostKey) -> Iterator[str]:
        yield from self._erase_row(HostStepsRow, host)
        yield from self._erase_row(GuessesRow, host)
        site = site_of(f"{host}/")
        table = self._store.table(HostNameRow)
        for row in table.scan(site):
            if host in (row.host, row.counterpart):
                table.erase(site, row.host)
                yield HostNameRow.table

    def _erase_row(self, kind: type[Row], key: Partition) -> Iterable[str]:
        table = self._store.table(kind)
        if table.get(key) is None:
            return ()
        table.erase(key)
        return (kind.table,)
