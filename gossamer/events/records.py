"""All events that services write to each other, and their parts.

Operators' events are in `gossamer.events.control` and `requests`, the parser's event in `pages`,
and the public events in `public`.

An event is a frozen struct, encoded as one JSON object and tagged with its name and version. One
event contains what belongs together: the links of a page to one site, or a host with its batch of
visits. Evolution is compatible in both directions: a new field has a default, and no field is
removed or changes its meaning. A test compares these structs with `schemas/`.
`gossamer.events.topics` lists the events of each topic. Instants are epoch seconds (`*_at`),
durations are seconds, sizes are bytes.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, NewType

from msgspec import Meta, Struct
from msgspec.inspect import Metadata, StructType, type_info

from gossamer.events.outcomes import Imported, Outcome, Purpose, Verdict
from gossamer.web.cookies import Cookie
from gossamer.web.http import Headers
from gossamer.web.robots import REDIRECTS, RobotsRules
from gossamer.web.soft_404 import NO_SIGNATURE, Signature
from gossamer.web.url import HostKey, Site
from gossamer.web.usage import Statement
from gossamer.web.usage.files import UsageFile
from gossamer.web.validators import NO_VALIDATORS, Validators, conditions
from gossamer.web.walls import Wall

Url = Annotated[str, Meta(extra_json_schema={"format": "uri"})]
"""An absolute, canonical URL. "" means no URL."""
_INSTANT = {"format": "epoch-seconds"}
Instant = Annotated[float, Meta(extra_json_schema=_INSTANT)]
"""Epoch seconds, or 0 if the time is not known."""
DEFAULT_CRAWL = "default"
FLEET = "-"
"""The crawl of events that concern all crawls of a fleet or a folder. No crawl has this id."""
_crawl_id = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
PRIORITY_LIMIT = 100
Priority = Annotated[int, Meta(ge=-PRIORITY_LIMIT, le=PRIORITY_LIMIT)]
OrderId = NewType("OrderId", str)
"""The id of an order, unique in a crawl: `epoch.number`, with the epoch of its frontier."""


def is_crawl_id(text: str) -> bool:
    """Return whether *text* may be the id of a crawl: 1 to 40 of a-z, 0-9 and -, with - not first.

    An id is a part of keys, of names of topics and files, and a value of labels.
    """
    return _crawl_id.fullmatch(text) is not None


class Event(Struct, frozen=True, kw_only=True, tag_field="event", gc=False):
    """The fields that all events have. Events cannot form reference cycles, so `gc=False`."""

    version: int = 1
    """The version of the event's schema. See `schemas/README.md`."""
    crawl: str = DEFAULT_CRAWL
    """The id of the crawl, or `-` if the event concerns all crawls."""
    at: Instant
    """Epoch seconds at which the event was written."""


class Discovery(Struct, frozen=True, gc=False):
    """A discovered URL and its origin, on the way to the frontier."""

    url: str
    """The canonical URL."""
    depth: int = 0
    """Number of links from a seed. Redirects do not count."""
    hops: int = 0
    """Number of consecutive redirects that led to the URL."""
    priority: Priority = 0
    """The URL's priority, from -100 to 100. URLs with lower values are visited before all
    others."""
    trace: str = ""
    """The id of the URL in the events and logs of all services."""
    duplicates: int = 0
    """Number of consecutive pages without a new text on the way to the URL: duplicates, near
    duplicates, and pages whose words are known. A page with a new text resets it. For a requisite:
    the number of styles on the way from its page."""
    purpose: Purpose = Purpose.PAGE
    """The purpose of the visit to the URL."""
    every: float = 0.0
    """Seconds between two changes, as a sitemap states them. 0 means not stated."""
    party: str = ""
    """The party of the URL's seed, with limits in the crawl's definition. "" means the crawl's
    limits."""
    guess: bool = False
    """Whether the URL was assembled from a script and may not exist."""
    linked_at: float = 0.0
    """Epoch seconds of the visit to a page of the same site on which the link is new, or has a new
    text. 0 means that this is not known."""
    score: float | None = None
    """The score of the page with the link, from 0 to 1. None means that no page links to it."""
    novelty: float | None = None
    """The share of words that no earlier page had, in the newest passage of the page with the link,
    from 0 to 1. None means that the page has no text, or that no page links to the URL."""
    position: str = ""
    """The part of the page with the link, as in `gossamer.events.pages.Link`, or `script` for a
    guess."""
    good_links: int = 0
    """Links of good pages to the URL so far, if it is promoted. 0 for a URL that is admitted."""
    joined: str = ""
    """The host or the site of the seed's target, by `scope_of_seeds`, that a redirect of the seed
    added to the scope. "" if the seed was not redirected out of the scope."""
    visited: bool = False
    """Whether another crawl has visited the URL, or an operator has requested its visit. It enters
    the URL-seen set, and is not admitted."""
    refused_by: str = ""
    """The file and line of the crawl's own rule `follow` that refuses the link, or ""."""


