"""The links of a page as its crawl takes them: URLs of one page under one of them.

The parser knows no crawl: its links are canonical, each as it stands. Here the steps are applied
that the crawl is defined with (`gossamer.web.url_steps`), and all that follows, from the digest of
a page's links to the document on `pages`, has the URLs under which the crawl knows their pages.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer.events import CrawlDefined, Entry, Link, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.telemetry import count
from gossamer.web.url_steps import merged, without_default_document

LONG = 200
"""Characters beyond which a link is counted: 1 % of the URLs of viuva-negra's crawl (5.3)."""
DEFAULT_DOCUMENT = "default_document"
HAZARDS = frozenset(hazard.value for hazard in Hazard)


def spelt(page: PageParsed, crawl: CrawlDefined | None, limit: int) -> PageParsed:
    """Return *page* with its links as *crawl* knows them, without those longer than *limit*, and
    with the hazards that were met with them."""
    steps = crawl.url_steps if crawl else ()
    links, met = dict[str, Link](), set[str]()
    for link in page.links:
        url, done = merged(link.url, steps)
        met.update(done)
        if link.redirect and url == page.visit.url:
            # What leads to what the step would drop: a server that sets a session id, or shows the
            # directory under the name of its default document. To drop it would end in a circle.
            url = link.url
        if DEFAULT_DOCUMENT in steps and without_default_document(url) != url:
            met.add(DEFAULT_DOCUMENT)
        if url and not _is_too_long(url, limit, met):
            _add(links, link if url == link.url else replace(link, url=url))
    canonical = merged(page.canonical, steps).url if page.canonical else ""
    entries = tuple(_entries(page, steps, limit, met))
    return replace(
        page,
        links=tuple(links.values()),
        canonical=canonical or page.canonical,
        entries=entries,
        hazards=tuple(dict.fromkeys((*page.hazards, *sorted(met & HAZARDS)))),
    )


def _entries(
    page: PageParsed, steps: tuple[str, ...], limit: int, met: set[str]
) -> Iterator[Entry]:
    """Yield what a sitemap or a feed lists, as the crawl knows it."""
    for entry in page.entries:
        url, done = merged(entry.url, steps)
        met.update(done)
        if url and not _is_too_long(url, limit, met):
            yield entry if url == entry.url else replace(entry, url=url)


def _is_too_long(url: str, limit: int, met: set[str]) -> bool:
    if len(url) > LONG:
        count("gossamer_long_links_total")
    if len(url) > limit:
        met.add(Hazard.URL_TOO_LONG)
    return len(url) > limit


def _add(links: dict[str, Link], link: Link) -> None:
    before = links.setdefault(link.url, link)
    if before.nofollow and not link.nofollow:
        links[link.url] = replace(before, nofollow=False)
