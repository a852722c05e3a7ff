"""Links that a page did not have at its visit before: where they lead, something may have changed.

A site links to what is new on it, and names anew what has changed: a home page its articles, a list
of comments the page with another one. A sketch of a page's links to its own site is kept, a byte a
link: at the next visit a link that is not in it is new, or has other words. It goes to the URL-seen
test as all links do; if its URL is known there, that is a hint for the revisit scheduler (`hints`).

A few new links in a hundred are taken for old ones (Bloom, *Space/time trade-offs in hash coding
with allowable errors*, 1970). A crash may lose those of a visit: the sketch is written, and what
was to be told of it is not.
"""

from collections.abc import Iterable, Iterator
from zlib import crc32

from msgspec.structs import replace

from gossamer.events import Link, PageParsed, UrlsDiscovered
from gossamer.events.pages import LinkKind
from gossamer.web.url import site_of

CLICKED = LinkKind.LINK.value
MOST = 20
"""New links of a page that are told of, the first ones: lists have what is new above."""
LEAST_BYTES, MOST_BYTES = 8, 128
"""Of a sketch."""


def sketch_of(page: PageParsed) -> bytes:
    """Return the sketch of what *page* links to of its site: at most 128 bytes."""
    hashed = [_hash(link) for link in _own(page)]
    if not hashed:
        return b""
    size = min(max(len(hashed), LEAST_BYTES), MOST_BYTES)
    sketch = 0
    for one in hashed:
        sketch |= _bits(one, size)
    return sketch.to_bytes(size, "little")


def new_links(page: PageParsed, before: bytes) -> frozenset[str]:
    """Return where links of *page* lead that were not in the sketch of the version *before*.

    None if there is no such sketch.
    """
    found = dict[str, None]()
    sketch, size = int.from_bytes(before, "little"), len(before)
    for link in _own(page) if before else ():
        if _bits(_hash(link), size) & ~sketch:
            found[link.url] = None
        if len(found) == MOST:
            break
    return frozenset(found)


def marked(
    released: Iterable[UrlsDiscovered], new: frozenset[str], at: float
) -> Iterator[UrlsDiscovered]:
    """Yield *released*, the links of a page visited *at* a time, those marked that are *new*."""
    for event in released:
        if not new.isdisjoint(found.url for found in event.urls):
            urls = (replace(one, linked_at=at) if one.url in new else one for one in event.urls)
            event = replace(event, urls=tuple(urls))
        yield event


def _own(page: PageParsed) -> Iterator[Link]:
    url, host = page.visit.url, f"{page.host}/"
    for link in page.links:
        followed = link.kind == CLICKED and not link.nofollow and not link.redirect
        own = link.url.startswith(host) or site_of(link.url) == page.site
        if followed and own and link.url != url:
            yield link


def _hash(link: Link) -> int:
    return crc32(f"{link.url} {link.text}".encode(errors="replace"))


def _bits(hashed: int, size: int) -> int:
    return 1 << hashed % (8 * size) | 1 << (hashed >> 16) % (8 * size)
