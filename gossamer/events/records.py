"""Every event that services write to each other, and the parts they are made of.

What others read is in `gossamer.events.public`.

An event is a frozen struct, one JSON object on the log, tagged with its name and version. What
belongs together is one event: the links of a page to one site, a host with its batch of visits.
Evolution is compatible both ways: a new field has a default, no field goes or changes its meaning;
a test holds these structs against `schemas/`. Which topic carries which event:
`gossamer.events.topics`. Instants are epoch seconds (`*_at`), durations seconds, sizes bytes.
"""

from typing import Annotated, NewType

from msgspec import Meta, Struct

from gossamer.events.formats import Instant
from gossamer.events.outcomes import Outcome, Purpose, Verdict
from gossamer.web.cookies import Cookie
from gossamer.web.http import Headers
from gossamer.web.robots import RobotsRules
from gossamer.web.soft_404 import NO_SIGNATURE, Signature
from gossamer.web.validators import NO_VALIDATORS, Validators, conditions

DEFAULT_CRAWL = "default"
PRIORITY_LIMIT = 100
Priority = Annotated[int, Meta(ge=-PRIORITY_LIMIT, le=PRIORITY_LIMIT)]
OrderId = NewType("OrderId", str)
"""The id of an order, unique in a crawl: the epoch of its frontier, a dot and a number."""


class Event(Struct, frozen=True, kw_only=True, tag_field="event", gc=False):
    """What every event carries. None is in a circle: the garbage collector looks at none."""

    version: int = 1
    """Of the event's description; see `schemas/README.md`."""
    crawl: str = DEFAULT_CRAWL
    """The crawl that it is about."""
    at: Instant
    """When the event was written."""


class Discovery(Struct, frozen=True, gc=False):
    """A URL on its way to the frontier: canonical, with how it was found."""

    url: str
    depth: int = 0
    """Links followed from a seed; a redirect adds none."""
    hops: int = 0
    """Redirects followed in a row to come here."""
    priority: Priority = 0
    """Lower is sooner, before everything else; from -100 to 100."""
    trace: str = ""
    """Identifies the URL in the events and logs of all services."""
    duplicates: int = 0
    """Duplicates and near duplicates in a row on the way here; a page with a text of its own ends
    the row."""
    purpose: Purpose = Purpose.PAGE
    """What it is to be visited for."""
    every: float = 0.0
    """How often it is said to change, in seconds; 0: that is not said."""
    party: str = ""
    """The party that it was found for: its limits are in the definition. "": the crawl's own."""
    guess: bool = False
    """Whether it was put together from a script, and may be no URL of a page."""
    linked_at: float = 0.0
    """When the page of its site was visited where the link is new, or has other words than at the
    visit before; 0: nothing of that is known."""


class SeedAdded(Event, frozen=True, kw_only=True, tag="seed_added"):
    """Somebody asks for a URL. On the topic it may also be the URL alone, as plain text."""

    at: float = 0.0
    url: str
    priority: Priority = 0
    depth: int = 0
    via: str = ""
    """Where the seed comes from; by default its record: `seed@topic/partition/offset`."""
    party: str = ""
    """Whose seed it is; what is found from it has that party's limits."""


class UrlsDiscovered(Event, frozen=True, kw_only=True, tag="urls_discovered"):
    """The links of one page to one site, after the page was judged worth following."""

    site: str
    via: str
    """The visit that discovered them, or `seed@topic/partition/offset`."""
    urls: tuple[Discovery, ...]


class UrlsSeen(Event, frozen=True, kw_only=True, tag="urls_seen"):
    """A change of the URL-seen set: URLs of one site that were found for the first time, or that
    are to be forgotten.

    Without URLs it says that a new owner has claimed the partition.
    """

    site: str
    epoch: int
    """The epoch of the owner's claim. Readers ignore an event whose epoch is older than that of an
    event before it in its partition: a former owner wrote it late."""
    finder: str = ""
    """64 bits, in hexadecimal, of what found them first."""
    urls: tuple[str, ...] = ()
    """Their fingerprints."""
    erased: bool = False
    """Whether they were taken out of the set; nobody has found them then."""


class UrlsAdmitted(Event, frozen=True, kw_only=True, tag="urls_admitted"):
    """Those of them that the URL-seen test had never met."""

    site: str
    via: str
    urls: tuple[Discovery, ...]
    repeated: bool = False
    """Whether they may have been admitted before: the same visit had found them, as after a crash
    between an admission and the commit of the record that it answers."""


class Visit(Struct, frozen=True, gc=False):
    """One URL of an order."""

    id: str
    """Never used twice: `epoch.order.index@url`."""
    url: str
    depth: int = 0
    hops: int = 0
    via: str = ""
    purpose: Purpose = Purpose.PAGE
    attempt: int = 0
    """How often it was tried before, in vain and in a row."""
    trace: str = ""
    duplicates: int = 0
    party: str = ""
    on_behalf_of: str = ""
    """The host that a robots.txt is about which lies at another one, and is visited there."""
    earlier: int = 0
    """How many visits to the URL had come to an end before."""
    validators: Validators = NO_VALIDATORS
    """Those of the version that the last of these visits found."""
    conditional: bool = False
    """Whether they are sent: the page is wanted only if it has changed."""
    statistics: bytes = b""
    """What the revisit scheduler knows of the page: its own, and it comes back with the verdict."""

    @property
    def conditions(self) -> Headers:
        """The headers that ask for the page only if it has changed; () if it is wanted anyhow.

        A 304 is an answer only where there are some.
        """
        return conditions(self.validators) if self.conditional else ()


