"""Promotes admitted URLs when good pages link to them again.

The first link to a URL admits it, and decides its rank by the score of its page. Later links are
dropped by the URL-seen test, although a link of a good page, and still more links of several good
pages, show that the URL is probably good. So dedup counts these links in a bounded cache, and sends
the frontier the URL once more with each of the first few. The frontier ignores it if the URL waits
no longer.

A restart, or an entry that leaves the cache, loses promotions and no URL. A redelivered record, or
the next version of a page, may promote a URL again.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.crawl import strategy_of
from gossamer.events import CrawlDefined, Discovery, Purpose, UrlsAdmitted, UrlsDiscovered
from gossamer.policies import GOOD_SCORE, LINK_STRATEGIES, MAX_GOOD_LINKS
from gossamer.web.url import site_of

CACHE_BYTES, SITE_CACHE_BYTES = 16 << 20, 4 << 20
"""Maximum size of the cache of admitted URLs, and of the URLs of one site in it."""


class Promotions:
    """The URLs that were admitted lately, with the links of good pages to them."""

    def __init__(self) -> None:
        self._admitted = ByteCache[tuple[str, str], Discovery](CACHE_BYTES, _size, SITE_CACHE_BYTES)
        """Crawl and URL → its best link so far, with the number of links of good pages."""

    def clear(self) -> None:
        """Forget all URLs."""
        self._admitted.clear()

    def apply(
        self,
        event: UrlsDiscovered,
        admitted: Iterable[Discovery],
        seen: Iterable[Discovery],
        crawl: CrawlDefined | None,
        now: float,
    ) -> Iterator[UrlsAdmitted]:
        """Remember the links *admitted* of *event*; yield its links *seen* that promote a URL."""
        if crawl is None or strategy_of(crawl) not in LINK_STRATEGIES:
            return
        promoted = [
            better
            for found in seen
            if found.score is not None and found.score >= GOOD_SCORE and not found.guess
            if (better := self._promote(event, found, found.score))
        ]
        for found in admitted:
            if found.purpose is Purpose.PAGE and found.score is not None:
                counted = replace(found, good_links=int(found.score >= GOOD_SCORE))
                self._admitted.put((event.crawl, found.url), counted, event.site)
        if promoted:
            yield UrlsAdmitted(
                crawl=event.crawl,
                at=now,
                site=event.site,
                via=event.via,
                urls=tuple(promoted),
                promoted=True,
            )

    def _promote(self, event: UrlsDiscovered, found: Discovery, score: float) -> Discovery | None:
        """Return the URL of *found*, a good link, as it was admitted, with the better *score* and
        one good link more; None if the link changes nothing."""
        key, site = (event.crawl, found.url), event.site
        before = self._admitted.get(key)
        if before is None or before.good_links >= MAX_GOOD_LINKS or site_of(found.url) != site:
            return None
        best = max(before.score or 0.0, score)
        better = replace(before, score=best, good_links=before.good_links + 1)
        self._admitted.put(key, better, site)
        return better


def _size(found: Discovery) -> int:
    return 2 * ENTRY_BYTES + 2 * len(found.url)
