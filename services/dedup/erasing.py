"""Erases the rows about URLs and hosts that the frontier erases; see `services.frontier.erasing`.

An erasure is received on `urls.discovered`, where the URL-seen set can be changed. The rows in the
store are erased by `settle`, in the thread that handles pages.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from gossamer.erasures import Erasures
from gossamer.events import ErasureBegun, Event, Tombstone, UrlsErased
from gossamer.events.public import Gone
from gossamer.store import Partition, Row, Store
from gossamer.web.url import fingerprint, host_key, site_of
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
        keys = [*map(fingerprint, event.urls)]
        keys += [self._requisites.key(url, now) for url in event.urls]
        seen = self._seen.erase(event.crawl, event.site, keys)
        self._begun.append((event, seen))
        for url in event.urls:
            yield Tombstone(
                event.crawl,
                url,
                event.site,
                reason=Gone.ERASED,
                at=event.erasure.requested_at,
                trace=fingerprint(url),
            )
        yield UrlsErased(
            crawl=event.crawl,
            at=now,
            site=event.site,
            erasure=event.erasure,
            part=event.part,
            last=event.last,
            hosts=event.hosts,
            urls=event.urls,
        )

    def discard(self) -> None:
        """Drop erasures that were not settled: their records are redelivered."""
        self._begun = []

    def settle(self) -> bool:
        """Erase rows from the store; return whether there was an erasure."""
        begun, self._begun = self._begun, []
        for event, seen in begun:
            rows = Counter({"seen_urls": seen})
            for url in event.urls:
                rows.update(self._erase_url(event, url))
            for host in event.hosts:
                rows.update(self._erase_host(host))
            self.erasures.add(event.erasure, rows, event.part)
        return bool(begun)

    def _erase_url(self, event: ErasureBegun, url: str) -> Iterator[str]:
        """Erase the rows about *url*; yield the table of each row."""
        document = self._store.table(DocumentRow).get((event.crawl, url))
        digests = {*event.digests, document.digest if document else ""} - {""}
        yield from self._erase_digests(event.crawl, url, digests)
        if document and document.simhash:
            yield from self._erase_bands(event.crawl, url, document.simhash)
        yield from self._erase_copy(url)
        yield from self._erase_row(DocumentRow, (event.crawl, url))
        yield from self._erase_row(ListingRow, (event.crawl, url))

    def _erase_copy(self, url: str) -> Iterator[str]:
        table = self._store.table(HostStepsRow)
        row = table.get(host_key(url))
        if row and url in (*row.copies, *row.default_documents):
            copies = tuple(one for one in row.copies if one != url)
            documents = tuple(one for one in row.default_documents if one != url)
            table.put(replace(row, copies=copies, default_documents=documents))
            yield HostStepsRow.table

    def _erase_digests(self, crawl: str, url: str, digests: Collection[str]) -> Iterator[str]:
        table = self._store.table(DigestRow)
        texts = table.get_all([((crawl, digest), "") for digest in digests])
        links = table.get_all([((crawl, row.links), "") for row in texts if row.links])
        for row in {row.digest: row for row in (*texts, *links)}.values():
            if row.url == url:
                table.erase((crawl, row.digest))
                yield DigestRow.table

    def _erase_bands(self, crawl: str, url: str, simhash: str) -> Iterator[str]:
        table = self._store.table(NearRow)
        keys = [((crawl, band), "") for band in bands(site_of(url), simhash)]
        for row in table.get_all(keys):
            remaining = tuple(page for page in row.pages if page.url != url)
            if len(remaining) < len(row.pages):
                table.put(replace(row, pages=remaining))
                yield NearRow.table

    def _erase_host(self, host: str) -> Iterator[str]:
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
