"""How a URL came to be visited. Every event and row on its way has these fields, flat; they are
copied from one to the next here alone, so that none is lost on the way.

A `Provenance` is spread into the next struct: `UrlRow(url=…, **provenance(visit, crawl))`. A
request's priority is no part of it: it ends in the request number, which orders the queue, and what
is tried again is queued behind what was asked for meanwhile.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypedDict

from gossamer.events.outcomes import Purpose
from gossamer.events.pages import Link, LinkKind
from gossamer.events.records import (
    Discovery,
    SeedSown,
    UrlsAdmitted,
    UrlsDiscovered,
    Visit,
)
from gossamer.web.url import fingerprint, site_of

MOST = 1000
"""Links in an event: each may be 2,000 characters long."""


class Trail(TypedDict):
    """A URL's provenance within its crawl: what a visit carries."""

    depth: int
    hops: int
    via: str
    attempt: int
    trace: str
    duplicates: int
    earlier: int
    purpose: Purpose
    party: str


class Provenance(Trail):
    """A URL's whole provenance: what a row carries."""

    crawl: str


class Trailed(Protocol):
    """A struct with the fields of a `Trail`."""

    @property
    def depth(self) -> int:
        """Links followed from a seed."""

    @property
    def hops(self) -> int:
        """Redirects followed in a row."""

    @property
    def via(self) -> str:
        """The visit that discovered the URL, or where its seed stands."""

    @property
    def attempt(self) -> int:
        """How often it was tried before, in vain and in a row."""

    @property
    def trace(self) -> str:
        """By which it is followed through all services."""

    @property
    def duplicates(self) -> int:
        """Duplicates in a row on the way to the URL."""

    @property
    def earlier(self) -> int:
        """How many visits to it had come to an end before."""

    @property
    def purpose(self) -> Purpose:
        """What it is visited for."""

    @property
    def party(self) -> str:
        """The party that it was found for; "" if it has none."""


def trail(of: Trailed) -> Trail:
    """Return what the visit of a queued URL carries."""
    return Trail(
        depth=of.depth,
        hops=of.hops,
        via=of.via,
        attempt=of.attempt,
        trace=of.trace,
        duplicates=of.duplicates,
        earlier=of.earlier,
        purpose=of.purpose,
        party=of.party,
    )


def provenance(of: Trailed, crawl: str, tried: bool = False) -> Provenance:
    """Return what *of*, a visit or a row, hands on; *tried*: with one attempt more."""
    return Provenance(
        depth=of.depth,
        hops=of.hops,
        via=of.via,
        attempt=of.attempt + tried,
        trace=of.trace,
        duplicates=of.duplicates,
        earlier=of.earlier,
        purpose=of.purpose,
        party=of.party,
        crawl=crawl,
    )


def ended(visit: Trailed, crawl: str) -> Provenance:
    """Return what *visit*, which has come to an end, hands on."""
    how = provenance(visit, crawl)
    how["earlier"], how["attempt"] = visit.earlier + 1, 0
    return how


def admitted(found: Discovery, event: UrlsAdmitted) -> Provenance:
    """Return the provenance of a URL that *event* admits: it was never tried."""
    return Provenance(
        depth=found.depth,
        hops=found.hops,
        via=event.via,
        attempt=0,
        trace=found.trace,
        duplicates=found.duplicates,
        earlier=0,
        purpose=found.purpose,
        party=found.party,
        crawl=event.crawl,
    )


def rediscovered(of: Trailed, url: str) -> Discovery:
    """Return a URL that was admitted as it was discovered."""
    return Discovery(
        url,
        of.depth,
        of.hops,
        trace=of.trace,
        duplicates=of.duplicates,
        purpose=of.purpose,
        party=of.party,
    )


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


def sown(seed: SeedSown, url: str) -> Discovery:
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
