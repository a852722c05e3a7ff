"""Requisites: the images, styles, scripts and fonts that the archived pages of a crawl need.

The requisites of a page are released with its verdict, and those of a style when it was parsed.
They are keyed by their site on `urls.discovered`, like links, and stay apart from them: scope,
depth and URL steps are about pages, and a requisite is archived under the URL that its page names.

**Once in a period.** The URL-seen set decides. The key of a requisite is the fingerprint of its URL
and of the number of the period, so each period admits it once: for the first page that needs it. It
has no revisits of its own. The periods of different URLs begin at different times, or all
requisites of a crawl would be due at once. The keys of earlier periods stay in the set.

**Endless styles.** A server may generate styles that import each other without end. A discovery
counts the styles on its way from the page in `duplicates`, and `MAX_STYLES` ends the way.
"""

from collections.abc import Iterator
from zlib import crc32

from msgspec.structs import replace

from gossamer.events import (
    Discovery,
    PageParsed,
    Purpose,
    UrlsAdmitted,
    UrlsDiscovered,
)
from gossamer.events.pages import group_by_site
from gossamer.services.dedup.seen import Finding, SeenSet, hash_finder
from gossamer.settings import ArchiveSettings
from gossamer.telemetry import count
from gossamer.web.directives import find_signals
from gossamer.web.url import fingerprint, site_of
from gossamer.web.usage import is_reserved

MAX_STYLES = 5
"""Styles on the way from a page to a requisite."""


class Requisites:
    """Releases the requisites of pages and styles, and admits each once in a period."""

    def __init__(self, settings: ArchiveSettings, seen: SeenSet, url_limit: int) -> None:
        self._which, self._period = settings.requisites, settings.requisites_period
        self._with_media = settings.media
        self._not_archived = frozenset[str](settings.not_archived)
        self._seen, self._url_limit = seen, url_limit

    def release_of_page(self, page: PageParsed, now: float) -> Iterator[UrlsDiscovered]:
        """Yield the requisites of *page*, with its media by `archive.media`, unless it is not
        archived."""
        if self._which != "off" and self._may_be_archived(page):
            media = page.media if self._with_media else ()
            urls = tuple(dict.fromkeys((*page.requisites, *media)))
            yield from self._release(page, urls, 0, 0, now)

    def release_of_requisite(self, page: PageParsed, now: float) -> Iterator[UrlsDiscovered]:
        """Yield the requisites of the style *page*, unless it is not archived, or the target of a
        requisite that redirects."""
        visit = page.visit
        if self._which == "off":
            return
        if visit.duplicates < MAX_STYLES and self._may_be_archived(page):
            yield from self._release(page, page.requisites, visit.duplicates + 1, 0, now)
        targets = tuple(link.url for link in page.links if link.redirect)
        yield from self._release(page, targets, visit.duplicates, visit.hops + 1, now)

    def _may_be_archived(self, page: PageParsed) -> bool:
        """Return whether no statement of *page* keeps it out of the archive."""
        signals = find_signals(page.directives, is_reserved(page.usage_statements), False)
        return self._not_archived.isdisjoint(signals)

    def _release(
        self, page: PageParsed, urls: tuple[str, ...], styles: int, hops: int, now: float
    ) -> Iterator[UrlsDiscovered]:
        visit = page.visit
        found = [
            Discovery(
                url,
                visit.depth + (not hops),
                hops,
                trace=fingerprint(url),
                duplicates=styles,
                purpose=Purpose.REQUISITE,
                party=visit.party,
            )
            for url in urls
            if len(url) <= self._url_limit
            and (self._which == "all" or site_of(url) == page.site)
            and url != visit.url
        ]
        yield from group_by_site(found, visit.id, page.crawl, now)

    def admit(self, event: UrlsDiscovered, now: float) -> Iterator[UrlsAdmitted]:
        """Yield the admission of the requisites of *event* that are new in the present period."""
        urls = {one.url: one for one in event.urls if site_of(one.url) == event.site}
        keys = [self.key(url, event.at) for url in urls]
        findings = self._seen.test(event.crawl, event.site, keys, hash_finder(event.via))
        for finding in (Finding.REPEATED, Finding.NEW):
            admitted = tuple(
                one for one, found in zip(urls.values(), findings, strict=True) if found is finding
            )
            if admitted:
                count("gossamer_requisites_admitted_total", len(admitted), crawl=event.crawl)
                yield UrlsAdmitted(
                    crawl=event.crawl,
                    at=now,
                    site=event.site,
                    via=event.via,
                    urls=admitted,
                    repeated=finding is Finding.REPEATED,
                )

    def key(self, url: str, at: float) -> str:
        """Return the key of the requisite *url* in the URL-seen set at the time *at*."""
        # The periods of different URLs begin at different times.
        begun = crc32(url.encode()) % int(self._period)
        return fingerprint(f"{int((at + begun) // self._period)} {url}")


def split_requisites(
    event: UrlsDiscovered,
) -> tuple[UrlsDiscovered, UrlsDiscovered | None]:
    """Return *event* without its requisites, and with them alone; None if it has none."""
    found = tuple(one for one in event.urls if one.purpose is Purpose.REQUISITE)
    if not found:
        return event, None
    links = tuple(one for one in event.urls if one.purpose is not Purpose.REQUISITE)
    return replace(event, urls=links), replace(event, urls=found)
