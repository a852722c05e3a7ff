"""What the crawl and its services are set by: one class for each table of the TOML file."""

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator

from gossamer.errors import BadSettings
from gossamer.settings.units import (
    DAY,
    BodyBytes,
    Bytes,
    Factor,
    Hosts,
    Natural,
    Positive,
    Seconds,
    SecondsOrZero,
    Section,
    kept_at_least,
    unit,
)
from gossamer.web.directives import Signal
from gossamer.web.url import MAX_LENGTH


def _network(given: object) -> IPv4Network | IPv6Network:
    # Left to pydantic, both kinds of network would complain.
    if isinstance(given, IPv4Network | IPv6Network):
        return given
    try:
        return ip_network(str(given))
    except ValueError as error:
        raise ValueError("a network is written like 10.0.0.0/8 or fd00::/8") from error


Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Networks = Annotated[tuple[Network, ...], unit("list of CIDR networks")]
_word = "[!#$%&'*+.^_`|~0-9a-z-]+"
MediaRange = Annotated[str, Field(pattern=f"^{_word}/{_word}$")]
MediaRanges = Annotated[tuple[MediaRange, ...], unit("list of media types")]
DOCUMENTS = (
    "text/html",
    "application/xhtml+xml",
    "application/xml",
    "text/*",
    "application/json",
    "application/ld+json",
    "application/feed+json",
    "application/pdf",
    "*/*+xml",
    "*/*+gzip",
)


class FrontierSettings(Section):
    """How polite the crawl is, and how much it takes of a host."""

    delay: SecondsOrZero = 1.0
    """The least time between two visits to a host; a longer Crawl-delay in robots.txt wins."""
    delay_factor: Factor = 0.0
    """The time between two visits is at least this many times what the last one took; 0 turns it
    off."""
    site_at_once: Hosts = 4
    """Most hosts of a site that are ordered at once."""
    site_gap: Factor = 0.25
    """The least time between the starts of two visits to a site, whichever its hosts: so many times
    `delay`."""
    batch: Annotated[Positive, unit("URLs")] = 10
    """Most URLs of a host that one order gives to a fetcher."""
    lease_slack: Seconds = 300.0
    """How much longer than its visits can take an order may go unanswered before the host is given
    to another fetcher."""
    checked_out_limit: Hosts = 512
    """Most hosts ordered from the fetchers at once, for each frontier. Half of them are shared out
    among its partitions, at least one to each: one that is held up leaves the others theirs."""
    loaded_limit: Hosts = 50_000
    """Most hosts kept in a frontier's memory; the others wait in the store. With fewer than
    `checked_out_limit` the hosts of a partition that is held up may leave the others no room."""
    url_budget: Annotated[Positive, unit("URLs")] = 5000
    """Most URLs admitted to a host (hazard trap_urls)."""
    host_budget: Hosts = 1000
    """Most hosts admitted of a site (hazard trap_hosts); seeds are admitted all the same."""
    probe_after: Annotated[Natural, unit("visits")] = 10
    """After so many visits to a host it is asked once for a path that cannot exist, to know how it
    says so: what answers alike is no page (hazard soft_404); 0: never."""
    unreadable_limit: Annotated[Natural, unit("pages")] = 5
    """After so many pages of a host in a row that the parser could not read the host is left alone
    for a while (hazard parser_fault); 0: never."""
    unreadable_wait: Seconds = 600.0
    """How long at first; then one page is visited, and it is twice as long each time that cannot be
    read either, up to a day."""
    hops_limit: Annotated[Natural, unit("redirects")] = 5
    """Most redirects in a row that are followed."""
    down_wait: Seconds = 43200.0
    """How long a host that is down is left alone at first; twice as long each time after."""
    down_wait_limit: Seconds = 604800.0
    """The longest that a host that is down is left alone."""
    dns_wait: Seconds = 604800.0
    """How long a host is left alone whose name does not exist."""
    retries: Annotated[Natural, unit("retries")] = 3
    """How often a URL is tried again after its host or its server failed."""
    retry_after_limit: Seconds = 86400.0
    """The longest Retry-After that is obeyed; a longer one is cut to this."""
    robots_unreachable_limit: Seconds = 2592000.0
    """While a robots.txt is unreachable its host is visited by the last copy of it, or not at all
    if none is known; after this long, if the server still answers with errors, as if there were
    none (RFC 9309, 2.3.1.4)."""
    history_age: Annotated[SecondsOrZero, kept_at_least(DAY)] = 365 * DAY
    """How long a visit stays in the history of its page (table `page_history`); 0: for ever. See
    [limits of growth](operations/sizing.md#limits-of-growth)."""
    erasures_age: Annotated[SecondsOrZero, kept_at_least(30 * DAY)] = 0.0
    """How long it is recorded what `gossamer forget` erased (table `erasures`); 0: for ever. Pages
    that were fetched before, and are read later than this, bring back what was erased."""
    parked_limit: Annotated[Natural, unit("rows")] = 0
    """Most rows of `parked` in one of the 96 groups of sites for each limit that leaves URLs out
    (the depth, the scope, one rule of the blocklist); the oldest 50 are dropped first. A row has
    the links of one page. 0: all are kept; less than 100 are refused."""

    @field_validator("parked_limit")
    @classmethod
    def _holds_two_buckets(cls, given: int) -> int:
        if 0 < given < 100:
            raise ValueError("must be 0, or at least 100")
        return given