class SeedAdded(Event, frozen=True, kw_only=True, tag="seed_added"):
    """Somebody adds a seed. On the topic it may also be the URL alone, as plain text."""

    at: float = 0.0
    url: str
    priority: Priority = 0
    depth: int = 0
    via: str = ""
    """The source of the seed. By default it is the seed's record: `seed@topic/partition/offset`."""
    party: str = ""
    """The party of the seed. Its limits apply to all URLs that are found from the seed."""


class UrlsDiscovered(Event, frozen=True, kw_only=True, tag="urls_discovered"):
    """The links of one page to one site, released after the verdict on the page."""

    site: Site
    via: str
    """The id of the visit that discovered the URLs, or `seed@topic/partition/offset`."""
    urls: tuple[Discovery, ...]


class HostsCompared(Event, frozen=True, kw_only=True, tag="hosts_compared"):
    """A host has pages of another host under the same paths. The dedup instance of one host reports
    to that of the other whether they are one host, and which of the two is the original."""

    site: Site
    """The site of *host*."""
    host: HostKey
    """The key of the host whose instance receives the event."""
    counterpart: str
    """The key of the host whose pages were compared."""
    original: str = ""
    """The one of the two that is the original. "" means that they are not proven to be one host."""
    rule: str = ""
    """The hazard of the proof: `www_alias` or `duphost`."""
    until: float = 0.0
    """Epoch seconds at which the verdict expires."""


class UrlsSeen(Event, frozen=True, kw_only=True, tag="urls_seen"):
    """A change of the URL-seen set: URLs of one site that were found for the first time, or that
    are erased.

    Without URLs, the event announces that a new owner has claimed the partition, unless it drops a
    site.
    """

    site: Site
    epoch: int
    """The epoch of the owner's claim. Readers ignore an event with an older epoch than an earlier
    event of the partition: a former owner wrote it late."""
    finder: str = ""
    """64 bits, in hexadecimal, of the visit or seed that found the URLs first."""
    urls: tuple[str, ...] = ()
    """The fingerprints of the URLs."""
    erased: bool = False
    """Whether the URLs were removed from the set. They have no finder then."""
    dropped: bool = False
    """Whether all URLs of the site were removed from the set of the crawl."""


class UrlsAdmitted(Event, frozen=True, kw_only=True, tag="urls_admitted"):
    """URLs of one site that passed the URL-seen test."""

    site: Site
    via: str
    urls: tuple[Discovery, ...]
    known_links: int = 0
    """Number of the links in the main content of the page to other URLs of the page's site, which
    were in the URL-seen set already."""
    repeated: bool = False
    """Whether the URLs may have been admitted before by the same visit, after a crash between an
    admission and the commit of its record."""
    promoted: bool = False
    """Whether the URLs were admitted before, and a link of another good page gives them a better
    rank. A URL that waits no longer is ignored."""


TAKEN = "taken from the capture of crawl"
"""The beginning of the reason of a visit that makes no request."""


class SharedCapture(Struct, frozen=True, gc=False):
    """The capture of a page by one crawl, which other crawls take as their own visit."""

    crawl: str
    """The crawl that made the visit."""
    at: float
    """Epoch seconds of the request."""
    blob: str
    """The name of the capture in the volume `blobs.volume`."""

    @property
    def reason(self) -> str:
        """A sentence for people about a visit that takes the capture."""
        at = datetime.fromtimestamp(self.at, UTC)
        return f"{TAKEN} {self.crawl} at {at:%Y-%m-%d %H:%M:%S} UTC"


