"""The events on the control topic, which configure all services. See `gossamer.log.control`."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from gossamer.events.records import FLEET, Event, Priority
from gossamer.web.url import Site
from gossamer.web.usage import Action

MAX_SHARE_SECONDS = 86400.0
"""Maximum age in seconds of a capture that another crawl takes."""
DEFAULT_DEPTH = 16
"""Links from a seed that a crawl follows by default."""


class Party(Struct, frozen=True):
    """Limits of the URLs that are found from one group of seeds (SCrawler's parties)."""

    scope: str = ""
    """The party's scope, an expression of `gossamer.web.scope`. "" means the whole scope of the
    crawl."""
    max_depth: int | None = None
    """Maximum number of links from a seed. None means the crawl's maximum."""
    external_links: str = ""
    """Links to other sites that are followed, as in `crawl_defined`. "" means the crawl's
    choice."""


class CrawlDefined(Event, frozen=True, kw_only=True, tag="crawl_defined"):
    """The definition of a crawl and whether it runs. The newest definition of a crawl is active."""

    scope: str
    """The URLs that may be visited, as an expression of `gossamer.web.scope`."""
    scope_of_seeds: Literal["", "host", "site"] = ""
    """The part of a seed that the scope follows from, its host or its site: a redirect of a seed
    then adds the host or the site of its target. "" means that the scope stays as it is."""
    max_depth: int
    """Maximum number of links from a seed."""
    max_pages: int = 0
    """Maximum number of pages beyond `pages_before`. 0 means no limit."""
    pages_before: int = 0
    """Number of pages that the crawl had fetched when the limit was set."""
    paused: bool = False
    """Whether the crawl is paused."""
    removed: bool = False
    """Whether the crawl is removed: its queues and rows are dropped, and it cannot be resumed."""
    weight: Annotated[float, Meta(gt=0)] = 1.0
    """The share of the crawl in the visits for which crawls compete, relative to other crawls."""
    share_for: Annotated[float, Meta(ge=0, le=MAX_SHARE_SECONDS)] = 3600.0
    """Maximum age in seconds of the capture of another crawl that the crawl takes instead of a
    request. 0 means that it makes all requests itself."""
    own_topic: bool = False
    """Whether the pages of the crawl are on the topic `pages.CRAWL` instead of `pages`. It cannot
    change during a crawl."""
    revisit: str = "none"
    """The revisit policy: `none`, `fixed:1d`, `selective-incremental`, `adaptive` or `optimal`."""
    budget: float = 0.0
    """Maximum number of revisits a day, including new URLs if `discovery_share` is set. 0 means
    that only politeness limits them."""
    discovery_share: float | None = None
    """Share of the budget for URLs that were never visited, from 0 to 1. None means that new URLs
    are not limited by the budget."""
    url_steps: tuple[str, ...] = ()
    """The steps of `gossamer.web.url_steps` that rewrite URLs to their canonical form. They cannot
    change during a crawl."""
    external_links: str = "deep"
    """Links to other sites that are followed: `deep` (the linked URL), `home` (the home page of its
    host instead), `combined` (both) or `none`."""
    relevant: str = ""
    """The pages that are published and archived, as an expression of `gossamer.relevance`. "" means
    all pages."""
    follow_irrelevant: bool = True
    """Whether the links of irrelevant pages are followed."""
    rules: str = ""
    """The rules of the crawl: the path of a Python file in a folder, or the name of a module. ""
    means none. See `gossamer.rules`."""
    rules_digest: str = ""
    """The digest of the file or module as it was when the crawl was defined. "" without rules."""
    strategy: str = ""
    """The order in which new URLs are visited: `breadth`, `best`, `seeds-first`, `focused` or
    `sample`. "" means `best` if the scope is `any()`, else `breadth`."""
    purposes: tuple[str, ...] = ("search",)
    """The categories of use that the crawl is for: `search`, `archive`, `train-ai`, `ai-input`."""
    usage_disallowed: str = Action.SKIP.value
    """The action for a page if one of the purposes is disallowed: `fetch`, `fetch and do not
    publish` or `do not fetch`."""
    usage_unknown: str = Action.FETCH.value
    """The action for a page if one of the purposes is unknown; values as for `usage_disallowed`."""
    parties: dict[str, Party] = field(default_factory=dict)
    """The limits of each party, by its name. Parties without limits of their own are not listed."""

    @property
    def page_limit(self) -> int:
        """Maximum number of pages of the crawl. 0 means no limit."""
        return self.pages_before + self.max_pages if self.max_pages else 0


class SeedsApplied(Event, frozen=True, kw_only=True, tag="seeds_applied"):
    """The seeds of a crawl's file as it was applied last. A seed that is added again is visited
    again, so the next file adds only the seeds that are not listed."""

    seeds: dict[str, tuple[str, ...]]
    """Party → the canonical URLs of its seeds; "" for seeds without a party."""
    priority: Priority = 0
    """The priority of the seeds in the file."""


class FleetEvent(Event, frozen=True, kw_only=True):
    """An event that concerns all crawls of a fleet or a folder."""

    crawl: str = FLEET


class FleetBegun(FleetEvent, frozen=True, kw_only=True, tag="fleet_begun"):
    """The identity of a fleet. See `gossamer.runtime.identity`."""

    id: str
    """The fleet's id. Topics, store and folders of one fleet have the same id."""
    partitions: int
    """Number of partitions of each topic that is keyed by site."""
    suffix_list: str
    """The publication time of the Public Suffix List that determines the sites."""
    suffixes: bytes = b""
    """The rules of that list, one a line, compressed by zlib. Without them, only a release with the
    list of that version can continue."""
    moved_to: str = ""
    """The new location of a crawl that was moved away, as text for people. "" means that it was not
    moved."""
    moving_from: str = ""
    """The old location of a crawl that is being moved here. "" means that no move is in
    progress."""


class FleetQuiesced(FleetEvent, frozen=True, kw_only=True, tag="fleet_quiesced"):
    """Quiesces the fleet or ends that: whether services may write to the store. The newest event
    counts. See `gossamer.runtime.quiescing`."""

    id: str
    """The id of the command that quiesced the fleet. The event that ends it has the same id."""
    until: float | None = None
    """Epoch seconds until which no service writes, unless a newer event ends that. None means that
    all services may write."""


class FleetPaused(FleetEvent, frozen=True, kw_only=True, tag="fleet_paused"):
    """Pauses all crawls together, or ends that. Crawls that operators have paused themselves stay
    paused. The newest event counts. A run of a folder writes it at its start and at its end."""

    paused: bool


class SiteOverridden(FleetEvent, frozen=True, kw_only=True, tag="site_overridden"):
    """An operator's settings for all hosts of a site. The newest event of a site counts."""

    site: Site
    quiet_from: float = 0.0
    """Start of the daily quiet hours, in seconds after midnight UTC. The site gets no requests in
    quiet hours."""
    quiet_until: float = 0.0
    """End of the quiet hours, in seconds after midnight UTC, perhaps on the next day. Equal to
    `quiet_from` means no quiet hours."""
    delay: Annotated[float, Meta(ge=0)] | None = None
    """Seconds between two visits to a host of the site. None means the usual delay."""
    ours: bool = False
    """Whether the site's owner has set the delay, so that it may be below the usual minimum."""
    off: bool = False
    """Whether the site gets no requests at all."""
    budget: Annotated[int, Meta(ge=0)] = 0
    """Maximum number of visits to each host a day, from midnight UTC. 0 means no limit."""
    certificate: str = ""
    """Certificates that are trusted at this site: PEM text adds authorities, and `sha256:` with 64
    hexadecimal digits accepts only the certificate with this fingerprint, whether valid or not.
    `verify` and `record` override `fetcher.certificates`. "" means the usual authorities and the
    setting."""


class HostOverridden(FleetEvent, frozen=True, kw_only=True, tag="host_overridden"):
    """An operator's settings for one host of a site. The newest event of a host counts.

    A setting of the host overrides that of its site. None means the setting of the site.
    """

    host: str
    """The host's name, which covers all schemes and ports: `www.example.org`."""
    delay: Annotated[float, Meta(ge=0)] | None = None
    """Seconds between two visits to the host. None means the site's delay. 0 with `ours` unset
    means the usual delay."""
    ours: bool = False
    """Whether the host's owner has set the delay, so that it may be below the usual minimum."""
    off: bool | None = None
    """Whether the host gets no requests at all. None means the site's setting."""
    budget: Annotated[int, Meta(ge=0)] | None = None
    """Maximum number of visits to the host a day, from midnight UTC. 0 means no limit, None the
    site's budget."""
    certificate: str | None = None
    """Certificates that are trusted at this host, as in `site_overridden`. "" means the usual
    authorities, None the site's setting."""


class BlocklistChanged(FleetEvent, frozen=True, kw_only=True, tag="blocklist_changed"):
    """A rule of the blocklist was added or lifted. The newest event of a rule counts."""

    rule: str
    """A host, domain, URL, prefix or network, in the syntax of `gossamer.blocklist`."""
    lifted: bool = False
    """Whether the rule is lifted. URLs that it had parked are then released."""
    actor: str = ""
    """Who added or lifted the rule, as in `change_recorded`. "" means that it is not known."""
    reason: str = ""
    """The reason that the actor gave."""


Rate = Annotated[float, Meta(ge=0)]


class Speed(Struct, frozen=True):
    """Rate limits for some times of the week."""

    when: str
    """The times at which the limits apply, such as `mon-fri 08:00-18:00` in UTC. "" means
    always."""
    pages: Rate | None = None
    """Maximum number of visits a second. None means no limit. 0 stops all visits."""
    bytes: Rate | None = None
    """Maximum number of bytes received a second. None means no limit."""


class SpeedSet(FleetEvent, frozen=True, kw_only=True, tag="speed_set"):
    """The rate limits of all crawls together, over all processes. The newest event counts."""

    speeds: tuple[Speed, ...] = ()
    """The limits in order of precedence: the first one that applies now counts. Without one, there
    is no limit."""


class ChangeExpires(FleetEvent, frozen=True, kw_only=True, tag="change_expires"):
    """A setting expires: the owner of partition 0 then restores the earlier one. The newest event
    of a setting counts. See `gossamer.expiries`."""

    setting: str
    """The key of the setting on this topic, such as `blocklist_changed/www.example.org`."""
    set_at: float
    """The time of the event with the setting. If a newer one was written, nothing expires."""
    expires_at: float | None = None
    """Epoch seconds at which the earlier setting returns. None means that the expiry has ended."""
    before: dict[str, Any]
    """The event that restores the earlier setting."""
    after: dict[str, Any]
    """The event that expires."""
    actor: str
    """The person or the token that made the change."""
    change: str
    """The id of the change on the topic `audit`."""
