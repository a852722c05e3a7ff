"""The links of a page: their URLs, which of them are followed, and how they are released.

The parser knows no crawl: its links are canonical, each as it stands on the page. The steps of the
crawl's definition are applied here (`gossamer.web.url_steps`). All that follows, from the digest of
a page's links to the document on `pages`, has the URLs under which the crawl knows their pages.

If two pages have the same text, their links decide whether both are followed. On a mirror they lead
to the same places, or to the same places of its own host: following them would fetch the site
twice. In the folders of an archive, in a gallery, or on pages that a script fills, they lead
elsewhere, and leaving them out would lose a part of the site.

All links to a site pass its dedup, and most lead to known URLs: an event for each would be too much
for the frontier. So links from other sites are counted here, four bytes a URL, and the next verdict
on the page carries the count.

Hints that pages have changed, for the revisit scheduler: how they are found and sent.

A site links to its news, and renames links to what has changed: a home page its articles, a list of
comments the page with another one. A sketch of a page's links to its own site is kept, a byte a
link. At the next visit, a link that is not in the sketch is new, or has other words. It is marked,
and goes to the URL-seen test as all links do. If its URL is known there, that is a hint.

The sketch takes a few new links in a hundred for old ones (Bloom, *Space/time trade-offs in hash
coding with allowable errors*, 1970). A crash may lose the hints of a visit: the sketch is written,
and the hints are not. The hints of sitemaps and feeds come from `listings`.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby, islice
from typing import NamedTuple
from zlib import crc32

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import external_links, left_out
from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.events import (
    ChangeHint,
    ChangesHinted,
    CrawlDefined,
    Discovery,
    Entry,
    EvidenceKind,
    Link,
    LinksParked,
    PageParsed,
    UrlsDiscovered,
)
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind
from gossamer.events.provenance import MOST, by_site, linked
from gossamer.telemetry import count
from gossamer.web import in_links
from gossamer.web.url import fingerprint, host_key, site_of
from gossamer.web.url_steps import merged, without_default_document
from services.dedup.seen import finder_of

LONG = 200
"""Characters beyond which a link is counted: 1 % of the URLs of viuva-negra's crawl (5.3)."""
DEFAULT_DOCUMENT = "default_document"
HAZARDS = frozenset(hazard.value for hazard in Hazard)
DEEP = "deep"
APART = frozenset((LinkKind.CANONICAL, LinkKind.ALTERNATE, LinkKind.AMP, LinkKind.SCRIPT))
"""Links that say nothing of whether two pages are one: only one of a page's names may have them."""
PARKED_CACHE_BYTES, SITE_PARKED_CACHE_BYTES = 16 << 20, 4 << 20
"""Bytes of the cache of parked links, and of the part of one site."""
IN_LINKS_CACHE_BYTES, SITE_IN_LINKS_CACHE_BYTES = 16 << 20, 2 << 20
"""Bytes of the counts of links from other sites, and of the part of one linking site."""


def respell(page: PageParsed, crawl: CrawlDefined | None, limit: int) -> PageParsed:
    """Return *page* with its links respelled by the URL steps of *crawl*.

    Links longer than *limit* characters are left out. The hazards met with links are added.
    """
    steps = crawl.url_steps if crawl else ()
    links, met = dict[str, Link](), set[str]()
    for link in page.links:
        url, done = merged(link.url, steps)
        met.update(done)
        if link.redirect and url == page.visit.url:
            # The server sets a session id, or shows a directory under the name of its default
            # document: the step would undo the redirect, and the redirect would lead nowhere.
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
    """Yield the entries of a sitemap or a feed, respelled by the URL *steps* of the crawl."""
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


class Links(NamedTuple):
    """The links of a page that it lets us follow, in its order."""

    followed: list[Discovery]
    beyond: list[Discovery]
    """Those that the crawl leaves out, by its scope or its depth, and those on the blocklist."""
    hazards: set[Hazard]
    """By which rules."""


def links_of(page: PageParsed, crawl: CrawlDefined | None, blocklist: Blocklist) -> Links:
    """Return the links of *page*: none if it asks that they are not followed."""
    links = Links([], [], set())
    policy = external_links(crawl, page.visit.party) if crawl else DEEP
    for found in _found(page, policy) if not page.nofollow else ():
        left = left_out(crawl, blocklist, found) if crawl else None
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
    """Return the URLs to follow for a link to *url*, by the crawl's *policy* for other sites.

    A redirect is followed as it stands. Under the policy `none`, only the redirect of a seed may
    leave the site: it says where the seed is now.
    """
    if policy == DEEP or site_of(url) == page.site:
        return (url,)
    if redirect:
        return () if policy == "none" and page.visit.depth else (url,)
    home = f"{host_key(url)}/"
    return {"home": (home,), "combined": (url, home)}.get(policy, ())