class Visit(Struct, frozen=True, gc=False):
    """One URL of an order."""

    id: str
    """The visit's unique id: `epoch.order.index@url`."""
    url: str
    depth: int = 0
    hops: int = 0
    via: str = ""
    purpose: Purpose = Purpose.PAGE
    attempt: int = 0
    """Number of consecutive failed attempts before this one."""
    trace: str = ""
    duplicates: int = 0
    party: str = ""
    on_behalf_of: HostKey = HostKey("")
    """The key of the host that a robots.txt is about, if it is visited at another host after a
    redirect."""
    earlier: int = 0
    """Number of completed visits to the URL before this one."""
    validators: Validators = NO_VALIDATORS
    """The validators of the version that the last completed visit found."""
    conditional: bool = False
    """Whether the request sends the validators, so that an unchanged page is answered by a 304. In
    other events than an order: whether the request that counts did so."""
    statistics: bytes = b""
    """The revisit scheduler's statistics of the page. Only the scheduler reads them, when the
    verdict returns them."""
    priority: Priority = 0
    score: float | None = None
    position: str = ""
    joined: str = ""
    imported: Imported | None = None
    """How the capture of another crawl counts. None means that this crawl makes the visit."""
    shared: SharedCapture | None = None
    """The capture of another crawl, in an order: to be taken instead of a request, if it can be
    read; in other events: that was taken. None means that the visit makes a request."""

    @property
    def conditions(self) -> Headers:
        """The request headers of a conditional visit, or () for an unconditional one.

        A 304 is a valid response only to a conditional request.
        """
        return conditions(self.validators) if self.conditional else ()

    @property
    def redirected_from(self) -> str:
        """The URL that redirected to this one; "" if a link or a seed led to it."""
        return self.via.partition("@")[2] if self.hops else ""

    @property
    def max_requests(self) -> int:
        """The largest number of requests, each of which has a pause.

        Only visits to a robots.txt and to usage files follow redirects, within the host. A
        conditional request is repeated if its conditions are refused.
        """
        follows = self.purpose in (Purpose.ROBOTS, Purpose.USAGE)
        return 1 + REDIRECTS - self.hops if follows else 1 + bool(self.conditions)


def max_seconds(visits: Iterable[Visit], pause: float, visit_limit: float) -> float:
    """Return the longest time that *visits* take, each request after a *pause*."""
    return sum(visit.max_requests for visit in visits) * (pause + visit_limit)


class Timing(Struct, frozen=True, gc=False):
    """Seconds of each phase of a visit's last request. A failure ends its phase."""

    dns: float = 0.0
    """The lookup of the name; about 0 for a cached address."""
    limited: float = 0.0
    """The wait for limiters after the lookup, such as the limit of requests to one address."""
    connect: float = 0.0
    """The connection with its TLS handshake; about 0 for a reused connection."""
    first_byte: float = 0.0
    """From the request to the end of the response's headers."""
    body: float = 0.0
    """From the headers to the end of the body, as far as it was read."""


NO_TIMING = Timing()


class HostCheckedOut(Event, frozen=True, kw_only=True, tag="host_checked_out"):
    """An order: a host under a lease, and a batch of its URLs to visit one after another."""

    site: Site
    host: HostKey
    order: OrderId
    epoch: int
    """The epoch of the frontier's claim on the partition. Orders of an older claim are fenced."""
    expires_at: float
    """Epoch seconds at which the lease ends. No request starts later, since another fetcher may
    have the host then."""
    pause: float
    """Seconds between the end of one visit and the start of the next."""
    pause_factor: float = 0.0
    """Minimum pause as a multiple of the duration of the last visit."""
    site_gap: float = 0.0
    """Seconds between the starts of two visits to the site, over all its hosts."""
    sent_to: int = -1
    """The partition of the topic that carries the order. -1 means the partition of the site."""
    robots: RobotsRules | None = None
    """The rules of robots.txt for our user agent. None means that the order is for robots.txt
    itself."""
    usage_files: tuple[UsageFile, ...] = ()
    """The usage files of the host, with the statements about the order's URLs."""
    cookies: tuple[Cookie, ...] = ()
    """The cookies of the host and of its domain."""
    signature: Signature = NO_SIGNATURE
    """The signature of the host's response for a page that does not exist."""
    sign: bool = False
    """Whether the requests are signed, because the host asked for signatures."""
    keep: bool = False
    """Whether other crawls may take the pages, so that the fetcher stores their captures."""
    visits: tuple[Visit, ...]

    @property
    def requests(self) -> int:
        """Number of visits that make a request, if all shared captures can be read."""
        return sum(visit.shared is None for visit in self.visits)

    def lease_after(self, ended: int, visit_limit: float) -> float:
        """Return the seconds in which the order may go on once *ended* visits have ended: the
        longest time of the others, with the slack of the lease. *visit_limit*: the longest
        request."""
        whole = max_seconds(self.visits, self.pause, visit_limit)
        slack = max(0.0, self.expires_at - self.at - whole)
        return slack + max_seconds(self.visits[ended:], self.pause, visit_limit)


