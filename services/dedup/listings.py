"""Sitemaps and feeds: releases their entries as links, and turns dates into hints.

A sitemap may list URLs of its own site only. Entries of another site count if that site's
robots.txt names the sitemap, or the index that lists it (sitemaps.org, "Sitemaps & Cross Submits").
A feed's entries of other sites are followed like links of a page, and their dates are ignored. A
sitemap that robots.txt names is discovered through that robots.txt, whose site is stored in the
sitemap's row.

At its first visit, a listing gives hints for all entries. Later it gives hints for entries that are
not older than the newest date of earlier visits.
"""

from collections.abc import Iterable
from math import inf, nextafter
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of, external_links
from gossamer.clock import is_future
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
from gossamer.events.outcomes import SITEMAP_DEPTH
from gossamer.events.pages import link_priority
from gossamer.runtime.processor import Key
from gossamer.services.dedup.links import DEEP, Links, find_links, targets
from gossamer.store import Row, Store
from gossamer.web.links import linking_site
from gossamer.web.url import fingerprint, site_of

NESTED_INDEX = "an index that an index lists, which sitemaps.org does not allow: it is not read"


class ListingRow(Row, frozen=True):
    """A sitemap or a feed, as of its last visit."""

    table = "listings"
    partition_key = "crawl", "url"
    about = ("url",)

    crawl: str
    url: str
    at: float | None = None
    """Time of the last visit; null if there was none."""
    digest: str = ""
    """Digest of the entries."""
    change: float | None = None
    """1 if the last visit found a change, 0 if not; null if it was the first visit."""
    newest: float = 0.0
    """The newest date of an entry."""
    newest_before: float = 0.0
    """The newest date of an entry at the visit before the last one."""
    named_by: tuple[str, ...] = ()
    """Other sites with a robots.txt that names the listing."""
    counted: tuple[str, ...] = ()
    """The value of `named_by` at the last visit."""


class ListingVersion(NamedTuple):
    """The result of a visit to a listing."""

    change: float | None
    """1 if the listing changed, 0 if not; None at its first visit."""
    links: Links
    """The entries to follow; none if the listing did not change."""
    hints: list[ChangeHint]


