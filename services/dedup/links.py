"""Finds, rewrites, releases and parks the links of a page, and marks links that are new.

The parser does not know the crawl, so its links are canonical but not rewritten. Dedup applies the
URL steps of the crawl's definition to them (`gossamer.web.url_steps`). All later processing, from
the digest of a page's links to the document on `pages`, uses the rewritten URLs.

**Equal texts.** If two pages have the same text, their links decide whether the links of both are
followed. Links to the same URLs are followed once. Folders of an archive, pages of a gallery, and
pages that a script fills may have equal texts and different links. Ignoring their links would lose
a part of the site.

**Links from other sites.** All links to a site are processed by the dedup instance of this site,
and most lead to URLs in the URL-seen set. An event for each link would overload the frontier. So
dedup counts the linking sites in a sketch of four bytes for each URL. The next verdict on the page
of the URL carries the sketch.

**Hints.** Sites link to their new pages, and often change the text of a link when its target
changes: a home page links to a new article, and a forum shows a new number of comments. So dedup
stores a sketch of a page's internal links, one byte for each link. A link that is not in the sketch
of the last version is new, or has another text. It is marked, and passes the URL-seen test like all
links. If its URL is in the URL-seen set already, the link becomes a hint for the revisit scheduler.
The sketch misses a few percent of the new links (Bloom, *Space/time trade-offs in hash coding with
allowable errors*, 1970). A crash may lose the hints of a visit, if the sketch is written and the
hints are not. Hints from sitemaps and feeds come from `listings`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby, islice
from typing import NamedTuple
from zlib import crc32

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import Exclusion, exclusion_of, external_links, seed_part
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
from gossamer.events.pages import (
    FETCH_VIA,
    LinkKind,
    group_by_site,
    link_discovery,
    split_for_events,
)
from gossamer.services.dedup.rows import HostRules
from gossamer.services.dedup.seen import hash_finder
from gossamer.telemetry import count
from gossamer.web import links
from gossamer.web.url import HostKey, Site, fingerprint, host_key, site_of
from gossamer.web.url_steps import merge_url, without_default_document

LONG_LINK_CHARS = 200
"""Links with more characters are counted. They were 1 % in viuva-negra's crawl (5.3)."""
DEFAULT_DOCUMENT = "default_document"
HAZARDS = frozenset(hazard.value for hazard in Hazard)
DEEP = "deep"
UNCOMPARED_KINDS = frozenset(
    (LinkKind.CANONICAL, LinkKind.ALTERNATE, LinkKind.AMP, LinkKind.SCRIPT)
)
"""Kinds of links that may differ between two URLs of one page."""
PARKED_CACHE_BYTES, SITE_PARKED_CACHE_BYTES = 16 << 20, 4 << 20
"""Maximum size of the cache of parked links, and of one site's entries in it."""
IN_LINKS_CACHE_BYTES, SITE_IN_LINKS_CACHE_BYTES = 16 << 20, 2 << 20
"""Maximum size of the cache of sketches, and of one linking site's entries in it."""
KNOWN_CACHE_BYTES, SITE_KNOWN_CACHE_BYTES = 64 << 20, 16 << 20
"""Maximum size of the cache of known URLs, and of the URLs of one site in it."""


def apply_url_steps(page: PageParsed, crawl: CrawlDefined | None, limit: int) -> PageParsed:
    """Return *page* with its links rewritten by the URL steps of *crawl*.

    Links longer than *limit* characters are dropped. Hazards of links are added to the page.
    """
    steps = crawl.url_steps if crawl else ()
    links, hazards = dict[str, Link](), set[str]()
    names_default = DEFAULT_DOCUMENT in steps
    for link in page.links:
        url, applied = merge_url(link.url, steps)
        if applied:
            hazards.update(applied)
        if link.redirect and url == page.visit.url:
            # The server redirects in order to add a session id, or the name of a default document.
            # The rewritten target would be the page itself.
            url = link.url
        if names_default and without_default_document(url) != url:
            hazards.add(DEFAULT_DOCUMENT)
        if url and not _is_too_long(url, limit, hazards):
            link = link if url == link.url else replace(link, url=url)
            links[url] = _merge_links(links[url], link) if url in links else link
    canonical = merge_url(page.canonical, steps).url if page.canonical else ""
    entries = tuple(_rewrite_entries(page, steps, limit, hazards))
    return replace(
        page,
        links=tuple(links.values()),
        canonical=canonical or page.canonical,
        entries=entries,
        hazards=tuple(dict.fromkeys((*page.hazards, *sorted(hazards & HAZARDS)))),
    )