class OrderBegun(Event, frozen=True, kw_only=True, tag="order_begun"):
    """A fetcher begins an order as soon as it has committed the order's offset.

    The report precedes the commit. If the fetcher dies in between, another one begins the order.
    """

    site: Site
    host: HostKey
    order: OrderId
    fetcher: str
    """The name of the fetcher, which it has again after a restart."""
    offset: int
    """The offset of the order in its partition of `visits.ordered`."""


class FetcherStarted(Event, frozen=True, kw_only=True, tag="fetcher_started"):
    """A fetcher has started, so the earlier process of its name is dead. It has begun no order yet.

    Each partition of the topic has one such event. An order that only a fetcher of that name has
    begun, before the event, has no further outcome if its offset was committed.
    """

    crawl: str = FLEET
    fetcher: str
    """The name of the fetcher, which no other living process has."""
    partition: int
    """The partition of the topic that carries the event."""
    committed: dict[int, int]
    """Partition of `visits.ordered` → the offset that fetchers had committed at the start. Earlier
    orders are not read again."""
    site: Site = Site("")
    """Always "": the event is about all sites of the partition."""


class VisitEnded(Event, frozen=True, kw_only=True, tag="visit_ended"):
    """The outcome of one visit of an order. The last visit releases the host."""

    site: Site
    host: HostKey
    order: OrderId
    epoch: int
    index: int
    """The position of the visit in the order, from 0."""
    last: bool
    """Whether this is the last visit of the order."""
    lease: float = 0.0
    """Seconds from now on after which no request of the order starts, unless the next outcome comes
    before. 0 means that the lease stays as it is."""
    visit: Visit
    outcome: Outcome
    reason: str = ""
    """A sentence for people, if the outcome alone does not explain enough."""
    status: int = 0
    address: str = ""
    """The IP address of the server; "" without a response."""
    location: str = ""
    """The target of a redirect, as the server wrote it; octets above 127 are escaped."""
    started_at: float = 0.0
    """Epoch seconds of the request. 0 means that no request was made."""
    took: float = 0.0
    """Duration of the visit in seconds."""
    timing: Timing = NO_TIMING
    received: int = 0
    """Number of bytes of the body, as received."""
    content_type: str = ""
    """The media type of a 2xx response, by its headers and first bytes. "" means that it is not
    known."""
    retry_after: float = 0.0
    """Seconds of the response's Retry-After. 0 means that it has none."""
    wall: Wall | None = None
    """The wall that answered in place of a page: a challenge, or the demand for a payment or a
    license. None means that the response is not a wall."""
    robots: RobotsRules | None = None
    """The rules of the robots.txt that was visited."""
    sitemaps: tuple[str, ...] = ()
    """The URLs of the sitemaps that robots.txt names, of any host."""
    usage_file: UsageFile | None = None
    """The statements of the usage file that was visited."""
    cookies: tuple[Cookie, ...] = ()
    """The cookies that the response set or deleted."""
    validators: Validators = NO_VALIDATORS
    """The validators of a requisite, for its next visit. Those of a page come with its verdict."""
    hazards: tuple[str, ...] = ()
    """The names of the hazards that the visit met."""
    signed: bool = False
    """Whether the request was signed."""
    certificate_fault: str = ""
    """Why the server's certificate is invalid, if the response was fetched in spite of that."""
    kept: str = ""
    """The name of the capture in the volume `blobs.volume`, if other crawls may take it. "" means
    that it is not stored."""

    @property
    def captured_at(self) -> float:
        """Epoch seconds of the request, also of a shared capture. 0 without a request."""
        return self.visit.shared.at if self.visit.shared else self.started_at


