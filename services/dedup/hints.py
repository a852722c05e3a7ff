"""Hints that pages have changed, for the revisit scheduler: how they are found and sent.

A site links to its news, and renames links to what has changed: a home page its articles, a list of
comments the page with another one. A sketch of a page's links to its own site is kept, a byte a
link. At the next visit, a link that is not in the sketch is new, or has other words. It is marked,
and goes to the URL-seen test as all links do. If its URL is known there, that is a hint.

The sketch takes a few new links in a hundred for old ones (Bloom, *Space/time trade-offs in hash
coding with allowable errors*, 1970). A crash may lose the hints of a visit: the sketch is written,
and the hints are not. The hints of sitemaps and feeds come from `listings`.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from zlib import crc32

from msgspec.structs import replace

from gossamer.events import (
    ChangeHint,
    ChangesHinted,
    Discovery,
    EvidenceKind,
    Link,
    PageParsed,
    UrlsDiscovered,
)
from gossamer.events.pages import LinkKind
from gossamer.events.provenance import MOST
from gossamer.web.url import host_key, site_of

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
