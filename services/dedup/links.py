"""Which links of a page are released to be followed."""

from collections import defaultdict

from gossamer.events import CrawlDefined, Discovery, PageParsed, UrlsDiscovered
from gossamer.events.provenance import linked
from gossamer.web.scope import parse_scope
from gossamer.web.url import site_of


def release(page: PageParsed, crawl: CrawlDefined | None, now: float) -> list[UrlsDiscovered]:
    """Return the links of *page* worth following, an event a site, in the order of the page."""
    by_site: dict[str, list[Discovery]] = defaultdict(list)
    if not page.nofollow:
        for found in _followed(page):
            if crawl is None or _inside(found, crawl):
                by_site[site_of(found.url)].append(found)
    return [
        UrlsDiscovered(crawl=page.crawl, at=now, site=site, via=page.visit.id, urls=tuple(urls))
        for site, urls in by_site.items()
    ]


def _followed(page: PageParsed) -> list[Discovery]:
    return [linked(link, page.visit) for link in page.links if not link.nofollow]


def _inside(found: Discovery, crawl: CrawlDefined) -> bool:
    within = found.depth <= crawl.max_depth
    return within and parse_scope(crawl.scope).judge(found.url, found.depth).inside