class Blob(Struct, frozen=True, gc=False):
    """Bytes in the blob store, which are too large for their record."""

    name: str
    """The name in the volume `blobs.volume`. No other record refers to it."""
    uri: str
    """The URI of the bytes, for other programs."""
    size: int
    """Number of bytes."""
    digest: str
    """The SHA-1 of the bytes in base 32, as in WARC-Payload-Digest: `sha1:…`."""


class PageFetched(Event, frozen=True, kw_only=True, tag="page_fetched"):
    """A request and its response. The body is as received, still content-encoded."""

    site: Site
    host: HostKey
    visit: Visit
    started_at: float
    """Epoch seconds of the request."""
    took: float
    """Duration of the visit in seconds."""
    address: str = ""
    """The IP address of the server."""
    tls_version: str = ""
    """The version of TLS, as `tls/1.3`. "" means that the connection was not encrypted."""
    cipher_suite: str = ""
    """The cipher suite of TLS, as IANA names it. "" means none, or one without a known name."""
    certificate_fault: str = ""
    """Why the server's certificate is invalid, if the response was fetched in spite of that."""
    request_headers: Headers = ()
    http_version: str = "1.1"
    status: int
    reason: str = ""
    headers: Headers = ()
    body: bytes = b""
    """The body, or "" if it is in `blob`."""
    blob: Blob | None = None
    """The body, if it is larger than `fetcher.inline_body`. None means that it is in `body`."""
    truncated: str = ""
    """Why the body is incomplete, as a WARC-Truncated reason: length, time or disconnect. "" means
    that it is complete."""
    usage_statements: tuple[Statement, ...] = ()
    """The site's statements about the use of the page, from the robots.txt of the order and from
    headers. See `gossamer.web.usage`."""
    wall: Wall | None = None
    """The wall that answered in place of a page. None means that the response is not a wall."""
    intermediate: bool = False
    """Whether another response decides the visit: to the request that was repeated without refused
    headers, or that followed a redirect. An intermediate response is archived and not read."""
    signature: Signature = NO_SIGNATURE
    """The signature of the host's response for a page that does not exist, as in the order."""
    hazards: tuple[str, ...] = ()


class PageDeduplicated(Event, frozen=True, kw_only=True, tag="page_deduplicated"):
    """The verdict on a page, from which the revisit scheduler learns."""

    site: Site
    host: HostKey
    visit: Visit
    verdict: Verdict
    digest: str
    duplicate_of: str = ""
    """The URL of the page that had the same text first."""
    near_duplicate_of: str = ""
    """The URL of the page of the same site with nearly the same text."""
    redirects_to: str = ""
    """The target of the URL's redirect, if the verdict is `redirect`."""
    change: float | None = None
    """How much of the compared text (see `digest`), menus included, has changed since the visit
    before, from 0 (only volatile parts) to 1 (all words, or a body without text). None means that
    there was no document before."""
    links: int = 0
    """Number of links that were released."""
    score: float = 0.0
    """The score of the page, from 0 (worthless) to 1."""
    novelty: float | None = None
    """The share of words that no earlier page of the site had, in the newest passage of the text,
    from 0 to 1. A few words are a small share however new they are. None means that there is no
    text."""
    reason: str = ""
    """Which rule excluded the document or its links, as text for people."""
    fetched_at: float = 0.0
    """Epoch seconds of the request."""
    status: int = 0
    """The HTTP status of the response."""
    size: int = 0
    """Bytes of the decoded body."""
    parse_seconds: float = 0.0
    """Seconds that reading the page took."""
    dedup_seconds: float = 0.0
    """Seconds from the parser's result to the verdict, including the wait for both."""
    hazards: tuple[str, ...] = ()
    validators: Validators = NO_VALIDATORS
    """The validators of this version, for a later conditional request."""
    expires_at: float = 0.0
    """Epoch seconds until which the response declares the page fresh. 0 means that it declares
    nothing, or nothing credible."""
    in_links: int = 0
    """Number of other sites whose links to the page were seen since its last verdict. See
    `gossamer.web.links`."""
    internal_links: tuple[int, ...] | None = None
    """A sample of the internal pages that the page links to (`gossamer.web.links`). None
    means that the revisit policy does not use them, or that the visit did not read the page."""


class OriginalAnnounced(Event, frozen=True, kw_only=True, tag="original_announced"):
    """A host is a replica of another host, is no longer one, or may turn out to be one."""

    site: Site
    host: HostKey
    original: str = ""
    """The key of the original, whose pages are visited instead. "" means that the host is not a
    replica."""
    until: float = 0.0
    """Epoch seconds at which the verdict expires."""
    compared: bool = False
    """Whether the next pages of the host decide if it is a replica, so that few are visited at
    once."""


