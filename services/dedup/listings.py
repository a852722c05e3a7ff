"""Sitemaps and feeds: what they list is followed, and what they say of it are hints.

A site speaks for itself alone. What a sitemap lists of another site counts only where that site's
robots.txt names the sitemap (sitemaps.org, "Sitemaps & Cross Submits"), or the index that has it: a
feed's entries there are links like a page's, without their dates. Who named a sitemap passes here
with its URL, and is remembered.

Hints are given of what is not older than the newest that the listing said at its visit before: all
else was said then. At the first visit everything is said that there is.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import external_links, left_out
from gossamer.events import (
    ChangeHint,
    CrawlDefined,
    Discovery,
    Entry,
    EvidenceKind,
    Listing,
    PageKind,
    PageParsed,
    Purpose,
    UrlsDiscovered,
)
from gossamer.runtime.processor import Key
from gossamer.store import Row, Store
from gossamer.web.in_links import linking_site
from gossamer.web.url import fingerprint, site_of
from services.dedup.links import DEEP, Links, links_of, targets


class ListingRow(Row, frozen=True):
    """A sitemap or a feed, as its last visit found it."""

    table = "listings"
    partition_key = "crawl", "url"

    crawl: str
    url: str
    at: float | None = None
    """When the last visit was made; null if there was none."""
    digest: str = ""
    """Of what it listed."""
    change: float | None = None
    """Whether the last visit found it changed (1) or not (0); null if there was none before."""
    newest: float = 0.0
    """The newest date that it gave, and …"""
    newest_before: float = 0.0
    """… that the visit before had found, after which entries are news."""
    named_by: tuple[str, ...] = ()
    """Other sites whose robots.txt names it."""
    counted: tuple[str, ...] = ()
    """Those of them whose entries counted at that visit."""


class Listed(NamedTuple):
    """What follows from a listing."""

    change: float | None
    """Whether it has changed, 1 or 0; None if it was never visited before."""
    links: Links
    """What is to be followed; nothing if it has not changed."""
    hints: list[ChangeHint]


class Listings:
    """Reads listings; alone in writing about a URL."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(ListingRow)
        self._named: list[tuple[str, str, str]] = []
        """Crawls, sitemaps and who names them."""

    def named(self, event: UrlsDiscovered) -> None:
        """Take in which sitemaps another site's robots.txt names: `settle` writes it down."""
        is_robots = event.via.endswith("/robots.txt")
        if is_robots and (namer := linking_site(event.via, event.site)):
            for found in event.urls:
                if found.purpose is Purpose.SITEMAP:
                    self._named.append((event.crawl, found.url, namer))

    @property
    def unsettled(self) -> bool:
        """Whether `settle` has something to write."""
        return bool(self._named)

    def settle(self) -> None:
        """Write down who was named."""
        named, self._named = self._named, []
        for crawl, url, namer in named:
            self._name(crawl, url, namer)

    def _name(self, crawl: str, url: str, *namers: str) -> None:
        row = self._rows.get((crawl, url)) or ListingRow(crawl, url)
        if new := set(namers).difference(row.named_by):
            self._rows.put(replace(row, named_by=tuple(sorted({*row.named_by, *new}))))

    def reads_of(self, pages: Iterable[PageParsed]) -> list[Key]:
        """Return the keys of the rows of those *pages* that are listings."""
        listings = (page for page in pages if page.kind is PageKind.LISTING)
        return [(ListingRow, (page.crawl, page.visit.url), "") for page in listings]

    def read(self, page: PageParsed, crawl: CrawlDefined | None, blocklist: Blocklist) -> Listed:
        """Return what follows from *page*, and the same when its record comes again."""
        row = self._compared(page)
        self._rows.put(row)
        change = row.change
        if change == 0.0:
            return Listed(change, Links([], [], set()), [])
        trusted = {page.site, *row.named_by}
        own = [entry for entry in page.entries if site_of(entry.url) in trusted]
        if page.listing is Listing.SITEMAP_INDEX and row.named_by:
            for entry in own:
                if site_of(entry.url) == page.site:
                    self._name(page.crawl, entry.url, *row.named_by)
        followed = page.entries if page.listing is Listing.FEED else own
        links = _followed(page, followed, crawl, blocklist)
        return Listed(change, links, _hints_of(page, own, row.newest_before))

    def _compared(self, page: PageParsed) -> ListingRow:
        key = page.crawl, page.visit.url
        row = self._rows.get(key) or ListingRow(*key)
        if row.at is not None and page.fetched_at <= row.at:
            return row
        same = row.digest == page.digest and row.counted == row.named_by
        dates = (min(entry.changed_at, page.fetched_at) for entry in page.entries)
        return replace(
            row,
            at=page.fetched_at,
            digest=page.digest,
            change=None if row.at is None else float(not same),
            newest=max(row.newest, *dates, 0.0),
            newest_before=row.newest,
            counted=row.named_by,
        )


def _followed(
    page: PageParsed,
    entries: tuple[Entry, ...] | list[Entry],
    crawl: CrawlDefined | None,
    blocklist: Blocklist,
) -> Links:
    """Return what is to be followed: a listing is no step on the way from a seed, an index is."""
    links = links_of(page, crawl, blocklist)
    if page.nofollow:
        return links
    is_index = page.listing is Listing.SITEMAP_INDEX
    depth, purpose = page.visit.depth + is_index, Purpose.SITEMAP if is_index else Purpose.PAGE
    elsewhere = external_links(crawl, page.visit.party) if crawl else DEEP
    # A sitemap has the other site's word for what it lists of it; a feed's entries are links.
    policy = elsewhere if page.listing is Listing.FEED else DEEP
    for entry, url in ((one, url) for one in entries for url in targets(one.url, page, policy)):
        found = Discovery(
            url,
            depth,
            trace=fingerprint(url),
            purpose=purpose,
            party=page.visit.party,
            every=entry.every,
        )
        left = left_out(crawl, blocklist, found) if crawl else None
        (links.beyond if left else links.followed).append(found)
        if left:
            links.hazards.add(left.rule)
    return links


def _hints_of(page: PageParsed, entries: list[Entry], since: float) -> list[ChangeHint]:
    kind = EvidenceKind.FEED if page.listing is Listing.FEED else EvidenceKind.SITEMAP
    return [
        ChangeHint(
            entry.url,
            kind if entry.changed_at else EvidenceKind.CHANGEFREQ,
            entry.changed_at,
            entry.every,
        )
        for entry in entries
        if (entry.changed_at or entry.every) and (entry.changed_at >= since)
    ]
