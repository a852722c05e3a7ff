"""How URLs are discovered: what a seed and a link hand on to the URL that they lead to.

The URL takes it along on all events and rows of its way (`services.frontier.rows.Origin`). A
request's priority is no part of it: it ends in the request number, which orders the queue, and what
is tried again is queued behind what was asked for meanwhile.
"""

from collections import defaultdict
from collections.abc import Iterable

from gossamer.events.pages import Link, LinkKind
from gossamer.events.records import (
    Discovery,
    SeedAdded,
    UrlsDiscovered,
    Visit,
)
from gossamer.web.url import fingerprint, site_of

MOST = 1000
"""Links in an event: each may be 2,000 characters long."""


def by_site(urls: Iterable[Discovery], via: str, crawl: str, now: float) -> list[UrlsDiscovered]:
    """Return *urls* as they go to the URL-seen test, in their order: an event a site, or several
    where they would not fit into one."""
    sites: dict[str, list[Discovery]] = defaultdict(list)
    for found in urls:
        sites[site_of(found.url)].append(found)
    return [
        UrlsDiscovered(crawl=crawl, at=now, site=site, via=via, urls=tuple(found[n : n + MOST]))
        for site, found in sites.items()
        for n in range(0, len(found), MOST)
    ]


def added(seed: SeedAdded, url: str) -> Discovery:
    """Return *seed*, whose canonical URL is *url*, as a discovery; its via goes on the event."""
    trace = fingerprint(url)
    return Discovery(url, seed.depth, priority=seed.priority, trace=trace, party=seed.party)


def linked(link: Link, visit: Visit) -> Discovery:
    """Return what *link*, on the page of *visit*, leads to: one link deeper, or one hop further.

    The duplicates in a row are those before that page, which its verdict may add to or end.
    """
    return Discovery(
        link.url,
        visit.depth if link.redirect else visit.depth + 1,
        visit.hops + 1 if link.redirect else 0,
        trace=fingerprint(link.url),
        duplicates=visit.duplicates,
        party=visit.party,
        guess=link.kind == LinkKind.SCRIPT,
    )