class UrlRulesAnnounced(Event, frozen=True, kw_only=True, tag="url_rules_announced"):
    """The texts of a host have proved rules about session ids in its URLs, or refuted one."""

    site: Site
    host: HostKey
    rules: dict[str, str]
    """Each proven rule (`gossamer.web.url_steps`) → the token that replaces all random ones; ""
    for a rule without a token."""


class LinksParked(Event, frozen=True, kw_only=True, tag="links_parked"):
    """Links of one page that the crawl's scope, depth or rules exclude. They are released when a
    limit is widened."""

    site: Site
    """The site of the page."""
    via: str
    """The id of the visit that discovered the links."""
    urls: tuple[Discovery, ...]
    rules_digest: str = ""
    """The digest of the crawl's rules that refuse some of the links. "" without rules."""


class DeadLetter(Event, frozen=True, kw_only=True, tag="dead_letter"):
    """A record that could not be read or processed, with its bytes and the reason."""

    service: str
    topic: str
    partition: int
    offset: int
    key: str
    reason: str
    value: bytes
    """The value of the record, unless it is large."""
    compressed: bool = False
    """Whether `value` is compressed with zlib (RFC 1950), because it is large."""
    cut: bool = False
    """Whether `value` is only the beginning, because the whole is too large even if compressed."""


class RobotsRequested(Event, frozen=True, kw_only=True, tag="robots_requested"):
    """The robots.txt of the host *on_behalf_of* redirects to *url* of another host."""

    site: Site
    url: str
    on_behalf_of: HostKey
    """The key of the host that the robots.txt is about."""
    hops: int
    """Number of consecutive redirects that led to the URL."""


class RobotsAnswered(Event, frozen=True, kw_only=True, tag="robots_answered"):
    """The result of a robots.txt visit on behalf of *host*, whose robots.txt is at another host."""

    site: Site
    host: HostKey
    """The key of the host that the robots.txt is about."""
    url: str
    """The visited URL, at another host."""
    outcome: Outcome
    reason: str = ""
    """A sentence for people, if the outcome alone does not explain enough."""
    retry_after: float = 0.0
    """Seconds of the response's Retry-After. 0 means that it has none."""
    robots: RobotsRules | None = None
    """The rules of the robots.txt for our user agent. None means that it was not read."""
    sitemaps: tuple[str, ...] = ()
    """The URLs of the sitemaps that the robots.txt names, of any host."""


class MissingPageRead(Event, frozen=True, kw_only=True, tag="missing_page_read"):
    """A host answered a probe, a visit to a path that cannot exist, with this document."""

    site: Site
    host: HostKey
    digest: str
    """The digest of the text, as in `page_parsed`."""
    simhash: str = ""
    """The simhash of the text, as in `page_parsed`."""


class EvidenceKind(StrEnum):
    """The source of evidence that a page has changed."""

    LAST_MODIFIED = "last_modified"
    SITEMAP = "sitemap"
    FEED = "feed"
    LINK = "link"
    EXPIRES = "expires"
    """Cache-Control or Expires in the page's last response."""
    CHANGEFREQ = "changefreq"


class ChangeHint(Struct, frozen=True):
    """Evidence that a page may have changed."""

    url: str
    """The canonical URL of the page."""
    kind: EvidenceKind
    changed_at: float
    """Epoch seconds of the stated change; for a new link, of the visit that saw it. 0 means that no
    date was stated."""
    every: float = 0.0
    """Seconds between two changes, from a sitemap's changefreq. 0 means that no frequency was
    stated."""


class ChangesHinted(Event, frozen=True, kw_only=True, tag="changes_hinted"):
    """Pages of a host may have changed. The revisit scheduler weighs a site's hints by the share of
    its earlier hints that proved true."""

    site: Site
    host: HostKey
    hints: tuple[ChangeHint, ...]


def instants_of(struct: type[Struct]) -> tuple[str, ...]:
    """Return the names of the fields of *struct* that are instants."""
    about = type_info(struct)
    assert isinstance(about, StructType)
    return tuple(
        field.name
        for field in about.fields
        if isinstance(field.type, Metadata) and field.type.extra_json_schema == _INSTANT
    )