def _rewrite_entries(
    page: PageParsed, steps: tuple[str, ...], limit: int, hazards: set[str]
) -> Iterator[Entry]:
    """Yield the entries of a sitemap or a feed, rewritten by the URL *steps* of the crawl."""
    for entry in page.entries:
        url, applied = merge_url(entry.url, steps)
        hazards.update(applied)
        if url and not _is_too_long(url, limit, hazards):
            yield entry if url == entry.url else replace(entry, url=url)


def _is_too_long(url: str, limit: int, hazards: set[str]) -> bool:
    size = len(url)
    if size > LONG_LINK_CHARS:
        count("gossamer_long_links_total")
    if size > limit:
        hazards.add(Hazard.URL_TOO_LONG)
    return size > limit


def _merge_links(one: Link, other: Link) -> Link:
    """Return *one* of two links to a URL; what either may do, the result may."""
    if one.refused_by and not other.refused_by:
        one = replace(one, refused_by="")
    return replace(one, nofollow=False) if one.nofollow and not other.nofollow else one


class Links(NamedTuple):
    """The links of a page that may be followed, in the page's order."""

    followed: list[Discovery]
    excluded: list[Discovery]
    """Links that are out of scope, too deep, on the blocklist, or refused by the crawl's rules."""
    hazards: set[Hazard]
    """The rules that excluded links."""

    def add(self, found: Discovery, exclusion: Exclusion | None) -> None:
        """Add a link, with its *exclusion* from the crawl."""
        (self.excluded if exclusion else self.followed).append(found)
        if exclusion:
            self.hazards.add(exclusion.rule)


def find_links(page: PageParsed, crawl: CrawlDefined | None, blocklist: Blocklist) -> Links:
    """Return the links of *page*; none if the page has `nofollow`."""
    links = Links([], [], set())
    policy = external_links(crawl, page.visit.party) if crawl else DEEP
    for found in _discover(page, policy) if not page.nofollow else ():
        exclusion = exclusion_of(crawl, blocklist, found) if crawl else None
        if crawl and exclusion and _is_moved_seed(page, found):
            # The target of a seed's redirect is the seed, so that a scope of seeds includes it.
            found = replace(found, joined=seed_part(crawl, found.url))
            exclusion = exclusion_of(crawl, blocklist, found)
        links.add(found, exclusion)
    return links


def _is_moved_seed(page: PageParsed, found: Discovery) -> bool:
    """Return whether *page* is a seed that redirects to *found*. A URL that an operator fetches
    alone has the depth of a seed, too."""
    return found.depth == 0 and found.hops > 0 and page.visit.via != FETCH_VIA


def _discover(page: PageParsed, policy: str) -> Iterator[Discovery]:
    urls, is_deep = set[str](), policy == DEEP
    for link in page.links:
        if link.nofollow:
            continue
        for url in (link.url,) if is_deep else targets(link.url, page, policy, link.redirect):
            if url not in urls:
                urls.add(url)
                found = link if url == link.url else replace(link, url=url)
                yield link_discovery(found, page.visit)


def targets(url: str, page: PageParsed, policy: str, redirect: bool = False) -> tuple[str, ...]:
    """Return the URLs to follow for a link to *url*, by the crawl's *policy* for external links.

    The target of a redirect is followed unchanged. Under the policy `none`, only the redirect of a
    seed may leave the site.
    """
    if policy == DEEP or site_of(url) == page.site:
        return (url,)
    if redirect:
        return () if policy == "none" and page.visit.depth else (url,)
    home = f"{host_key(url)}/"
    return {"home": (home,), "combined": (url, home)}.get(policy, ())


def digest_text_and_links(page: PageParsed, links: Links) -> str:
    """Return a 128-bit digest of the text of *page* and of its *links*, in hexadecimal.

    The digest leaves out guesses, and kinds of links that depend on the page's URL. It is "" if no
    other link is followed.
    """
    uncompared = {link.url for link in page.links if link.kind in UNCOMPARED_KINDS}
    followed, excluded = (
        sorted([one.url for one in part if one.url not in uncompared]) for part in links[:2]
    )
    if not followed:
        return ""
    content = "\n".join((page.digest, *followed, "", *excluded))
    return blake2b(content.encode(), digest_size=16).hexdigest()


