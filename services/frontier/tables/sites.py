"""The rows of a site: its hosts and its state, the worth of its parts, and its parked URLs."""

from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.services.frontier.tables.bucketed_log import BucketEnds
from gossamer.services.frontier.tables.hosts import AppliedRecords
from gossamer.store import Row
from gossamer.web.cookies import Cookie
from gossamer.web.url import Site
from gossamer.web.validators import Trust


class UnreadablePages(NamedTuple):
    """The last pages of a host, all of them unreadable."""

    pages: int = 0
    at: float = 0.0
    """The time of the last verdict on these pages."""


class SiteCrawl(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one crawl has met at a site."""

    hosts: int = 0
    """Hosts of the site at which URLs of the crawl were admitted."""
    refused: dict[str, int] = field(default_factory=dict)
    """Rule → the number of URLs that it has refused permanently; the first hundred are in `urls`.
    """
    hazards: tuple[str, ...] = ()
    """The hazards that URLs of the site have met, in the order of their first occurrence."""
    latest_new: tuple[bool, ...] = ()
    """Whether each of the last few pages of the site had a new text, in the order of their
    verdicts."""
    statistics: bytes = b""
    """The revisit policies' state of the site, as `gossamer.services.frontier.revisit` packs it."""
    requisites: int = 0
    """Requisites of the site that were admitted on the day `requisites_day`."""
    requisites_day: int | None = None
    """In days since 1970, UTC; null before the first requisite."""
    has_seed: bool = False
    """Whether a seed of the site was admitted."""


NEW_SITE = SiteCrawl()
"""What a crawl without URLs has met at a site."""


class SiteRow(Row, frozen=True):
    """A site: the number of its hosts, the state that they share, and what each crawl has there."""

    table = "sites"
    partition_key = "site"
    decides = True
    about = "site", "unreadable", "validators"

    site: Site
    hosts: int = 0
    """Hosts of the site with a row, of all crawls."""
    crawls: dict[str, SiteCrawl] = field(default_factory=dict)
    """Crawl → what it has met at the site."""
    unreadable: dict[str, UnreadablePages] = field(default_factory=dict)
    """Host → its last pages, if all of them are unreadable."""
    validators: dict[str, Trust] = field(default_factory=dict)
    """Host → the trust in its ETags and Last-Modified; a host without an entry is trusted."""
    wildcard: bool = False
    """Whether any name below the site resolves, as a made-up name showed."""
    cookies: tuple[Cookie, ...] = ()
    """Cookies of the hosts and domains of the site."""
    applied: AppliedRecords = AppliedRecords()
    """The records of `urls.admitted` that the counts above include, also the counts of crawls."""

    def of(self, crawl: str) -> SiteCrawl:
        """Return what *crawl* has met at the site."""
        return self.crawls.get(crawl, NEW_SITE)

    def with_crawl(self, crawl: str, own: SiteCrawl) -> "SiteRow":
        """Return the row with *own* as what *crawl* has met at the site."""
        return replace(self, crawls={**self.crawls, crawl: own})

    def without_crawl(self, crawl: str) -> "SiteRow":
        """Return the row without what *crawl* has met at the site."""
        return replace(self, crawls={one: own for one, own in self.crawls.items() if one != crawl})


class SiteWorthRow(Row, frozen=True):
    """The counters of the parts of a site, from which the worth of its URLs is estimated.

    A site with many visits is stored at each sixteenth of them. A crash forgets the later ones.
    """

    table = "site_worth"
    partition_key, sort_key = "site", "crawl"
    decides = True  # In one mutation with the rows of the site and its hosts.
    about = ("site",)

    site: Site
    crawl: str
    counters: bytes = b""
    """As `gossamer.services.frontier.worth.worth` packs them."""


class ParkedPart(BucketEnds, frozen=True, array_like=True, kw_only=True):
    """The buckets of the parked URLs of a part of a site, or of one of its budgets."""

    rule: str
    """The hazard that the URLs were refused by."""
    since: float
    urls: int = 0
    """URLs of the part, about."""
    probes: int = 0
    """Probes so far: visits that show whether the part has recovered."""
    probe_at: float = 0.0
    """The time of the next probe."""
    probe_visits: int = 0
    """The number of the site's visits at which the next probe is made before its time."""
    to_admit: int = 0
    """URLs of the part that may be queued now, although it is parked."""
    to_order: int = 0
    """URLs of the part that may be visited now, although it is parked."""
    releasing: bool = False
    """Whether its URLs are admitted again, a bucket at a time."""
    released_at: float | None = None
    """The room in the budget at the last release, or its limit; null before."""
    released_until: int = 0
    """The last bucket that was there then. The URLs of later ones were refused since."""
    is_limited: bool = False
    """Whether the release ends with the bucket after which `to_admit` is used up."""


class ParkedPartsRow(Row, frozen=True):
    """The parts of a site with parked URLs."""

    table = "parked_parts"
    partition_key = "crawl", "site"
    about = ("site",)

    crawl: str
    site: Site
    parts: dict[str, ParkedPart] = field(default_factory=dict)
    """The name of a part, as in `gossamer.services.frontier.worth.worth`, with `~` before it for
    URLs that were found on pages without a new text; or the hazard of a budget."""