class HostCheckedOut(Event, frozen=True, kw_only=True, tag="host_checked_out"):
    """An order: a host under a lease, and a batch of URLs to visit one after another."""

    site: str
    host: str
    order: OrderId
    epoch: int
    """The frontier's claim on the partition; orders of an older claim are void."""
    expires_at: float
    """No request starts later: another fetcher may have the host then."""
    pause: float
    """Between the end of one visit and the start of the next."""
    pause_factor: float = 0.0
    """The pause is at least this many times the last visit's time."""
    site_gap: float = 0.0
    """Between the starts of two visits to the site, whichever its hosts."""
    sent_to: int = -1
    """The partition of the topic that it goes to; -1: that of the site."""
    robots: RobotsRules | None = None
    """The rules of robots.txt for us; None only where the order is for robots.txt itself."""
    cookies: tuple[Cookie, ...] = ()
    """Those of the host and of its domain."""
    signature: Signature = NO_SIGNATURE
    """How the host says that it has no such page."""
    visits: tuple[Visit, ...]


class VisitEnded(Event, frozen=True, kw_only=True, tag="visit_ended"):
    """How one visit of an order ended; the last one releases the host."""

    site: str
    host: str
    order: OrderId
    epoch: int
    index: int
    """Which visit of the order, from 0."""
    last: bool
    visit: Visit
    outcome: Outcome
    reason: str = ""
    """A sentence for people, where the outcome alone is not enough."""
    status: int = 0
    location: str = ""
    """Where a redirect points, as the server wrote it."""
    started_at: float = 0.0
    took: float = 0.0
    received: int = 0
    retry_after: float = 0.0
    robots: RobotsRules | None = None
    """The rules that were found, where the visit was for robots.txt."""
    sitemaps: tuple[str, ...] = ()
    """The sitemaps that robots.txt names, of any host."""
    cookies: tuple[Cookie, ...] = ()
    """Those that the answer set anew, or deleted."""
    hazards: tuple[str, ...] = ()


class PageFetched(Event, frozen=True, kw_only=True, tag="page_fetched"):
    """A request and its response, the body as received: still content-encoded."""

    site: str
    host: str
    visit: Visit
    started_at: float
    took: float
    address: str = ""
    request_headers: Headers = ()
    http_version: str = "1.1"
    status: int
    reason: str = ""
    headers: Headers = ()
    body: bytes = b""
    truncated: str = ""
    """Why the body is not whole, in WARC's words: length, time, disconnect; or empty."""
    usage: dict[str, str] = {}
    """What the site says about the use of the page, in robots.txt and in headers, as it stands
    there: `content-usage` (draft-ietf-aipref-attach), `content-signal` (contentsignals.org)."""
    signature: Signature = NO_SIGNATURE
    """How the host says that it has no such page, as the order has it."""
    hazards: tuple[str, ...] = ()


class PageJudged(Event, frozen=True, kw_only=True, tag="page_judged"):
    """The verdict on a page, from which the revisit scheduler learns; or that it is gone."""

    site: str
    host: str
    visit: Visit
    verdict: Verdict
    digest: str
    duplicate_of: str = ""
    near_duplicate_of: str = ""
    """The page of the same site that has nearly the same text."""
    redirects_to: str = ""
    """Where its URL leads now, if the verdict is `redirect`."""
    change: float | None = None
    """How much has changed since the visit before: 0 nothing but what every visit changes, 1 all
    words. None: there was no document before."""
    links: int = 0
    """How many links were released to be followed."""
    reason: str = ""
    """For people: which rule held links back, or the document."""
    fetched_at: float = 0.0
    status: int = 0
    size: int = 0
    hazards: tuple[str, ...] = ()
    validators: Validators = NO_VALIDATORS
    """By which the server can be asked later whether the page has changed."""
    expires_at: float = 0.0
    """Until when the response says that it stays as it is; 0: it says nothing that can be meant."""
    in_links: int = 0
    """Other sites whose links to the page were met since its last verdict: `gossamer.web.in_links`.
    """
    internal_links: tuple[int, ...] | None = None
    """A sample of the pages of its own site that the page links to (`gossamer.web.internal_links`).
    None: the crawl's revisit policy does not use them, or the visit did not read the page."""


class LinksParked(Event, frozen=True, kw_only=True, tag="links_parked"):
    """Links of one page that the crawl's scope or depth leaves out: a wider one takes them up."""

    site: str
    """Of the page."""
    via: str
    """The visit that discovered them."""
    urls: tuple[Discovery, ...]


class DeadLetter(Event, frozen=True, kw_only=True, tag="dead_letter"):
    """A record that could not be read or processed, whole, and why."""

    service: str
    topic: str
    partition: int
    offset: int
    key: str
    reason: str
    value: bytes
