"""How seeds and links pass their origin on to the URLs that they lead to.

A URL carries its origin on all its events and rows (`services.frontier.rows.Origin`). Its priority
is not a part of that: the priority is encoded in the request number, which orders the queue. A
retried URL is queued behind the URLs that were admitted before its retry.
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

MAX_LINKS_PER_EVENT = 1000
"""Maximum number of links in an event. Each may have 2,000 characters."""


def group_by_site(
    urls: Iterable[Discovery], via: str, crawl: str, now: float
) -> list[UrlsDiscovered]:
    """Return *urls* in their order as `urls_discovered` events, one for each site, or several if
    one would be too large."""
    sites: dict[str, list[Discovery]] = defaultdict(list)
    for found in urls:
        sites[site_of(found.url)].append(found)
    return [
        UrlsDiscovered(
            crawl=crawl, at=now, site=site, via=via, urls=tuple(found[n : n + MAX_LINKS_PER_EVENT])
        )
        for site, found in sites.items()
        for n in range(0, len(found), MAX_LINKS_PER_EVENT)
    ]


def seed_discovery(seed: SeedAdded, url: str) -> Discovery:
    """Return *seed* as a discovery, with the canonical form *url*. The event contains its `via`."""
    trace = fingerprint(url)
    return Discovery(url, seed.depth, priority=seed.priority, trace=trace, party=seed.party)


def link_discovery(link: Link, visit: Visit) -> Discovery:
    """Return the discovery of *link* on the page of *visit*: one link deeper, or one redirect
    further.

    `duplicates` is that of the page. The page's verdict may increment or reset it.
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
