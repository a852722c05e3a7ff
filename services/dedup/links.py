"""Which links of a page are worth following, and how they are released.

Where two pages have the same text, their links decide whether both are followed. On a mirror they
lead to the same places, or to the same places of its own host: following them would fetch the site
twice. In the folders of an archive, in a gallery, or on pages that a script fills, they lead
elsewhere, and to leave them out would lose a part of the site.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blacklist import Blacklist
from gossamer.bounds import external_links, left_out
from gossamer.events import (
    CrawlDefined,
    Discovery,
    LinksSetAside,
    PageParsed,
    UrlsDiscovered,
)
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind
from gossamer.events.provenance import MOST, by_site, linked
from gossamer.web.url import fingerprint, host_key, site_of

DEEP = "deep"
APART = frozenset((LinkKind.CANONICAL, LinkKind.ALTERNATE, LinkKind.AMP, LinkKind.SCRIPT))
"""Links that say nothing of whether two pages are one: only one of a page's names may have them."""
REMEMBERED = 50_000
"""Links that an instance remembers to have set aside."""


class Links(NamedTuple):
    """The links of a page that it lets us follow, in its order."""

    followed: list[Discovery]
    beyond: list[Discovery]
    """Those that the crawl leaves out, by its scope or its depth, and those on the blacklist."""
    hazards: set[Hazard]
    """By which rules."""


def links_of(page: PageParsed, crawl: CrawlDefined | None, blacklist: Blacklist) -> Links:
    """Return the links of *page*: none if it asks that they are not followed."""
    links = Links([], [], set())
    policy = external_links(crawl, page.visit.party) if crawl else DEEP
    for found in _found(page, policy) if not page.nofollow else ():
        left = left_out(crawl, blacklist, found) if crawl else None
        (links.beyond if left else links.followed).append(found)
        if left:
            links.hazards.add(left.rule)
    return links


def _found(page: PageParsed, policy: str) -> Iterator[Discovery]:
    met = set[str]()
    for link in page.links:
        for url in () if link.nofollow else targets(link.url, page, policy, link.redirect):
            if url not in met:
                met.add(url)
                yield linked(replace(link, url=url), page.visit)


def targets(url: str, page: PageParsed, policy: str, redirect: bool = False) -> tuple[str, ...]:
    """Return what is followed of a link to *url*, by the crawl's *policy* for other sites.

    A redirect is none of a page's links: it is followed as it stands. But where nothing is followed
    out of a site, only a seed's is: it says where the seed is now.
    """
    if policy == DEEP or site_of(url) == page.site:
        return (url,)
    if redirect:
        return () if policy == "none" and page.visit.depth else (url,)
    home = f"{host_key(url)}/"
    return {"home": (home,), "combined": (url, home)}.get(policy, ())


def digest_with_links(page: PageParsed, links: Links) -> str:
    """Return 128 bits of the text and of where its *links* lead, in hexadecimal.

    They are equal for a page and its mirror: the page's own host is left out, and so are links that
    only one of its names has, and guesses. "" if none of the other links is followed.
    """
    own = host_key(page.visit.url)
    apart = {link.url for link in page.links if link.kind in APART}
    followed, beyond = (
        sorted(_without(own, one.url) for one in part if one.url not in apart) for part in links[:2]
    )
    if not followed:
        return ""
    said = "\n".join((page.digest, *followed, "", *beyond))
    return blake2b(said.encode(), digest_size=16).hexdigest()


def _without(host: str, url: str) -> str:
    return url.removeprefix(host) if url.startswith(f"{host}/") else url


def release(
    page: PageParsed, found: Sequence[Discovery], duplicates: int, now: float
) -> list[UrlsDiscovered]:
    """Return the links *found* on *page*, an event a site; *duplicates* in a row lead to them."""
    counted = [replace(one, duplicates=duplicates) for one in found]
    return by_site(counted, page.visit.id, page.crawl, now)


def images_of(
    page: PageParsed,
    urls: Iterable[str],
    crawl: CrawlDefined | None,
    blacklist: Blacklist,
    now: float,
) -> list[UrlsDiscovered]:
    """Return *urls* of the host of *page* that *crawl* does not leave out, at the depth of it."""
    of, row = page.visit, page.visit.duplicates + 1
    images = [
        Discovery(url, of.depth, trace=fingerprint(url), duplicates=row, party=of.party)
        for url in urls
    ]
    found = [one for one in images if crawl and left_out(crawl, blacklist, one) is None]
    return by_site(found, of.id, page.crawl, now)


class Aside:
    """Sets aside the links that a crawl leaves out, each only once in a while.

    The same links out of a site stand on each of its pages. What was set aside lately is remembered
    with the page that had it: a page that comes again, after a crash or because the store was away,
    sets its own aside again.
    """

    def __init__(self) -> None:
        # Of a plain dict the first one is found ever more slowly, once many were taken away there.
        self._lately = OrderedDict[tuple[str, int], str]()

    def set_aside(
        self, page: PageParsed, beyond: Sequence[Discovery], duplicates: int, now: float
    ) -> Iterator[LinksSetAside]:
        """Yield the links *beyond* the crawl, so many an event that it fits its topic."""
        fresh = [
            replace(one, duplicates=duplicates)
            for one in beyond
            if not one.guess
            and self._lately.setdefault((one.trace, one.depth), page.visit.id) == page.visit.id
        ]
        while len(self._lately) > REMEMBERED:
            self._lately.popitem(last=False)
        for at in range(0, len(fresh), MOST):
            urls = tuple(fresh[at : at + MOST])
            yield LinksSetAside(
                crawl=page.crawl, at=now, site=page.site, via=page.visit.id, urls=urls
            )