class FetcherSettings(Section):
    """How the fetcher behaves on the Web."""

    contact: Annotated[str, unit("e-mail address or URL")] = ""
    """Where a webmaster reaches you; sent with every request. Without it nothing is fetched."""
    product: Annotated[str, unit("product token")] = "gossamer"
    """Our name in the User-Agent, robots.txt, robots meta elements and X-Robots-Tag headers."""
    page: Annotated[str, unit("URL")] = ""
    """A page about the crawler that the User-Agent names beside the contact; empty: none."""
    concurrency: Annotated[Positive, unit("requests")] = 256
    """Most requests that a fetcher makes at once."""
    orders_limit: Hosts = 512
    """Most hosts that a fetcher visits by turns: those that rest take no place among its
    requests."""
    address_at_once: Hosts = 16
    """Most requests under way to one address, over all fetchers, whichever its hosts; in IPv6 to a
    /64 network."""
    address_gap: SecondsOrZero = 0.1
    """The least time between the starts of two requests of a fetcher to one address, unless a
    host's own delay is less."""
    connect_limit: Seconds = 10.0
    """The most time that connecting to a server may take, and as much again for TLS."""
    first_byte_limit: Seconds = 15.0
    """The most time from the request to the end of the answer's head."""
    between_bytes_limit: Seconds = 15.0
    """The most time between two reads of a body."""
    visit_limit: Seconds = 60.0
    """The most time that one visit may take in all."""
    types: MediaRanges = DOCUMENTS
    """Which types of documents are wanted, in small letters; `*` stands for anything. The type is
    told by headers and first bytes, and another one ends the visit then (hazard unwanted_type)."""
    keep_limit: Seconds = 30.0
    """How long a connection is kept open for the next request to its host. It is closed at once
    where the courtesy delay is longer, or the server says that it keeps it no longer."""
    head_limit: Bytes = 256 << 10
    """The longest head of an answer that is read, as in Chromium (hazard missing_headers)."""
    body_limit: BodyBytes = 2 << 20
    """A longer body is cut here, and marked as truncated; for HTML and all types that have no limit
    of their own."""
    pdf_limit: BodyBytes = 20 << 20
    """The same for PDF and office files, which are of no use when they are cut."""
    sitemap_limit: BodyBytes = 50 << 20
    """The same for sitemaps (sitemaps.org allows 50 MB)."""
    ranges: bool = False
    """Whether no more of a document is asked for than is read (Range). A server that answers 416 to
    that is asked once more without (hazard range_error)."""
    bodies_limit: Bytes = 256 << 20
    """Most bytes of all bodies together that are being read; when they are used up, a body waits
    until another is done."""
    slow_rate: Annotated[Natural, unit("bytes/s")] = 100
    """A body that comes more slowly than this is cut; 0 turns it off."""
    slow_window: Seconds = 20.0
    """For how long it must come so slowly."""
    robots_limit: BodyBytes = 500 << 10
    """How much of a robots.txt is read."""
    robots_age: Seconds = 86400.0
    """How long a robots.txt is believed before it is fetched again, unless its Cache-Control says
    less."""
    robots_age_floor: Seconds = 3600.0
    """How long a robots.txt is believed at least, whatever its Cache-Control says."""
    cookies: Annotated[Natural, unit("cookies")] = 10
    """Most cookies that are kept of a host and sent back to it, and as many of its domain; 0: none.
    Servers that cannot set one put session identifiers into URLs (hazard session_id)."""
    cookie_size: Bytes = 1024
    """A cookie of more bytes, with its name, domain and path, is not kept."""
    access_file: Path | None = None
    """A TOML file that says of single hosts how they are asked: user and password, headers, proxy.
    See [operations](operations/controls.md#passwords-headers-and-proxies)."""
    allow_networks: Networks = ()
    """Private or loopback networks that may be visited all the same."""
    nameserver: Annotated[str, unit("`ADDRESS` or `ADDRESS:PORT`")] = ""
    """The DNS server to ask, such as `192.0.2.1` or `[2001:db8::1]:53`; empty: those of the
    system."""
    lookups_limit: Annotated[Positive, unit("lookups")] = 32
    """Most DNS lookups in flight."""
    outage_share: Annotated[float, Field(gt=0, le=1), unit("share")] = 0.9
    """When lookups or connections fail at so many of at least 50 sites in a minute, the outage is
    ours (hazard dns_outage): nothing is begun for a while, and nobody blamed."""
    unparsed_limit: Annotated[Positive, unit("pages")] = 500
    """While more fetched pages of a partition than this wait for parser or archive, no new visit
    begins to the sites of that partition."""

    def model_post_init(self, context: Any) -> None:
        """Refuse a name server that is no address: there is nobody to ask for it."""
        if self.nameserver and not _is_server(self.nameserver):
            raise BadSettings(
                f"fetcher.nameserver: {self.nameserver!r} is no ADDRESS or ADDRESS:PORT, "
                "such as 192.0.2.1:53 or [2001:db8::1]"
            )