class LinkingPage(NamedTuple):
    """Facts about the text of a page that its links carry."""

    duplicates: int
    """The number of duplicates in a row on the way to the links."""
    novelty: float | None = None
    """The share of the words of the page that are new; None without a text."""
    score: float | None = None
    """The score of the page; None if its links are not links of a page, as in a listing."""
    scores: Mapping[str, float] = {}
    """URL of a link → its score, if it differs from that of the page."""

    def mark(self, found: Iterable[Discovery]) -> list[Discovery]:
        """Return the links *found* on the page with these facts."""
        duplicates, novelty, score, scores = self
        return [
            replace(
                one,
                duplicates=duplicates,
                novelty=novelty,
                score=scores.get(one.url, score) if scores else score,
            )
            for one in found
        ]


def release(
    page: PageParsed, found: Sequence[Discovery], of_page: LinkingPage, now: float
) -> list[UrlsDiscovered]:
    """Return one event for each site that the links *found* on *page* lead to."""
    return group_by_site(of_page.mark(found), page.visit.id, page.crawl, now)


def release_rewritten(
    page: PageParsed,
    urls: Iterable[str],
    crawl: CrawlDefined | None,
    blocklist: Blocklist,
    now: float,
) -> list[UrlsDiscovered]:
    """Return events for *urls*, which were rewritten from the URL of *page* and have its depth.

    URLs that *crawl* or *blocklist* excludes are dropped.
    """
    visit, duplicates = page.visit, page.visit.duplicates + 1
    rewritten = [
        Discovery(
            url,
            visit.depth,
            priority=visit.priority,
            trace=fingerprint(url),
            duplicates=duplicates,
            party=visit.party,
            score=visit.score,
            position=visit.position,
            joined=visit.joined,
        )
        for url in urls
    ]
    found = [one for one in rewritten if crawl and exclusion_of(crawl, blocklist, one) is None]
    return group_by_site(found, visit.id, page.crawl, now)


class LinkParking:
    """Parks excluded links, and skips links that another page has parked lately.

    All pages of a site often have the same links to other sites. A cache maps recently parked links
    to the page that parked them. If this page is redelivered, it parks its links again.
    """

    def __init__(self) -> None:
        self._parked = ByteCache[tuple[str, str, int], str](
            PARKED_CACHE_BYTES, lambda _: ENTRY_BYTES, SITE_PARKED_CACHE_BYTES
        )
        """Crawl, trace and depth of a link → the page that parked it (`hash_finder`)."""

    def park(
        self,
        page: PageParsed,
        excluded: Sequence[Discovery],
        of_page: LinkingPage,
        now: float,
    ) -> Iterator[LinksParked]:
        """Yield the *excluded* links of *page*, in events of a limited size."""
        finder = hash_finder(page.visit.id)
        links = (
            one
            for one in excluded
            if not one.guess and self._first_finder(page, one, finder) == finder
        )
        for urls in split_for_events(of_page.mark(links)):
            yield LinksParked(
                crawl=page.crawl,
                at=now,
                site=page.site,
                via=page.visit.id,
                urls=urls,
                rules_digest=page.rules_digest,
            )

    def _first_finder(self, page: PageParsed, link: Discovery, finder: str) -> str:
        """Return the page of the crawl of *page* that parked *link*.

        If it is not cached, cache and return *finder*.
        """
        # Changed rules take up the refused links, and may refuse them again.
        refused = page.rules_digest if link.refused_by else ""
        key = page.crawl, f"{link.trace}{refused}", link.depth
        if (first := self._parked.get(key)) is None:
            self._parked.put(key, finder, page.site)
        return first or finder


class KnownUrl(NamedTuple):
    """A URL that is in the URL-seen set as it is linked."""

    finder: str
    """The first finder of the URL (`hash_finder`)."""
    host: HostKey
    rules: HostRules
    """The rules of the host by which the URL was not rewritten."""


KnownUrls = ByteCache[tuple[str, str], KnownUrl]
"""Crawl and URL → how the URL was tested, for URLs that were admitted lately, and that are in the
URL-seen set as they are linked.

All pages of a site have its menu. So most links are known, and need neither be rewritten nor looked
up again, unless the steps or the names of their host have changed."""


def make_known_urls() -> KnownUrls:
    """Return a cache of known URLs, each owned by its site."""
    return KnownUrls(KNOWN_CACHE_BYTES, lambda _: ENTRY_BYTES, SITE_KNOWN_CACHE_BYTES)


