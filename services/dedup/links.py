"""Which links of a page are worth following, and how they are released.

Where two pages have the same text, their links decide whether both are followed. On a mirror they
lead to the same places, or to the same places of its own host: following them would fetch the site
twice. In the folders of an archive, in a gallery, or on pages that a script fills, they lead
elsewhere, and to leave them out would lose a part of the site.
"""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

from msgspec.structs import replace

from gossamer.events import CrawlDefined, Discovery, PageParsed, UrlsDiscovered
from gossamer.events.provenance import linked
from gossamer.web.scope import parse_scope
from gossamer.web.url import host_key, site_of


def followed(page: PageParsed, crawl: CrawlDefined | None) -> list[Discovery]:
    """Return the links of *page* worth following, in its order: none if it asks not to."""
    if page.nofollow:
        return []
    found = (linked(link, page.visit) for link in page.links if not link.nofollow)
    return [one for one in found if crawl is None or _inside(one, crawl)]


def _inside(found: Discovery, crawl: CrawlDefined) -> bool:
    within = found.depth <= crawl.max_depth
    return within and parse_scope(crawl.scope).judge(found.url, found.depth).inside


def digest_with_links(page: PageParsed, found: Sequence[Discovery]) -> str:
    """Return 128 bits of the text and of where its links *found* lead, in hexadecimal.

    They are equal for a page and its mirror: the page's own host is left out. "" without links.
    """
    if not found:
        return ""
    own = host_key(page.visit.url)
    targets = sorted(_without(own, one.url) for one in found)
    return blake2b("\n".join((page.digest, *targets)).encode(), digest_size=16).hexdigest()


def _without(host: str, url: str) -> str:
    return url.removeprefix(host) if url.startswith(f"{host}/") else url


def release(
    page: PageParsed, found: Sequence[Discovery], duplicates: int, now: float
) -> list[UrlsDiscovered]:
    """Return the links *found* on *page*, an event a site; *duplicates* in a row lead to them."""
    by_site: dict[str, list[Discovery]] = defaultdict(list)
    for one in found:
        by_site[site_of(one.url)].append(replace(one, duplicates=duplicates))
    return [
        UrlsDiscovered(crawl=page.crawl, at=now, site=site, via=page.visit.id, urls=tuple(urls))
        for site, urls in by_site.items()
    ]
