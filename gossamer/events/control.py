"""The events on the control topic: what all services go by. See `gossamer.log.control`."""

from typing import Annotated

from msgspec import Meta, Struct, field

from gossamer.events.records import Event


class Party(Struct, frozen=True):
    """The limits of what is found from a group of seeds (SCrawler's parties)."""

    scope: str = ""
    """Which of the crawl's URLs it takes: an expression of `gossamer.web.scope`; "": all."""
    max_depth: int | None = None
    """Instead of the crawl's."""
    external_links: str = ""
    """Instead of the crawl's; "" for that."""


class CrawlDefined(Event, frozen=True, kw_only=True, tag="crawl_defined"):
    """What a crawl is and whether it runs; the newest on the control topic is in force."""

    scope: str
    """An expression of `gossamer.web.scope`."""
    max_depth: int
    max_pages: int = 0
    """How many pages more than *pages_before*; 0 = no limit."""
    pages_before: int = 0
    paused: bool = False
    revisit: str = "none"
    """When pages are visited again: `none`, `fixed:1d`, `selective-incremental`, `adaptive`,
    `optimal`."""
    budget: float = 0.0
    """Visits a day; 0: as many as politeness allows."""
    discovery_share: float | None = None
    """Which part of the budget URLs have that were never visited; None: as a visit is worth it."""
    url_steps: tuple[str, ...] = ()
    """The steps of `gossamer.web.url_steps` by which URLs are taken for one. They stay as they are
    for as long as the crawl does."""
    external_links: str = "deep"
    """What is followed of links to other sites than the page's: `deep` what they name, `home` the
    home page of its host instead, `combined` both, `none` nothing."""
    relevant: str = ""
    """Which pages are kept: an expression of `gossamer.relevance`; empty: all."""
    follow_irrelevant: bool = True
    """Whether the links of pages that are not kept are followed all the same."""
    parties: dict[str, Party] = field(default_factory=dict)
    """By name, those that have limits of their own."""


class FleetBegun(Event, frozen=True, kw_only=True, tag="fleet_begun"):
    """What a fleet was begun with; see `gossamer.runtime.identity`."""

    id: str
    """Of the fleet: the same on the topics, in the store and in its folders."""
    partitions: int
    """Of each topic that is keyed by site."""
    suffix_list: str
    """The version of the public suffix list, by which sites are told apart: when it was
    published."""
    moved_to: str = ""
    """Where the crawl was moved to, for a person to read; "" while it is here."""
    moving_from: str = ""
    """Where a crawl comes from whose move has not ended; "" otherwise."""


class FleetQuiesced(Event, frozen=True, kw_only=True, tag="fleet_quiesced"):
    """Whether services may write to the store; the newest one is in force. See
    `gossamer.runtime.quiescing`."""

    id: str
    """Of the command that asks; the event that ends it has the same."""
    until: float | None = None
    """Epoch seconds until which no service writes, unless another event comes; None: all write."""


class SiteOverridden(Event, frozen=True, kw_only=True, tag="site_overridden"):
    """What is different at a site, for all of its hosts; the newest one of a site is in force."""

    site: str
    quiet_from: float = 0.0
    """Seconds after midnight UTC: nothing is asked of its hosts from here…"""
    quiet_until: float = 0.0
    """…until here, perhaps on the next day. Equal: no quiet hours."""
    delay: Annotated[float, Meta(ge=0)] | None = None
    """Between two visits to a host, in seconds; None: as everywhere."""
    ours: bool = False
    """Whether its owner has set that, so that it may be shorter than elsewhere."""
    off: bool = False
    """Nothing is asked of its hosts."""
    budget: Annotated[int, Meta(ge=0)] = 0
    """Most visits to each host between two midnights, UTC; 0: no limit."""
    certificate: str = ""
    """Trusted there, too: certificates as PEM; or there alone, whatever is wrong with it: that of
    which this is the SHA-256, as `sha256:` and 64 hexadecimal digits."""


class HostOverridden(Event, frozen=True, kw_only=True, tag="host_overridden"):
    """What is different at one host of a site; the newest one of a host is in force.

    What it says of the host comes before what is said of its site, and None leaves it at that.
    """

    host: str
    """Its name, whatever scheme and port: `www.example.org`."""
    delay: Annotated[float, Meta(ge=0)] | None = None
    """As of a site; 0, and not ours: as everywhere."""
    ours: bool = False
    """Whether its owner has set that delay."""
    off: bool | None = None
    budget: Annotated[int, Meta(ge=0)] | None = None
    """As of a site; 0: no limit."""
    certificate: str | None = None
    """As of a site; empty: what is trusted everywhere."""


class BlocklistChanged(Event, frozen=True, kw_only=True, tag="blocklist_changed"):
    """Something is never to be requested, or may be again; the newest one of a rule is in force."""

    rule: str
    """A host, domain, URL, prefix or network, as `gossamer.blocklist` spells it."""
    lifted: bool = False
    """Whether the rule is no more: what it held back comes again."""


Rate = Annotated[float, Meta(ge=0)]


class Speed(Struct, frozen=True):
    """How fast the crawl may go at some times."""

    when: str
    """Such as `mon-fri 08:00-18:00`, UTC; "" for always."""
    pages: Rate | None = None
    """Visits a second; None: no limit, 0: none are made."""
    bytes: Rate | None = None
    """A second."""


class SpeedSet(Event, frozen=True, kw_only=True, tag="speed_set"):
    """How fast the crawl goes, all of its processes together; the newest one is in force."""

    speeds: tuple[Speed, ...] = ()
    """The first one that holds at a time counts; where none does there is no limit."""