class InLinks:
    """Sketches of the sites that link to a URL of another site, until a verdict carries them.

    A restart loses the sketches. They recover, since revisited pages link to the same URLs.
    """

    def __init__(self) -> None:
        self._sketches = ByteCache[tuple[str, str], links.Sketch](
            IN_LINKS_CACHE_BYTES, lambda _: ENTRY_BYTES, SITE_IN_LINKS_CACHE_BYTES
        )
        """Crawl and fingerprint of a URL → the sketch of the sites that link to it."""

    def count_links(self, crawl: str, site: Site, urls: Iterable[str]) -> None:
        """Count links from *site* to *urls* of another site, found by *crawl*."""
        for url in urls:
            key = crawl, fingerprint(url)
            before = self._sketches.get(key)
            # Most pages of a site have the links of its other pages.
            if (sketch := links.add_link(before or 0, site, url)) != before:
                self._sketches.put(key, sketch, site)

    def pop(self, crawl: str, url: str) -> links.Sketch:
        """Remove and return the sketch of the sites that link to *url* in *crawl*."""
        key = crawl, fingerprint(url)
        sketch = self._sketches.get(key) or 0
        self._sketches.remove(key)
        return sketch


CLICKABLE = LinkKind.LINK.value
MAX_NEW_LINKS = 20
"""Maximum number of new links of a page. Later ones are ignored, since lists are newest first."""
MIN_SKETCH_BYTES, MAX_SKETCH_BYTES = 8, 128
"""Minimum and maximum size of a sketch of links."""


def sketch_links(page: PageParsed) -> bytes:
    """Return a sketch of the internal links of *page*, at most 128 bytes."""
    hashes = [_hash(link) for link in internal_links(page)]
    if not hashes:
        return b""
    size = min(max(len(hashes), MIN_SKETCH_BYTES), MAX_SKETCH_BYTES)
    sketch = 0
    for one in hashes:
        sketch |= _bits(one, size)
    return sketch.to_bytes(size, "little")


def internal_links(page: PageParsed) -> Iterator[Link]:
    """Yield the links of *page* to other pages of its site that may be followed."""
    url, host = page.visit.url, f"{page.host}/"
    for link in page.links:
        is_followed = link.kind == CLICKABLE and not link.nofollow and not link.redirect
        is_internal = link.url.startswith(host) or site_of(link.url) == page.site
        if is_followed and is_internal and link.url != url:
            yield link


def find_new_links(page: PageParsed, sketch: bytes) -> frozenset[str]:
    """Return the URLs of internal links of *page* that *sketch*, of the last version, lacks.

    The result is empty if the last version has no sketch.
    """
    found = dict[str, None]()
    bits, size = int.from_bytes(sketch, "little"), len(sketch)
    for link in internal_links(page) if sketch else ():
        if _bits(_hash(link), size) & ~bits:
            found[link.url] = None
        if len(found) == MAX_NEW_LINKS:
            break
    return frozenset(found)


def mark_new(
    released: Iterable[UrlsDiscovered], new: frozenset[str], at: float
) -> Iterator[UrlsDiscovered]:
    """Yield *released*, links of a page visited *at* a time, with the *new* URLs marked."""
    for event in released:
        if new and not new.isdisjoint([found.url for found in event.urls]):
            urls = (replace(one, linked_at=at) if one.url in new else one for one in event.urls)
            event = replace(event, urls=tuple(urls))
        yield event


def hints_of_links(seen: Iterable[Discovery], crawl: str, now: float) -> Iterator[ChangesHinted]:
    """Yield hints for the new links in *seen*, whose URLs are in the URL-seen set already."""
    hints = [ChangeHint(one.url, EvidenceKind.LINK, one.linked_at) for one in seen if one.linked_at]
    yield from group_by_host(hints, crawl, now)


def group_by_host(
    hints: Iterable[ChangeHint], crawl: str, now: float, limit: int | None = None
) -> Iterator[ChangesHinted]:
    """Yield *hints* grouped by host: one event for each host, or several of a limited size.

    Each host gets at most *limit* hints, of the latest changes.
    """
    ordered = sorted(hints, key=lambda hint: (host_key(hint.url), -hint.changed_at))
    for host, group in groupby(ordered, key=lambda hint: host_key(hint.url)):
        for part in split_for_events(islice(group, limit)):
            yield ChangesHinted(crawl=crawl, at=now, site=site_of(host), host=host, hints=part)


def _hash(link: Link) -> int:
    return crc32(f"{link.url} {link.text}".encode(errors="replace"))


def _bits(hashed: int, size: int) -> int:
    return 1 << hashed % (8 * size) | 1 << (hashed >> 16) % (8 * size)