def digest_with_links(page: PageParsed, links: Links) -> str:
    """Return 128 bits of the text and of the targets of its *links*, in hexadecimal.

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
    blocklist: Blocklist,
    now: float,
) -> list[UrlsDiscovered]:
    """Return *urls* of the host of *page* that *crawl* does not leave out, at the depth of it."""
    of, row = page.visit, page.visit.duplicates + 1
    images = [
        Discovery(url, of.depth, trace=fingerprint(url), duplicates=row, party=of.party)
        for url in urls
    ]
    found = [one for one in images if crawl and left_out(crawl, blocklist, one) is None]
    return by_site(found, of.id, page.crawl, now)


class LinkParking:
    """Parks the links that a crawl leaves out, each only once in a while.

    All pages of a site often have the same links to other sites. The links that were parked last
    are remembered with their page. A page that is read again, after a crash or because the store
    was unavailable, parks its own links again.
    """

    def __init__(self) -> None:
        self._parked = ByteCache[tuple[str, int], str](
            PARKED_CACHE_BYTES, lambda _: 2 * ENTRY_BYTES, SITE_PARKED_CACHE_BYTES
        )
        """Trace and depth of a link → the page that parked it (`finder_of`)."""

    def park(
        self, page: PageParsed, beyond: Sequence[Discovery], duplicates: int, now: float
    ) -> Iterator[LinksParked]:
        """Yield the links *beyond* the crawl, as many in an event as its topic takes."""
        mine = finder_of(page.visit.id)
        fresh = [
            replace(one, duplicates=duplicates)
            for one in beyond
            if not one.guess and self._first(page.site, one, mine) == mine
        ]
        for at in range(0, len(fresh), MOST):
            urls = tuple(fresh[at : at + MOST])
            yield LinksParked(
                crawl=page.crawl, at=now, site=page.site, via=page.visit.id, urls=urls
            )

    def _first(self, site: str, link: Discovery, finder: str) -> str:
        """Return which page has parked *link*: *finder*, if none is remembered."""
        key = link.trace, link.depth
        if (first := self._parked.get(key)) is None:
            self._parked.put(key, finder, site)
        return first or finder


class InLinks:
    """Counts the sites that link to a URL of another site, until a verdict takes the count.

    A restart loses the counts. They come back: a page links where it linked before.
    """

    def __init__(self) -> None:
        self._sketches = ByteCache[str, in_links.Sketch](
            IN_LINKS_CACHE_BYTES, lambda _: 2 * ENTRY_BYTES, SITE_IN_LINKS_CACHE_BYTES
        )
        """The fingerprint of a URL → the sketch of the sites that link to it."""

    def met(self, site: str, urls: Iterable[str]) -> None:
        """Count links of *site* to *urls* of another one."""
        for url in urls:
            key = fingerprint(url)
            sketch = in_links.linked(self._sketches.get(key) or 0, site, url)
            self._sketches.put(key, sketch, site)

    def take(self, url: str) -> in_links.Sketch:
        """Return the sketch of the sites that link to *url*, once."""
        key = fingerprint(url)
        sketch = self._sketches.get(key) or 0
        self._sketches.remove(key)
        return sketch


CLICKED = LinkKind.LINK.value
MAX_NEW_LINKS = 20
"""New links of a page that are reported: the first ones, because lists begin with their news."""
MIN_BYTES, MAX_BYTES = 8, 128
"""Size of a sketch."""


def sketch_of(page: PageParsed) -> bytes:
    """Return the sketch of the links of *page* to its own site: at most 128 bytes."""
    hashed = [_hash(link) for link in internal_links(page)]
    if not hashed:
        return b""
    size = min(max(len(hashed), MIN_BYTES), MAX_BYTES)
    sketch = 0
    for one in hashed:
        sketch |= _bits(one, size)
    return sketch.to_bytes(size, "little")


def internal_links(page: PageParsed) -> Iterator[Link]:
    """Yield the links of *page* to other pages of its own site, if they may be followed."""
    url, host = page.visit.url, f"{page.host}/"
    for link in page.links:
        followed = link.kind == CLICKED and not link.nofollow and not link.redirect
        own = link.url.startswith(host) or site_of(link.url) == page.site
        if followed and own and link.url != url:
            yield link


def new_links(page: PageParsed, before: bytes) -> frozenset[str]:
    """Return the URLs of links of *page* that are not in the sketch of the version *before*.

    The list is empty if the version has no sketch.
    """
    found = dict[str, None]()
    sketch, size = int.from_bytes(before, "little"), len(before)
    for link in internal_links(page) if before else ():
        if _bits(_hash(link), size) & ~sketch:
            found[link.url] = None
        if len(found) == MAX_NEW_LINKS:
            break
    return frozenset(found)


def mark_new(
    released: Iterable[UrlsDiscovered], new: frozenset[str], at: float
) -> Iterator[UrlsDiscovered]:
    """Yield *released*, the links of a page visited *at* a time; mark those that are *new*."""
    for event in released:
        if not new.isdisjoint(found.url for found in event.urls):
            urls = (replace(one, linked_at=at) if one.url in new else one for one in event.urls)
            event = replace(event, urls=tuple(urls))
        yield event


def hints_of_links(known: Iterable[Discovery], crawl: str, now: float) -> Iterator[ChangesHinted]:
    """Yield the hints of those links to *known* URLs that are new on their page."""
    hints = (
        ChangeHint(one.url, EvidenceKind.LINK, one.linked_at) for one in known if one.linked_at
    )
    yield from group_by_host(hints, crawl, now)


def group_by_host(
    hints: Iterable[ChangeHint], crawl: str, now: float, limit: int | None = None
) -> Iterator[ChangesHinted]:
    """Yield *hints* by host: one event a host, or several if they do not fit into one.

    Each host gets at most *limit* hints, those of the latest changes.
    """
    ordered = sorted(hints, key=lambda hint: (host_key(hint.url), -hint.changed_at))
    for host, group in groupby(ordered, key=lambda hint: host_key(hint.url)):
        of_host = tuple(islice(group, limit))
        for at in range(0, len(of_host), MOST):
            yield ChangesHinted(
                crawl=crawl,
                at=now,
                site=site_of(host),
                host=host,
                hints=of_host[at : at + MOST],
            )


def _hash(link: Link) -> int:
    return crc32(f"{link.url} {link.text}".encode(errors="replace"))


def _bits(hashed: int, size: int) -> int:
    return 1 << hashed % (8 * size) | 1 << (hashed >> 16) % (8 * size)