def _is_server(text: str) -> bool:
    try:
        server = urlsplit(f"//{text}")
        ip_address(server.hostname or "")
        return server.netloc == text and "@" not in text and server.port != 0
    except ValueError:
        return False


class ArchiveSettings(Section):
    """How captures are kept."""

    segment_size: Bytes = 1 << 30
    """A WARC file that has grown larger than this is complete, and another is begun."""
    not_archived: Annotated[tuple[Signal, ...], unit("list of directives")] = ("noarchive",)
    """Which of what a page asks for keeps its captures out of the archive: `noindex`, `noai` and
    others may be added. `unavailable_after` says nothing here."""
    segment_age: Seconds = 3600.0
    """A WARC file is complete this long after it was begun, however small it is."""
    folder: Path = Path("gossamer-data/warc")
    """Where the WARC files are; in a fleet each instance has a folder of its own name in there. It
    must outlive the process. (`scripts/crawl` keeps them in its data folder.)"""
    captures_age: Annotated[SecondsOrZero, kept_at_least(DAY)] = 0.0
    """How long it is known in the store where a capture lies (table `captures`); 0: for ever. WARC
    files, and `pages.archived`, are not touched."""


class DedupSettings(Section):
    """The content test, and the URL-seen test of a fleet."""

    duplicates_limit: Annotated[Natural, unit("pages")] = 10
    """How many duplicates in a row are followed: pages with different links and a text that another
    URL had before, or nearly the same one (hazard trap_duplicates)."""
    url_limit: Annotated[int, Field(gt=0, le=MAX_LENGTH), unit("characters")] = MAX_LENGTH
    """Longer links are not followed (hazard url_too_long)."""
    canonical: bool = True
    """Whether the URL that a page names as its better one (rel=canonical) is followed, and takes
    the page's place where both have the same text. A URL of another site must say so, too."""
    near_distance: Annotated[int, Field(ge=0, le=3), unit("bits")] = 3
    """In how many of their 64 bits the simhashes of near duplicates differ at most; from 0 to 3."""
    www_alias: Literal["proven", "assumed", "none"] = "proven"
    """Whether hosts whose names differ in `www.` alone are taken for one: where both have the same
    home page, or one's leads to the other's (proven); always, `www.` for a bare domain (assumed);
    or never (hazard www_alias)."""
    duphost: Literal["same_home", "same_home_and_1_doc", "dups60", "dups80", "dups100", "none"] = (
        "same_home_and_1_doc"
    )
    """When a host is a replica of another, so that links to it are taken for links there (hazard
    duphost): both have the same home page; and one more page; or 60, 80 or 100 % of the host's
    pages, of ten at least, are the other's, too, under the same paths."""
    duphost_age: Seconds = 7776000.0
    """How long such a verdict, or one on `www.`, holds without being renewed."""
    duphosts: Annotated[tuple[str, ...], unit("list of pairs")] = ()
    """Replicas that are known: `http://mirror.example http://www.example.org` takes the first host
    for the second, always."""
    refused_limit: Seconds = 2592000.0
    """How long a URL that was published is refused (4xx) before its document counts as gone."""
    republish_unchanged: bool = False
    """Whether a document that a visit finds unchanged is published again, with the record header
    `unchanged: 1`. After a 304 there is no text to publish: it never is."""
    documents_age: Annotated[SecondsOrZero, kept_at_least(90 * DAY)] = 0.0
    """How long a document is known since its last visit, and who had a text first since it was
    found (tables `documents`, `digests`, `near`); 0: for ever. It must be longer than the time
    between two visits to a page, or the page is published as a new one each time."""
    engine: Literal["own", "faust"] = "own"
    """What carries dedup in a fleet, and keeps its URL-seen set: our own loop, with the changelog
    `urls.seen`, or Faust. Each has a table and a changelog of its own: a crawl stays with one."""
    folder: Path = Path("gossamer-data/dedup")
    """Where each instance keeps its tables, in a folder of its own name. It must outlive the
    process, or the tables are read anew from their changelog."""
    standbys: Annotated[Natural, unit("instances")] = 1
    """How many other instances hold a copy of each table, to take over from; only with Faust."""


class StandaloneSettings(Section):
    """A crawl with everything embedded, as `scripts/crawl` runs it."""

    patience: SecondsOrZero = 300.0
    """How long a run waits for hosts that back off when nothing else is left to do; what is due
    later is left to another run."""
    records_limit: Annotated[Natural, unit("records")] = 0
    """Most records of the topics `dead.letters` and `pages.archived` in each of their four
    partitions; the oldest go first. 0: all are kept. In a fleet `retention.ms` of these topics is
    their limit."""


class LogSettings(Section):
    """What processes write to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "warning"
    """The least severe lines that are written; the services of a fleet write `info` unless this is
    set."""
    json_lines: bool = False
    """Whether lines are JSON; the services of a fleet write JSON unless this is set."""