class Listings:
    """Reads listings. One instance writes the row of a URL."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(ListingRow)
        self._namers: list[tuple[str, str, str]] = []
        """Crawl, sitemap and the site that names it, until `settle`."""

    def note_namers(self, event: UrlsDiscovered) -> None:
        """Note the sitemaps of *event* that another site's robots.txt names, for `settle`."""
        is_robots = event.via.endswith("/robots.txt")
        if is_robots and (namer := linking_site(event.via, event.site)):
            for found in event.urls:
                if found.purpose.is_sitemap:
                    self._namers.append((event.crawl, found.url, namer))

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` has rows to write."""
        return bool(self._namers)

    def settle(self) -> None:
        """Store the sites that name sitemaps."""
        namers, self._namers = self._namers, []
        for crawl, url, namer in namers:
            self._add_namers(crawl, url, namer)

    def _add_namers(self, crawl: str, url: str, *namers: str) -> None:
        row = self._rows.get((crawl, url)) or ListingRow(crawl, url)
        if new := set(namers).difference(row.named_by):
            self._rows.put(replace(row, named_by=tuple(sorted({*row.named_by, *new}))))

    def reads_of(self, pages: Iterable[PageParsed]) -> list[Key]:
        """Return the keys of the rows of listings among *pages*."""
        listings = (page for page in pages if page.kind is PageKind.LISTING)
        return [(ListingRow, (page.crawl, page.visit.url), "") for page in listings]

    def is_known(self, page: PageParsed) -> bool:
        """Return whether an earlier visit to the URL of *page* has read a listing."""
        row = self._rows.get((page.crawl, page.visit.url))
        return row is not None and row.at is not None

    def read(
        self, page: PageParsed, crawl: CrawlDefined | None, blocklist: Blocklist
    ) -> ListingVersion:
        """Return the links and hints of *page*; a redelivered record gets the same result."""
        row = self._update(page)
        self._rows.put(row)
        change = row.change
        if change == 0.0 or is_nested_index(page):
            return ListingVersion(change, Links([], [], set()), [])
        trusted = {page.site, *row.named_by}
        entries = [entry for entry in page.entries if site_of(entry.url) in trusted]
        if page.listing is Listing.SITEMAP_INDEX and row.named_by:
            for entry in entries:
                if site_of(entry.url) == page.site:
                    self._add_namers(page.crawl, entry.url, *row.named_by)
        followed = page.entries if page.listing is Listing.FEED else entries
        links = _find_entry_links(page, followed, crawl, blocklist)
        return ListingVersion(change, links, _find_hints(page, entries, row.newest_before))

    def correct_time(self, page: PageParsed, now: float) -> None:
        """Correct the row of *page* if a clock that was ahead wrote it: it is before this visit."""
        row = self._rows.get((page.crawl, page.visit.url))
        if row and row.at is not None and is_future(row.at, now):
            before = nextafter(page.fetched_at, -inf)
            self._rows.put(replace(row, at=before, newest=min(row.newest, before)))

    def _update(self, page: PageParsed) -> ListingRow:
        """Return the row of a listing after the visit *page*."""
        key = page.crawl, page.visit.url
        row = self._rows.get(key) or ListingRow(*key)
        if row.at is not None and page.fetched_at <= row.at:
            return row
        is_unchanged = row.digest == page.digest and row.counted == row.named_by
        dates = (min(entry.changed_at, page.fetched_at) for entry in page.entries)
        return replace(
            row,
            at=page.fetched_at,
            digest=page.digest,
            change=None if row.at is None else float(not is_unchanged),
            newest=max(row.newest, *dates, 0.0),
            newest_before=row.newest,
            counted=row.named_by,
        )


def is_nested_index(page: PageParsed) -> bool:
    """Return whether *page* is a sitemap index that an index lists: "a Sitemap index file can only
    specify Sitemaps" (sitemaps.org). A few of them would have endless sitemaps."""
    is_listed = page.visit.purpose is Purpose.SITEMAP and page.visit.depth > SITEMAP_DEPTH
    return is_listed and page.listing is Listing.SITEMAP_INDEX


def _find_entry_links(
    page: PageParsed,
    entries: tuple[Entry, ...] | list[Entry],
    crawl: CrawlDefined | None,
    blocklist: Blocklist,
) -> Links:
    """Return the links of *page* and *entries*; entries of a sitemap index are one level deeper."""
    links = find_links(page, crawl, blocklist)
    if page.nofollow:
        return links
    is_index = page.listing is Listing.SITEMAP_INDEX
    depth, purpose = page.visit.depth + is_index, Purpose.SITEMAP if is_index else Purpose.PAGE
    feed_policy = external_links(crawl, page.visit.party) if crawl else DEEP
    # A sitemap's entries of another site are followed under every policy, because that site's
    # robots.txt names the sitemap. A feed's entries are ordinary links.
    policy = feed_policy if page.listing is Listing.FEED else DEEP
    for entry, url in ((one, url) for one in entries for url in targets(one.url, page, policy)):
        found = Discovery(
            url,
            depth,
            priority=link_priority(page.visit.priority)
            if entry.priority is None
            else entry.priority,
            trace=fingerprint(url),
            purpose=purpose,
            party=page.visit.party,
            joined=page.visit.joined,
            every=entry.every,
            refused_by=entry.refused_by,
        )
        exclusion = exclusion_of(crawl, blocklist, found) if crawl else None
        links.add(found, exclusion)
    return links


def _find_hints(page: PageParsed, entries: list[Entry], since: float) -> list[ChangeHint]:
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
