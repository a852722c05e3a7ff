"""Settings of a crawl and of the services: one class for each table of the TOML file."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from gossamer.errors import BadSettings
from gossamer.events.control import DEFAULT_DEPTH
from gossamer.policies import parse_policy, parse_strategy
from gossamer.relevance import parse_relevance
from gossamer.settings.units import (
    DAY,
    BodyBytes,
    Bytes,
    Factor,
    Hosts,
    MediaRanges,
    Natural,
    Networks,
    Positive,
    Seconds,
    SecondsOrZero,
    Section,
    min_retention,
    unit,
)
from gossamer.text import PAGE_FIELDS, PageField, TextMode
from gossamer.web.directives import Signal
from gossamer.web.scope import parse_scope
from gossamer.web.signing import is_agent
from gossamer.web.url import MAX_LENGTH
from gossamer.web.url_steps import ALL_STEPS, check_steps
from gossamer.web.usage import Action, Category, policy_of


class CrawlSettings(Section):
    """The definition of a new crawl. `gossamer seed` with `--scope` changes it later."""

    scope: Annotated[str, unit("scope expression")] = ""
    """URLs that may be visited, as an expression such as `domain("example.org")` or `any()`. Empty
    means the sites of the seeds."""
    max_depth: Annotated[Natural, unit("links")] = DEFAULT_DEPTH
    """Maximum number of links from a seed (hazard trap_depth)."""
    revisit: Annotated[str, unit("revisit policy")] = ""
    """The revisit policy: `none`, `fixed:1d`, `selective-incremental`, `adaptive` or `optimal`.
    Empty means `none` in a folder and `optimal` in a fleet."""
    budget: Annotated[float, Field(ge=0), unit("visits a day")] = 0.0
    """Maximum number of revisits a day. New URLs do not count unless `discovery_share` is set. 0
    means that only politeness limits revisits."""
    discovery_share: Annotated[float | None, Field(ge=0, le=1), unit("share")] = None
    """Share of the budget for URLs that were never visited, while any are waiting. If it is not
    set, the budget does not limit new URLs, and they are visited as soon as politeness allows."""

    url_steps: Annotated[tuple[str, ...], unit("list of steps")] = ALL_STEPS
    """The [steps](urls.md) that rewrite URLs to their canonical form. They are fixed when the crawl
    is defined."""
    external_links: Literal["deep", "home", "combined", "none"] = "deep"
    """Links to other sites that are followed: `deep` (the linked URL), `home` (the home page of its
    host instead), `combined` (both) or `none`. Redirects of seeds are always followed."""
    relevant: Annotated[str, unit("relevance expression")] = ""
    """Relevant pages, as an expression such as `language("pt") and type("text/html")`. Other pages
    are not published. If their type or URL already excludes them, they are not archived either.
    Empty means all pages."""
    follow_irrelevant: bool = True
    """Whether the links of irrelevant pages are followed."""
    strategy: Annotated[str, unit("strategy")] = ""
    """Order in which new URLs are visited: `breadth` (by priority, then arrival), `best` (by
    expected worth, the score of the linking page, links from other sites, and depth), `seeds-first`
    (sites of seeds before others), `focused` (by the score of the linking page) or `sample` (a
    random walk with restarts). Empty means `best` if the scope is `any()`, else `breadth`."""
    purposes: Annotated[tuple[str, ...], unit("list of categories")] = (Category.SEARCH.value,)
    """Uses of the pages: `search`, `archive`, `train-ai` (training of generative models) and
    `ai-input` (input of a model that answers). Sites allow or disallow these uses in robots.txt,
    headers and meta elements. `[]` ignores their statements."""
    usage_disallowed: Annotated[str, unit("action")] = Action.SKIP.value
    """The action for a page if its site disallows one of the `purposes`: `fetch`, `fetch and do
    not publish` or `do not fetch`. If only the response states this, `do not fetch` means that the
    page is neither published nor archived (hazard usage_excluded)."""
    usage_unknown: Annotated[str, unit("action")] = Action.FETCH.value
    """The action for a page if its site says nothing about one of the `purposes`; values as for
    `usage_disallowed`. It cannot be stricter than `usage_disallowed`."""

    rules: Annotated[str, unit("file or module")] = ""
    """The [rules](rules.md) of the crawl: a Python file (`rules.py`), or a module that is installed
    with each parser. Empty means none."""

    def model_post_init(self, context: Any) -> None:
        """Raise an error for an expression, a step or a policy that is invalid."""
        policy_of(self)
        check_steps(self.url_steps)
        if self.relevant:
            parse_relevance(self.relevant)
        if self.scope:
            parse_scope(self.scope)
        if self.revisit:
            try:
                parse_policy(self.revisit)
            except ValueError as error:
                raise BadSettings(f"crawl.revisit: {error}") from error
        try:
            parse_strategy(self.strategy)
        except ValueError as error:
            raise BadSettings(f"crawl.strategy: {error}") from error


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
    """Politeness, and the limits for each host and site."""

    delay: SecondsOrZero = 1.0
    """Minimum time between two visits to a host. A longer Crawl-delay in robots.txt takes
    precedence."""
    delay_factor: Factor = 0.0
    """Minimum time between two visits to a host, as a multiple of the duration of the last visit. 0
    turns it off."""
    site_at_once: Hosts = 4
    """Maximum number of hosts of a site that are checked out at once."""
    site_gap: Factor = 0.25
    """Minimum time between the starts of two visits to a site, over all its hosts, as a multiple of
    `delay`."""
    batch: Annotated[Positive, unit("URLs")] = 10
    """Maximum number of URLs in an order."""
    lease_slack: Seconds = 300.0
    """Time added to the maximum duration of an order's visits that have not ended. After that, an
    unanswered order expires and its host is given to another fetcher. The hosts of a fetcher that
    was killed and has started again under its name do not wait for it."""
    checked_out_limit: Hosts = 512
    """Maximum number of hosts that each frontier has checked out at once. Half of them are reserved
    for its partitions in equal parts, at least one for each, so that a stalled partition does not
    block the others."""
    loaded_limit: Hosts = 50_000
    """Maximum number of hosts in a frontier's memory. Other hosts wait in the store. It should not
    be below `checked_out_limit`, or the hosts of a stalled partition may use all of the memory
    budget."""
    worth_parking: bool = True
    """Whether URLs of parts of a site are parked whose last visits brought hardly a new word
    (hazard low_worth)."""
    url_budget: Annotated[Natural, unit("URLs")] = 25
    """Budget of URLs of a site that has earned nothing yet (hazard trap_urls). It grows with new
    texts on pages that lead back to known pages or nowhere, and is multiplied by the number of
    other sites that link to the site. Deeper pages have up to as many URLs again. URLs over a
    budget are parked. 0 turns the budget off."""
    host_budget: Annotated[Natural, unit("hosts")] = 10
    """Budget of hosts of a site that has earned nothing yet (hazard trap_hosts). Seeds are always
    admitted. 0 turns the budget off."""
    byte_budget: Annotated[Natural, unit("bytes")] = 16 << 20
    """Budget of received bytes of a site that has earned nothing yet (hazard trap_bytes). 0 turns
    the budget off."""
    second_budget: SecondsOrZero = 60.0
    """Budget of time that visits to a site take, if it has earned nothing yet (hazard
    trap_seconds). 0 turns the budget off."""
    depth_budget: Annotated[Natural, unit("links")] = 10
    """Budget of links from the first page of a site that has earned nothing yet (hazard
    trap_site_depth). It grows to four links more than the deepest page with a new text. 0 turns the
    budget off."""
    sitemap_budget: Annotated[Natural, unit("sitemaps")] = 100
    """Budget of sitemaps of a site that has earned nothing yet (hazard trap_sitemaps). A large
    sitemap counts once more for each MiB. 0 turns the budget off."""
    requisite_budget: Annotated[Natural, unit("URLs a day")] = 5000
    """Maximum number of requisites of a site that are queued on a day (hazard trap_requisites).
    Further requisites are dropped. 0 turns the budget off."""
    seed_sites: Annotated[Natural, unit("sites")] = 20
    """Number of linking sites that a seed counts as in the budgets of its site."""
    budget_growth: Factor = 4.0
    """Growth of a site's budgets: this number of URLs and times 30 seconds for each new text, this
    number of hosts for each host with new texts, and this multiple of the bytes of pages with new
    texts. 0 keeps the budgets constant."""
    probe_after: Annotated[Natural, unit("visits")] = 10
    """Number of visits to a host after which one probe requests a path that cannot exist, to learn
    how the host answers for a missing page. Responses like that are not pages (hazard soft_404). 0
    turns probes off."""
    unreadable_limit: Annotated[Natural, unit("pages")] = 5
    """Number of consecutive unreadable pages after which a host backs off (hazard parser_fault).
    Pages on which a reader of Gossamer fails do not count (hazard reader_failed). 0 turns it
    off."""
    unreadable_wait: Seconds = 600.0
    """First backoff of a host with unreadable pages. After each backoff one page is visited. If it
    is unreadable, too, the backoff doubles, up to a day."""
    expired_wait: SecondsOrZero = 600.0
    """First backoff of a host whose lease has expired twice in a row although fetchers answered
    other orders (hazard expired_leases). It doubles with each further expired lease, up to a day. 0
    turns it off."""
    hops_limit: Annotated[Natural, unit("redirects")] = 5
    """Maximum number of consecutive redirects that are followed."""
    down_wait: Seconds = 43200.0
    """First backoff of a host that is down. It doubles with each further failure."""
    down_wait_limit: Seconds = 604800.0
    """Maximum backoff of a host that is down."""
    dns_wait: Seconds = 604800.0
    """Backoff of a host whose name does not exist."""
    retries: Annotated[Natural, unit("retries")] = 3
    """Number of retries of a URL after failures of its host or server."""
    retry_after_limit: Seconds = 86400.0
    """Maximum Retry-After that is obeyed. A longer one is reduced to this."""
    crawl_delay_limit: Seconds = 86400.0
    """Maximum Crawl-delay that is obeyed. A longer one is reduced to this."""
    usage_files: Literal["always", "when needed", "never"] = "when needed"
    """Whether a host's `/.well-known/tdmrep.json` is fetched before its pages, and the license
    files (RSL) that its robots.txt names: `always`, `never`, or `when needed`, which fetches
    tdmrep.json only if the crawl is for training or input of AI."""
    robots_unreachable_limit: Seconds = 2592000.0
    """Time after which an unreachable robots.txt counts as missing, if the server still answers
    with errors (RFC 9309, 2.3.1.4). Until then the last rules that were read stay in force. Without
    such rules, the host is not visited."""
    history_age: Annotated[SecondsOrZero, min_retention(DAY)] = 365 * DAY
    """Retention of a visit in the history of its page (table `page_history`). 0 means no expiry.
    See [limits of growth](operations/sizing.md#limits-of-growth)."""
    shared_age: Annotated[SecondsOrZero, min_retention(DAY)] = DAY
    """Retention of the captures that other crawls may take (table `shared_captures`). 0 means no
    expiry. `share_for` of a crawl says how old a capture may be that it takes."""
    report_age: Annotated[SecondsOrZero, min_retention(DAY)] = 365 * DAY
    """Retention of the totals of a day for `gossamer report` (table `daily_tallies`). 0 means no
    expiry. See [limits of growth](operations/sizing.md#limits-of-growth)."""
    erasures_age: Annotated[SecondsOrZero, min_retention(30 * DAY)] = 0.0
    """Retention of the records of `gossamer forget` (table `erasures`). 0 means no expiry. If a
    page was fetched before its erasure and is consumed after this time, the erased data comes
    back."""
    parked_limit: Annotated[Natural, unit("rows")] = 0
    """Maximum number of rows of `parked` in each of the 96 key groups for each excluding limit: the
    depth, the scope, or one rule of the blocklist. The oldest 50 rows are dropped first. A row has
    the links of one page. 0 keeps all rows. Other values below 100 are refused."""

    @field_validator("parked_limit")
    @classmethod
    def _holds_two_buckets(cls, given: int) -> int:
        if 0 < given < 100:
            raise ValueError("must be 0 or at least 100")
        return given


Coding = Literal["gzip", "deflate", "br", "zstd"]


class FetcherSettings(Section):
    """How the fetcher behaves on the Web."""

    contact: Annotated[str, unit("e-mail address or URL")] = ""
    """E-mail address or URL at which webmasters reach you. It is sent with every request. Without
    it nothing is fetched."""
    product: Annotated[str, unit("product token")] = "gossamer"
    """The crawler's name in the User-Agent, robots.txt, robots meta elements and X-Robots-Tag
    headers."""
    page: Annotated[str, unit("URL")] = ""
    """URL of a page about the crawler, which the User-Agent contains beside the contact. Empty
    means none."""
    concurrency: Annotated[Positive, unit("requests")] = 256
    """Maximum number of concurrent requests of a fetcher."""
    orders_limit: Hosts = 512
    """Maximum number of hosts that a fetcher visits in turn. Hosts in their delay do not count as
    concurrent requests."""
    address_at_once: Hosts = 16
    """Maximum number of requests in flight to one IP address, over all fetchers and hosts. In IPv6
    it applies to a /64 network."""
    address_gap: SecondsOrZero = 0.1
    """Minimum time between the starts of two requests of a fetcher to one IP address, unless the
    host's own delay is shorter."""
    connect_limit: Seconds = 10.0
    """Maximum time for connecting to a server, and again for the TLS handshake."""
    first_byte_limit: Seconds = 15.0
    """Maximum time from the request to the end of the response's headers."""
    between_bytes_limit: Seconds = 15.0
    """Maximum time between two reads of a body."""
    visit_limit: Seconds = 60.0
    """Maximum total time of one visit."""
    types: MediaRanges = DOCUMENTS
    """Media types of documents that are fetched, in lower case. `*` matches anything. Headers
    and first bytes determine the type, and a visit with another type ends there (hazard
    unwanted_type)."""
    keep_limit: Seconds = 30.0
    """Keep-alive time of an idle connection. The connection is closed at once if the courtesy delay
    is longer, or if the server announces a shorter keep-alive time."""
    head_limit: Bytes = 256 << 10
    """Maximum size of the response's headers, as in Chromium (hazard missing_headers)."""
    body_limit: BodyBytes = 2 << 20
    """Maximum size of the body of HTML and of all types without a limit of their own. A longer body
    is cut and marked as truncated."""
    pdf_limit: BodyBytes = 20 << 20
    """Maximum size of the body of a PDF or office file. A larger one is unusable, because it cannot
    be read in part."""
    sitemap_limit: BodyBytes = 50 << 20
    """Maximum size of the body of a sitemap (sitemaps.org allows 50 MB)."""
    requisite_limit: BodyBytes = 10 << 20
    """Maximum size of the body of an image, a style, a script or a font, and of an audio or video
    file with `archive.media`. A longer text is cut, and a longer body of another type is
    unusable."""
    inline_body: Annotated[Bytes, Field(le=700_000)] = 700_000
    """Maximum size of a body that stays in its record, which has at most 1 MB. A larger body is
    stored in `blobs.volume`, and the record has its name, size, digest and URI."""
    ranges: bool = False
    """Whether requests have a Range header with the size limit. If the server answers 416, the
    document is requested once more without it (hazard range_error)."""
    bodies_limit: Bytes = 256 << 20
    """Memory budget for all bodies that are being received. Half of it is divided by `concurrency`,
    and each body has one of these parts. When the other half is used up, larger bodies wait."""
    slow_rate: Annotated[Natural, unit("bytes/s")] = 100
    """Minimum transfer rate of a body. A slower body is cut (hazard slow_transfer). 0 turns it
    off."""
    slow_window: Seconds = 20.0
    """Time for which a transfer must be slower than `slow_rate` to be cut."""
    robots_limit: Annotated[Bytes, Field(le=500 << 10)] = 500 << 10
    """Maximum size of a robots.txt or a usage file. The rest is ignored. If the file states the
    use of pages, the rest counts as reserved."""
    robots_age: Seconds = 86400.0
    """Maximum age of a robots.txt before it is fetched again. Its Cache-Control may shorten
    this."""
    robots_age_floor: Seconds = 3600.0
    """Minimum age of a robots.txt before it is fetched again, whatever its Cache-Control says."""
    accept_encoding: Annotated[tuple[Coding, ...] | None, unit("list of content codings")] = None
    """Content codings of the Accept-Encoding header: `gzip`, `deflate`, `br`, `zstd`. An empty list
    requests bodies without one. If it is not set, crawls for the purpose `archive` request `gzip`,
    which all readers of archives decode, and other crawls all four."""
    usual_sitemaps: Literal["seeds", "all", "never"] = "seeds"
    """At which hosts `/sitemap.xml` is fetched if robots.txt names no sitemap: those of `seeds`,
    `all`, or `never`. It is one request to a host. A missing file is not a failure, and is not
    requested again."""
    cookies: Annotated[Natural, unit("cookies")] = 50
    """Maximum number of cookies that are stored for a domain, and again for each host in it. All
    cookies of a site have at most 64 KiB. The least recently used one goes first. 0 turns
    cookies off. Servers that cannot set a cookie put session identifiers into URLs (hazard
    session_id)."""
    cookie_size: Bytes = 4096
    """Maximum size of a cookie's name and value. A larger cookie is not stored."""
    access_file: Path | None = None
    """A TOML file with user, password, headers and proxy for individual hosts. See
    [operations](operations/controls.md#passwords-headers-and-proxies)."""
    certificates: Literal["verify", "record"] = "verify"
    """What happens at hosts whose certificate is invalid: `verify` makes no visit; `record` visits
    them without cookies, credentials and signature, and records the certificate's fault with each
    page (hazard invalid_certificate). `gossamer site --certificate` overrides it."""
    sign: Literal["never", "asked", "always"] = "never"
    """Which requests are signed (Web Bot Auth), so that sites recognise the crawler: `never`;
    `asked`, those to hosts that asked for a signature (Accept-Signature); or `always`. See
    [identity](recipes/identity.md)."""
    signing_keys: Path | None = None
    """A file with a private Ed25519 key (PEM, JWK or JWK set), or a folder of such files. The
    newest valid key signs. Nobody but the owner and the group may have access to the files."""
    signature_agent: Annotated[str, unit("URL")] = ""
    """The origin (`https://bot.example.org`) under which the public keys are published. It is sent
    with each signature."""
    signature_agent_form: Literal["dictionary", "string"] = "dictionary"
    """The form of the header Signature-Agent: `dictionary`, as in the draft, or `string`, for sites
    that read only the form of earlier drafts."""
    allow_networks: Networks = ()
    """Private or loopback networks that may be visited."""
    nameserver: Annotated[str, unit("`ADDRESS` or `ADDRESS:PORT`")] = ""
    """The DNS server, such as `192.0.2.1` or `[2001:db8::1]:53`. Empty means the servers of the
    system."""
    lookups_limit: Annotated[Positive, unit("lookups")] = 32
    """Maximum number of DNS lookups in flight."""
    outage_share: Annotated[float, Field(gt=0, le=1), unit("share")] = 0.9
    """Share of failing sites, of at least 50 in a minute, above which failed lookups and
    connections count as an outage on this side (hazard dns_outage). New visits then wait, and no
    host is marked as failing."""
    unparsed_limit: Annotated[Positive, unit("pages")] = 500
    """Maximum number of fetched pages of a partition that the parser or the archive has not
    consumed. Above it, no new visit starts to the sites of the partition."""

    def model_post_init(self, context: Any) -> None:
        """Raise BadSettings for an invalid name server, and for signatures without a key."""
        if self.nameserver and not _is_server(self.nameserver):
            raise BadSettings(
                f"fetcher.nameserver: {self.nameserver!r} is not an ADDRESS or ADDRESS:PORT, "
                "such as 192.0.2.1:53 or [2001:db8::1]"
            )
        if self.signature_agent and not is_agent(self.signature_agent):
            raise BadSettings(
                f"fetcher.signature_agent: {self.signature_agent!r} is not an origin with https, "
                "such as https://bot.example.org"
            )
        if self.sign == "never":
            return
        for name in ("signing_keys", "signature_agent"):
            if not getattr(self, name):
                raise BadSettings(
                    f"fetcher.sign: {self.sign} needs fetcher.{name}, which is not set "
                    "(gossamer identity --help)"
                )


def _is_server(text: str) -> bool:
    try:
        server = urlsplit(f"//{text}")
        ip_address(server.hostname or "")
        return server.netloc == text and "@" not in text and server.port != 0
    except ValueError:
        return False


ArchivedRecord = Literal["request", "metadata", "robots", "redirects", "errors", "dns"]


def _check_volumes(urls: tuple[str, ...]) -> tuple[str, ...]:
    if urls:
        # Few crawls have volumes, and fsspec takes a quarter of a second.
        from gossamer.volumes import check_volumes

        check_volumes(urls)
    return urls


class ArchiveSettings(Section):
    """How captures are stored."""

    segment_size: Bytes = 1 << 30
    """Size after which a WARC file is completed and a new one is started."""
    records: Annotated[tuple[ArchivedRecord, ...], unit("list of records")] = (
        "request",
        "metadata",
        "robots",
        "redirects",
        "errors",
    )
    """WARC records that are written beside the responses of pages. `request` and `metadata` (how
    the page was found, hazards, statements about its use) accompany each response. `robots`
    (robots.txt and usage files), `redirects` and `errors` (4xx and 5xx) are further responses.
    `dns` is the address of each host in a file, without TTL. `gossamer usage` needs `robots`."""
    compression: Annotated[Literal["gzip", "zstd"], unit("compression")] = "gzip"
    """Compression of the WARC records: `gzip` (`.warc.gz`), or `zstd` (`.warc.zst`), which is
    smaller. Some tools do not read zstd, and `gossamer export` and `gossamer replay` leave it
    out."""
    not_archived: Annotated[tuple[Signal, ...], unit("list of directives")] = ("noarchive",)
    """Directives of a page that keep its captures out of the archive. `noindex`, `noai` and others
    may be added. `unavailable_after` has no effect here."""
    walls: bool = False
    """Whether responses that are challenges, or demand a payment or a license, are archived. They
    are never published."""
    requisites: Literal["off", "same-site", "all"] = "off"
    """Whether the images, styles, scripts and fonts that archived pages need are fetched and
    archived: `off`; `same-site`, which means those of the page's own site; or `all`, which means
    those of any site, whatever the scope. They are visited after all pages of their host, and never
    published. `parser.requisites_limit` limits their number for a page, and
    `frontier.requisite_budget` for a site and day. `media` and `srcset` add further ones."""
    media: bool = False
    """Whether the audio, video and subtitle files of pages are requisites, too, up to
    `fetcher.requisite_limit` bytes each."""
    srcset: Annotated[Literal["one", "all"], unit("candidates")] = "one"
    """Candidates of a `srcset` that are requisites: `one`, which a screen with 1280 px shows, or
    `all`, which makes a replay complete for all screens."""
    requisites_period: Annotated[Seconds, Field(ge=3600)] = 604800.0
    """Period in which a requisite is fetched at most once, whatever the number of pages that need
    it. In a later period it is fetched again only if a page that needs it is fetched then. At least
    an hour."""
    segment_age: Seconds = 3600.0
    """Maximum age of an open WARC file. An older file is completed, whatever its size. With
    `archive.volumes`, captures are published up to this much later."""
    folder: Path = Path("gossamer-data/warc")
    """Folder of the WARC files. In a fleet, each instance has a subfolder with its name. It must
    outlive the process. A crawl in one folder uses its data folder instead."""
    signing_key: Path | None = None
    """ECDSA key (P-256 or P-384, PEM without a password) that signs the WACZ files of `gossamer
    export`. Without a key, they are not signed."""
    volumes: Annotated[tuple[str, ...], AfterValidator(_check_volumes), unit("list of URLs")] = ()
    """Folders and buckets for complete WARC files, such as `s3://bucket/prefix` or
    `file:///srv/warc`. Each file is uploaded to the first volume that takes it, and verified. Then
    its captures are published, and it is removed from `archive.folder`. Empty means that files stay
    in that folder. No two crawls may share a volume. Dedup also stores copies of its URL-seen table
    there, in a fleet. The environment has the credentials of S3: `AWS_ACCESS_KEY_ID`,
    `AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT_URL`."""
    buffer: Bytes = 10 << 30
    """Approximate size of the WARC files in `archive.folder` at which the archive pauses until
    files are uploaded. At least `archive.segment_size`. It has no effect without
    `archive.volumes`."""
    captures_age: Annotated[SecondsOrZero, min_retention(DAY)] = 0.0
    """Retention of a capture's position in the store (table `captures`), and of the references to
    bodies (table `payloads`). 0 means no expiry. WARC files and `pages.archived` are not
    affected."""
    keep_versions: Annotated[Natural, unit("versions")] = 0
    """Maximum number of versions of a page in the WARC files. Captures with equal content are one
    version. Captures of older versions are erased. 0 means no limit."""
    keep_age: Annotated[SecondsOrZero, min_retention(DAY)] = 0.0
    """Retention of captures in the WARC files. Older captures are erased, but never a body that a
    younger revisit record refers to. 0 means no limit."""
    keep_size: Annotated[Natural, unit("bytes")] = 0
    """Maximum size of the WARC files of each instance, in its folder and in volumes. The oldest
    captures are erased first. At least twice `archive.segment_size`. 0 means no limit."""

    @field_validator("keep_size")
    @classmethod
    def _holds_two_segments(cls, given: int, found: ValidationInfo) -> int:
        if 0 < given < 2 * found.data.get("segment_size", 0):
            raise ValueError("must be 0 or at least twice archive.segment_size")
        return given

    @model_validator(mode="after")
    def _check_buffer(self) -> Self:
        if self.volumes and self.buffer < self.segment_size:
            raise ValueError(
                "buffer must be at least segment_size, or no segment would ever be complete: "
                f"{self.buffer} is less than {self.segment_size}"
            )
        return self


class BlobsSettings(Section):
    """Storage of blobs: large bodies and long lists of links, which are too large for a record."""

    volume: Annotated[str, unit("URL of a folder")] = ""
    """Folder or bucket for the blobs of a fleet, such as `s3://bucket/blobs`. All services must use
    the same one. A blob is deleted together with its record. Empty means the folder `blobs` beside
    `archive.folder`. A crawl in one folder uses `blobs` in its data folder instead."""


class DedupSettings(Section):
    """The content test, and the URL-seen test of a fleet."""

    duplicates_limit: Annotated[Natural, unit("pages")] = 10
    """Maximum number of consecutive duplicates or near duplicates whose links are followed. Traps
    generate pages with different links and the same text (hazard trap_duplicates)."""
    url_limit: Annotated[int, Field(gt=0, le=MAX_LENGTH), unit("characters")] = MAX_LENGTH
    """Maximum length of a link. Longer links are not followed (hazard url_too_long)."""
    canonical: bool = True
    """Whether the canonical URL that a page declares (rel=canonical) is followed, and replaces the
    page if both have the same text. A URL of another site must declare itself canonical, too."""
    near_distance: Annotated[int, Field(ge=0, le=3), unit("bits")] = 3
    """Maximum number of bits in which the 64-bit simhashes of near duplicates differ, from 0 to
    3."""
    www_alias: Literal["proven", "assumed", "none"] = "proven"
    """Whether hosts whose names differ only in `www.` are treated as one: `proven` if both have the
    same home page, if one home page redirects to the other, or if two other pages are equal and
    four of five compared pages; `assumed` always, with `www.` added to a bare domain; or `none`
    (hazard www_alias)."""
    duphost: Literal["same_home", "same_home_and_1_doc", "dups60", "dups80", "dups100", "none"] = (
        "dups80"
    )
    """When a host counts as a replica of another, so that its pages are visited at the original
    (hazard duphost): both have the same home page; the same home page and one more page; or 60, 80
    or 100 % of the replica's visited pages, of at least ten, exist under the same paths of the
    original. A home page counts as three pages. Texts with fewer than `parser.simhash_words` words
    do not count. The host of a seed is a replica only if, besides, four of five of its pages name
    the original by a canonical link or a permanent redirect."""
    duphost_age: Seconds = 7776000.0
    """Time after which a decision about a replica or about `www.` expires, unless it is renewed."""
    duphosts: Annotated[tuple[str, ...], unit("list of pairs")] = ()
    """Known replicas: `http://mirror.example http://www.example.org` always rewrites links to the
    first host to the second."""
    refused_limit: Seconds = 2592000.0
    """Time for which a published URL must be refused (4xx) before its document counts as gone."""
    republish_unchanged: bool = False
    """Whether a document that a visit finds unchanged is published again, with the record header
    `unchanged: 1`. A 304 publishes nothing, because it has no text."""
    documents_age: Annotated[SecondsOrZero, min_retention(90 * DAY)] = 0.0
    """Retention of a document after its last visit, and of a text's leader (tables `documents`,
    `digests`, `near`). 0 means no expiry. It must be longer than the time between two visits to a
    page, or each visit publishes the page as new."""
    engine: Literal["own", "faust"] = "own"
    """The engine of dedup and its URL-seen set in a fleet: our own loop with the changelog
    `urls.seen`, or Faust, which needs the extra `faust`. Each has its own table and changelog, so a
    crawl cannot switch."""
    folder: Path = Path("gossamer-data/dedup")
    """Folder of the tables. Each instance has a subfolder with its name. If the folder does not
    outlive the process, the tables are rebuilt from their changelog."""
    cache: Bytes = 64 << 20
    """Memory of the URL-seen set of an instance, for blocks, indexes and filters of its table. A
    smaller cache causes more reads of 4 kB each. Faust does not use it."""
    standbys: Annotated[Natural, unit("instances")] = 1
    """Number of other instances with a standby copy of each table, with Faust only."""


class StandaloneSettings(Section):
    """A crawl in one folder, as `gossamer crawl` runs it."""

    patience: SecondsOrZero = 300.0
    """Maximum time that a run waits for hosts that back off when no other work is left. Later
    visits are left to another run. A courtesy delay is awaited for an hour, or for this time if
    it is longer."""
    rules_strict: bool = False
    """Whether a run stops when a function of a crawl's [rules](rules.md) fails."""
    records_limit: Annotated[Natural, unit("records")] = 0
    """Maximum number of records in each of the four partitions of the topics `dead.letters` and
    `pages.archived`. The oldest are deleted first. 0 keeps all records. In a fleet, `retention.ms`
    of these topics is the limit instead."""


class LogSettings(Section):
    """The log lines that processes write to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "warning"
    """The lowest level that is written. Without this setting, the services of a fleet write
    `info`."""
    json_lines: bool = False
    """Whether log lines are JSON. Without this setting, the services of a fleet write JSON."""


class ParserSettings(Section):
    """How pages are read."""

    workers: Annotated[Natural, unit("processes")] = 0
    """Number of parser processes. 0 means one for each core."""
    text: TextMode = "main"
    """Extraction of the main text. `main` uses trafilatura (F1 0.96), and all visible text if there
    is hardly any main text. `rust` uses trafilatura's port to Rust (F1 0.95), with which a page
    takes a sixth less time; it needs Python 3.12 and the extra `rust`. `fast` uses resiliparse in a
    sixth of trafilatura's time (F1 0.90). `off` extracts no text and more than halves the time for
    a page."""
    markdown: bool = False
    """Whether the main text is also published as Markdown with code, links, lists and tables,
    for use with language models. It takes half as much time again as `main`."""
    fields: Annotated[tuple[PageField, ...], unit("list of fields")] = PAGE_FIELDS
    """Parts of pages that most crawls only publish, with the share of the time of a page without
    main text that each takes: `forms` (1 %), `headings` (4 %), `language` (4 %; the declared one
    remains, and a crawl whose relevance asks for languages detects them anyway), `metadata` (6 %:
    authors, dates, alternates, OpenGraph, linked data) and `requisites` (2 %, with media;
    `archive.requisites` needs them). All five take a fifth. A part that is left out is empty on
    `pages`, and rules that need it are refused. The main text (`text`), simhashes
    (`simhash_words`) and URLs in scripts (`script_links`, 10 %) have settings of their own."""
    word_limit: Annotated[Natural, unit("characters")] = 30
    """Maximum number of characters of a word. Longer runs of characters are dropped from the text
    as garbage (hazard misread_text). Languages with compound words have twice this limit. 0 keeps
    all text."""
    physical_markup: bool = True
    """Whether text that looks like a heading by font size, bold type or centring is recorded as a
    heading (hazard physical_markup)."""
    simhash_words: Annotated[Natural, unit("words")] = 50
    """Minimum number of words of a text that is compared for near duplicates. Shorter texts of a
    site are too similar to each other. 0 turns near-duplicate detection off, which saves 0.15 ms
    for 1,000 characters."""
    page_limit: Seconds = 10.0
    """Maximum CPU time for a page. A page that exceeds it becomes a dead letter. The limit of the
    elapsed time is ten times as long, so that a busy machine does not fail pages."""
    rules_limit: Seconds = 5.0
    """Maximum CPU time of each function of a crawl's [rules](rules.md) for a page. The page goes
    without a function that exceeds it."""
    memory_limit: Bytes = 512 << 20
    """Maximum memory for a page, beyond the memory of the idle parser process."""
    dead_letters_limit: Annotated[Natural, unit("pages")] = 10
    """Maximum number of unreadable pages of a host that each process stores as dead letters.
    Further ones are only logged and counted."""
    decoded_limit: Bytes = 2 << 20
    """Maximum size of a decompressed body. The rest is cut (hazard decompression_bomb)."""
    pdf_limit: Bytes = 20 << 20
    """Maximum size of a decompressed PDF or office file. A larger one is unusable, because it
    cannot be read in part."""
    sitemap_limit: Bytes = 50 << 20
    """Maximum size of a decompressed sitemap (sitemaps.org allows 50 MB)."""
    ratio_limit: Annotated[Positive, unit("times")] = 1000
    """Maximum ratio of decompressed to compressed size. Decompression stops beyond it, because text
    does not compress this well (hazard decompression_bomb)."""
    links_limit: Annotated[Positive, unit("links")] = 10_000
    """Maximum number of links of a page. The rest is dropped (hazard too_many_links)."""
    links_bytes: Annotated[Bytes, Field(le=4 << 20)] = 2 << 20
    """Maximum size of a page's links in its event. The rest is dropped (hazard too_many_links)."""
    entries_limit: Annotated[Natural, unit("entries")] = 50_000
    """Maximum number of entries of a sitemap (sitemaps.org allows 50,000) or a feed. The rest is
    dropped (hazard too_many_links). 0 reads no entries."""
    not_indexed: Annotated[tuple[Signal, ...], unit("list of directives")] = (
        "noindex",
        "unavailable_after",
    )
    """Directives in robots meta elements and X-Robots-Tag headers that keep a page out of `pages`.
    `tdm-reservation`, `noai` and others may be added. `[]` publishes every page with its text,
    unless `crawl.purposes` excludes it: `noindex` disallows `search`. The field `directives` of a
    page contains all its directives."""
    not_followed: Annotated[tuple[Signal, ...], unit("list of directives")] = ("nofollow",)
    """Directives in robots meta elements and X-Robots-Tag headers that keep a page's links from
    being followed."""
    script_links: bool = True
    """Whether scripts and event handlers are searched for URLs of pages, which are visited last
    (hazard script_links)."""
    requisites_limit: Annotated[Natural, unit("URLs")] = 200
    """Maximum number of requisites (images, styles, scripts, fonts) that are recorded for a page or
    a style, and of audio and video files that are recorded for a page. `archive.requisites` decides
    whether requisites are visited. 0 records none."""
