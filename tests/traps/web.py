"""The numbers that determine a web of traps, its sites, and their names."""

from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import chain
from urllib.parse import urlsplit

from tests.synthweb.answers import Answer
from tests.synthweb.robots import ROBOTS
from tests.synthweb.server import Served, by_url

from .hosts import (
    Doorways,
    Mirror,
    Wildcard,
    WildcardCountry,
    WildcardSuffix,
    WildcardWords,
    WwwAlias,
)
from .lists import Calendar, Facets, NearDuplicates, SortOrders
from .lookalikes import Archive, Blogs, Categories, DatedArchive, DeepSite, QuerySite
from .mazes import Babble, Tarpit
from .missing import AlwaysFailing, AlwaysMissing, EchoingNotFound, OneAnswer, SoftNotFound
from .paths import (
    GrowingPaths,
    PathSessions,
    RelativeLoop,
    RepeatedBlocks,
    Sessions,
    UnknownSessions,
)
from .site import Plan, Site

TRAPS: dict[str, type[Site]] = {
    "wildcard": Wildcard,
    "wildcard-words": WildcardWords,
    "wildcard-suffix": WildcardSuffix,
    "wildcard-country": WildcardCountry,
    "mirror": Mirror,
    "www": WwwAlias,
    "calendar": Calendar,
    "facets": Facets,
    "sort": SortOrders,
    "growing": GrowingPaths,
    "blocks": RepeatedBlocks,
    "relative": RelativeLoop,
    "session": Sessions,
    "session-unknown": UnknownSessions,
    "session-path": PathSessions,
    "soft404": SoftNotFound,
    "soft404-echo": EchoingNotFound,
    "always-200": OneAnswer,
    "always-404": AlwaysMissing,
    "always-500": AlwaysFailing,
    "near": NearDuplicates,
    "tarpit": Tarpit,
    "babble": Babble,
    "doorways": Doorways,
}
LOOKALIKES: dict[str, type[Site]] = {
    "query": QuerySite,
    "deep": DeepSite,
    "archive": Archive,
    "dated": DatedArchive,
    "categories": Categories,
    "blogs": Blogs,
}
"""Honest sites that look like traps."""
KINDS = TRAPS | LOOKALIKES
MAX_SEEDS = 5
FIRST = IPv4Address("127.2.0.1")
"""The address of the first site; the other sites have the following ones."""


@dataclass(frozen=True)
class TrapWeb:
    """A web of sites with traps and of honest sites. The same numbers give the same web."""

    seed: int = 1
    traps: tuple[str, ...] = ()
    """Names of traps and of honest sites that look like traps."""
    pages: int = 48
    """Honest pages of each site with a trap, without events and products."""
    sites: int = 2
    """Honest sites without a trap."""
    site_pages: int = 6
    """Pages of each honest site without a trap."""

    def open(self, port: int) -> Served:
        sites = Sites(self, port)
        return Served(by_url(sites.to), sites.addresses(), sites.seeds, sites.wildcards())


class Sites:
    """All sites of a web on a given port."""

    def __init__(self, web: TrapWeb, port: int) -> None:
        trapped = [
            KINDS[name](Plan(f"{name}.test", port, web.seed, web.pages)) for name in web.traps
        ]
        honest = [
            Site(Plan(_honest_name(number), port, web.seed, web.site_pages))
            for number in range(web.sites)
        ]
        self.web = web
        self.sites = [*trapped, *honest]
        self._numbers = {
            name: number for number, site in enumerate(self.sites) for name in site.names()
        }
        self._zones = {site.zone(): number for number, site in enumerate(self.sites) if site.zone()}
        self._make_friends(honest)

    def _make_friends(self, honest: list[Site]) -> None:
        """Link the home pages of all sites in a ring, and honest sites to three more sites."""
        count = len(self.sites)
        for number, site in enumerate(self.sites):
            chosen = {(number + 1) % count}
            if site in honest:
                chosen.update(site.rng("friends").randrange(count) for _ in range(3))
            friends = (self.sites[other] for other in sorted(chosen - {number}))
            site.friends = [url for friend in friends for url in friend.seeds()]

    @property
    def seeds(self) -> list[str]:
        """Return the home pages of at most five honest sites without a trap; of all sites of a web
        that has none. A crawl finds traps through links."""
        sites = self.sites[-min(self.web.sites, MAX_SEEDS) :]
        return list(chain.from_iterable(site.seeds() for site in sites))

    def number(self, host: str) -> int | None:
        """Return the number of the site that a name belongs to, or None."""
        if host in self._numbers:
            return self._numbers[host]
        labels = host.split(".")
        parents = (".".join(labels[at:]) for at in range(len(labels)))
        return next((self._zones[parent] for parent in parents if parent in self._zones), None)

    def site(self, host: str) -> Site | None:
        number = self.number(host)
        return None if number is None else self.sites[number]

    def to(self, name: str, path: str) -> Answer:
        """Return the answer of the host *name* to a request for *path*."""
        site = self.site(name)
        return Answer(404) if site is None else site.answer(name, path)

    def addresses(self) -> dict[str, IPv4Address]:
        return {name: FIRST + number for name, number in self._numbers.items()}

    def wildcards(self) -> dict[str, IPv4Address]:
        return {zone: FIRST + number for zone, number in self._zones.items()}

    # Truth

    def honest_pages(self, number: int | None = None) -> set[str]:
        """Return the URLs of all honest pages, or those of one site, one for each page."""
        sites = self.sites if number is None else [self.sites[number]]
        return {url for site in sites for url in site.honest_urls()}

    def page_of(self, url: str) -> str | None:
        """Return the URL of the honest page that *url* shows, or None."""
        host, target = split_url(url)
        site = self.site(host)
        path = site.page_of(host, target) if site else None
        return None if site is None or path is None else site.canonical_url(host, path)

    def is_needed(self, url: str) -> bool:
        """Return whether a URL without an honest page is worth a request."""
        host, target = split_url(url)
        site = self.site(host)
        return site is not None and site.is_needed(host, target)

    def is_trap(self, url: str) -> bool:
        """Return whether a URL is a page of a trap: not honest, not needed, and no robots.txt."""
        target = split_url(url)[1]
        return target != ROBOTS and self.page_of(url) is None and not self.is_needed(url)


def split_url(url: str) -> tuple[str, str]:
    """Return the host and the request target of a URL."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return parts.hostname or "", (parts.path or "/") + query


def _honest_name(number: int) -> str:
    return (
        f"{('home', 'team', 'city', 'club')[number % 4]}{number}.{('test', 'example')[number % 2]}"
    )
