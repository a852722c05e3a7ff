"""The contents of a page: the parser's event, and the parts shared with the public `pages`.

Links and seeds pass their origin on to the URLs that they lead to (`link_discovery`,
`seed_discovery`). A URL carries its origin on all its events and rows
(`gossamer.services.frontier.tables.urls.Origin`). A link has half the priority of its page, a
redirect all of it: what an operator puts first stays first for a few links, and no crawl is put
first as a whole. A retried URL is queued behind the URLs of its rank that were admitted before its
retry.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct, field, json
from msgspec.structs import asdict

from gossamer.events.outcomes import Purpose
from gossamer.events.records import (
    Blob,
    Discovery,
    Event,
    Instant,
    SeedAdded,
    Url,
    UrlsDiscovered,
    Visit,
)
from gossamer.web.url import HostKey, Site, fingerprint, site_of
from gossamer.web.usage import Judgement, Statement
from gossamer.web.validators import NO_VALIDATORS, Validators

Part = TypeVar("Part", bound=Struct)
encode_json = json.Encoder().encode
MAX_LINKS_PER_EVENT = 1000
"""Maximum number of links in an event."""
MAX_BYTES_PER_EVENT = 600_000
"""Maximum number of bytes of the links in an event. Later events about the same links have a few
fields more, and must also fit into a record."""


class LinkKind(StrEnum):
    """The kind of element or text that a link was found in."""

    LINK = "link"
    """A clickable link: an a or area element."""
    FRAME = "frame"
    EMBED = "embed"
    """A document in an object or embed element."""
    REFRESH = "refresh"
    """The target of a meta refresh."""
    CANONICAL = "canonical"
    """The canonical URL that the page declares."""
    ALTERNATE = "alternate"
    """The page in another language."""
    FEED = "feed"
    NEXT = "next"
    PREVIOUS = "prev"
    AMP = "amphtml"
    SCRIPT = "script"
    """A guess: text in a script that looks like a URL."""


class LinkPosition(StrEnum):
    """The part of a page that contains a link."""

    MAIN = "main"
    NAVIGATION = "navigation"
    HEADER = "header"
    FOOTER = "footer"
    ASIDE = "aside"
    SCRIPT = "script"
    """A guess from the text of a script."""


CONTENT_POSITIONS = frozenset({"", LinkPosition.MAIN.value})
"""The positions of links in a page's main content, as far as its markup says."""


class Link(Struct, frozen=True, omit_defaults=True, gc=False):
    """A link of a page. A missing field has its default."""

    url: Url
    """The absolute, canonical URL of the target."""
    text: str = ""
    """The link's text, or the alternative text of its image. White space is folded, and at most 200
    characters are kept."""
    nofollow: bool = False
    """Whether the page does not vouch for the link: rel nofollow, ugc or sponsored."""
    redirect: bool = False
    """Whether the link is the target of a redirect."""
    rel: str = ""
    """The words of the rel attribute in lower case, separated by single spaces."""
    kind: str = LinkKind.LINK.value
    """The kind of the link: `link` (clickable), `frame`, `embed`, `refresh`, `canonical`,
    `alternate` (another language), `feed`, `next`, `prev`, `amphtml` or `script`, which is a guess
    from text in a script that looks like a URL. Later versions may add kinds."""
    position: str = ""
    """The part of the page with the link's first occurrence, by the page's markup: `main` (a main
    or article element), `navigation`, `header`, `footer` or `aside`. "" means that the markup does
    not say."""
    refused_by: str = ""
    """The file and line of the crawl's own rule `follow` that refuses the link. "" means that it is
    not refused."""
    priority: int | None = None
    """The priority that the crawl's own rule `priority` gives the link, from -100 (first) to 100
    (last). None means that it gives none."""


class Source(StrEnum):
    """The source of a page's publication or modification date. The first available one counts."""

    LINKED_DATA = "linked data"
    OPEN_GRAPH = "open graph"
    META = "meta"
    TIME = "time"
    """An element that marks its content as this date."""
    URL = "url"
    FILE = "file"
    """The properties of a document such as a PDF."""

    def of(self, at: float) -> str:
        """Return the name of this source, or "" if *at* is 0 because the date is unknown."""
        return self.value if at else ""


class Form(Struct, frozen=True):
    """A form that requests a document (method GET). Its targets are not followed."""

    action: Url
    """The URL that the query is added to."""
    fields: tuple[str, ...] = ()
    """The names of the form's parameters, as written."""


class Listing(StrEnum):
    """The kind of a listing, which lists documents and is not a document itself."""

    SITEMAP = "sitemap"
    SITEMAP_INDEX = "sitemap_index"
    """A list of sitemaps."""
    FEED = "feed"


class PageKind(StrEnum):
    """The kind of a response. The parser determines it, and dedup has a handler for each kind."""

    DOCUMENT = "document"
    """A 2xx response that the parser read, or whose type has no reader."""
    LISTING = "listing"
    """A sitemap or a feed. `listing` contains which."""
    SOFT_404 = "soft_404"
    """A 2xx response with the host's signature for missing pages."""
    UNREADABLE = "unreadable"
    """A 2xx response that the parser could not read."""
    NOT_MODIFIED = "not_modified"
    """A 304 to a conditional request."""
    MOVED = "moved"
    """A permanent redirect (301, 308)."""
    REDIRECTED = "redirected"
    """Any other redirect."""
    SOFT_404_REDIRECT = "soft_404_redirect"
    """A redirect with the host's signature for missing pages."""
    REMOVED = "removed"
    """A 410."""
    MISSING = "missing"
    """A 404."""
    REFUSED = "refused"
    """Any other 4xx, except 412 and 429, which refuse our conditions or our rate."""
    INCONCLUSIVE = "inconclusive"
    """A response without information about the page: a challenge, a server error, 412, 429, a
    redirect without a usable target, a 304 to an unconditional request, or a probe without a 2xx
    response."""
    PROBE = "probe"
    """The 2xx response to a probe: the text of the host's signature."""
    REQUISITE = "requisite"
    """Any response to the visit to a requisite."""


class Entry(Struct, frozen=True, omit_defaults=True, gc=False):
    """An entry of a sitemap or a feed."""

    url: Url
    """The canonical URL of the document."""
    changed_at: float = 0.0
    """Epoch seconds of the last change, as the listing states it. 0 means not stated."""
    every: float = 0.0
    """Seconds between two changes, from a sitemap's changefreq. 0 means not stated."""
    refused_by: str = ""
    """The file and line of the crawl's own rule `follow` that refuses the entry, or ""."""
    priority: int | None = None
    """The priority that the crawl's own rule `priority` gives the entry. None means none."""


class Heading(Struct, frozen=True):
    """A heading, or other text that a page emphasises."""

    text: str
    """The heading's text. White space is folded, and at most 200 characters are kept."""
    weight: int
    """The weight of the heading, from 6 for an `h1` to 1 for an `h6` and for emphasis within a
    line."""
    physical: bool = False
    """Whether only font size, bold type or centring make the text a heading."""


class Contents(Event, frozen=True, kw_only=True):
    """The contents of a document: the fields that `PageParsed` and `Page` share."""

    content_type: str = ""
    """The media type by which the body was read, without parameters."""
    charset: str = ""
    """The character encoding, by its name in the Encoding standard. "" means that the body is not
    text."""
    charset_source: str = ""
    """The source of the encoding: a byte order mark (`bom`), the `header`, the document itself
    (`meta`), the `bytes`, which are valid UTF-8, a `guess` from the bytes, or `default`."""
    size: int = 0
    """Bytes of the decoded body."""
    digest: str = ""
    """The digest of the compared text: the title and all visible text, including menus, with white
    space folded. The addresses of the pictures of a page with few words count, too. `change` and
    `gossamer diff` use the same text. Without text it is the digest of the body."""
    payload_digest: str = ""
    """The SHA-1 of the body as received, in base 32 as in WARC. It identifies the capture in
    `pages.archived`."""
    validators: Validators = NO_VALIDATORS
    """The validators of this version, for a later conditional request."""
    title: str = ""
    """The page's title, or else that of its metadata or its first heading: at most 500 characters,
    with white space folded."""
    description: str = ""
    """The description in the page's metadata, at most 1,000 characters."""
    author: str = ""
    """The author that the page declares, at most 200 characters. Of several authors it is the
    first, or all names separated by commas."""
    published_at: Instant = 0.0
    """Epoch seconds of the declared publication. A date without a time counts from midnight in
    UTC."""
    published_by: str = ""
    """The source of `published_at`: `linked data`, `open graph`, `meta`, `time` (an element, of any
    name if it has microdata), `url` or `file` (the properties of a PDF). Later versions may add
    sources."""
    modified_at: Instant = 0.0
    """Epoch seconds of the last modification that the page declares."""
    modified_by: str = ""
    """The source of `modified_at`, with the values of `published_by`."""
    language: str = ""
    """The language in ISO 639: two letters if it was detected from the text, otherwise as the page
    declares it, or "". A declared variety of Norwegian or Serbo-Croatian wins over the detected
    one."""
    declared_language: str = ""
    """The language that the page declares, as a valid BCP 47 tag, or ""."""
    alternates: dict[str, str] = field(default_factory=dict)
    """The page's versions in other languages: at most 200 URLs by `hreflang` in lower case."""
    canonical: Url = ""
    """The canonical URL that the page declares before its text or in its headers, or ""."""
    image: Url = ""
    """The URL of the image that the page declares for previews."""
    open_graph: dict[str, str] = field(default_factory=dict)
    """OpenGraph and Twitter properties by name (`og:type`): at most 50, each with its first value
    of at most 500 characters."""
    linked_data: tuple[str, ...] = ()
    """The page's JSON-LD (schema.org): the text of each script, which may be invalid JSON, at most
    100,000 characters in total."""
    needs_rendering: bool = False
    """Whether scripts seem to create the page's text, so that little or none of it is here."""
    forms: tuple[Form, ...] = ()
    """Forms that request a document: at most 10, each with at most 50 fields."""
    requisites: tuple[Url, ...] = ()
    """URLs of the page's requisites, such as images, styles and scripts: at most
    `parser.requisites_limit`. The setting `archive.requisites` decides whether they are visited,
    and whether URLs in styles of the page are included."""
    media: tuple[Url, ...] = ()
    """URLs of the page's audio, video and subtitle files: at most `parser.requisites_limit`. The
    setting `archive.media` decides whether they are visited."""
    text: str | None = None
    """The text of the page, as `text_kind` describes it. None means that there is no text, or that
    the parser's settings omit it."""
    text_kind: str = ""
    """The kind of the text: `main` (without menus and the like), `visible` (all visible text, if
    there is hardly any main text), `plain` (of a document without markup), or ""."""
    markdown: str | None = None
    """The main text as Markdown, if the setting `parser.markdown` is on."""
    extracted: tuple[str, ...] = ()
    """The rows that the crawl's own rule `extract` returns for the page, each as a JSON object."""
    headings: tuple[Heading, ...] = ()
    """Headings and other emphasised text in the page's order, at most 100."""
    noindex: bool = False
    """Whether the page asks not to be indexed, by one of the signals in `parser.not_indexed`."""
    directives: tuple[str, ...] = ()
    """The directives of robots meta elements and X-Robots-Tag headers for our user agent, in lower
    case: `noindex`, `noarchive`, `nosnippet`, `noai`, `max-snippet: 20` and so on. `none` is
    recorded as noindex and nofollow."""
    unavailable_after: Instant = 0.0
    """Epoch seconds after which the page asks not to be shown. From then on the page counts as
    `noindex`."""
    not_in_snippets: tuple[str, ...] = ()
    """The texts of elements with `data-nosnippet`, which must not be quoted: at most 50, each with
    at most 500 characters and white space folded."""
    truncated: bool = False
    """Whether the body is incomplete."""
    usage: dict[str, Judgement] = field(default_factory=dict)
    """Whether each category of use (`search`, `archive`, `train-ai`, `ai-input`) is allowed,
    disallowed or unknown, and the statements that decide. The most restrictive statement wins.
    Later versions may add categories."""
    usage_statements: tuple[Statement, ...] = ()
    """All statements of the site about the use of the page, as written: from robots.txt, headers
    and meta elements, at most 50."""
    hazards: tuple[str, ...] = ()
    """The names of the hazards that the page met."""
    cut: tuple[str, ...] = ()
    """The names of the fields that were shortened or dropped to fit into a record."""


def contents_of(page: Contents) -> dict[str, Any]:
    """Return the fields of *page* that are its contents, by name, for another event."""
    every = asdict(page)
    return {name: every[name] for name in CONTENTS}


CONTENTS = Contents.__struct_fields__[len(Event.__struct_fields__) :]
"""The names of the fields of `Contents`."""


RULE_FAILED = "a rule failed: "
"""The beginning of the reason of a verdict on a page on which a rule of the crawl failed."""


class PageParsed(Contents, frozen=True, kw_only=True, tag="page_parsed"):
    """The contents of a response. Responses other than 2xx have at most links."""

    site: Site
    host: HostKey
    visit: Visit
    fetched_at: float
    """Epoch seconds of the request."""
    status: int
    """The HTTP status of the response."""
    reason: str = ""
    """Why the page is unreadable, as text for people."""
    parse_seconds: float = 0.0
    """Seconds that reading the page took."""
    simhash: str = ""
    """The simhash of the main or else the visible text, as 16 hexadecimal digits: similar texts
    differ in few bits. "" means that the text has too few words."""
    sketch: bytes = b""
    """A sketch of all visible words, from which the amount of change is computed
    (`gossamer.text.sketch`)."""
    blocks: bytes = b""
    """The hashes of the visible blocks of text, four bytes each (`gossamer.text.blocks`). A page of
    a crawl without revisits has none."""
    compared_size: int = 0
    """Number of characters of the compared text (see `digest`)."""
    expires_at: float = 0.0
    """Epoch seconds until which the response declares the page fresh. 0 means that it declares
    nothing, or nothing credible."""
    nofollow: bool = False
    """Whether the page asks that its links are not followed, by one of the signals in
    `parser.not_followed`."""
    links: tuple[Link, ...] = ()
    """The links of the page."""
    dropped_by: str = ""
    """The file and line of the crawl's own rule `keep` that does not keep the page. "" means that
    it is kept."""
    rules_digest: str = ""
    """The digest of the crawl's rules by which the page was judged. "" without rules."""
    rule_failures: dict[str, str] = field(default_factory=dict)
    """Function of the crawl's rules → the traceback of its failure on the page, on one line."""
    kind: PageKind = PageKind.INCONCLUSIVE
    """The kind of the response, which selects dedup's handler."""
    listing: Listing | None = None
    """The kind of the listing, if the response is one."""
    entries: tuple[Entry, ...] = ()
    """The entries of a listing, the most important ones first."""
    blob: Blob | None = None
    """The whole event as JSON, if it is too large for a record, which then has no contents. None
    means that they are in the record."""


def group_by_site(
    urls: Iterable[Discovery], via: str, crawl: str, now: float
) -> list[UrlsDiscovered]:
    """Return *urls* in their order as `urls_discovered` events, one for each site, or several if
    one would be too large."""
    sites = defaultdict[Site, list[Discovery]](list)
    for found in urls:
        sites[site_of(found.url)].append(found)
    return [
        UrlsDiscovered(crawl=crawl, at=now, site=site, via=via, urls=part)
        for site, found in sites.items()
        for part in split_for_events(found)
    ]


def split_for_events(links: Iterable[Part]) -> Iterator[tuple[Part, ...]]:
    """Yield *links* in their order, in parts that fit into events."""
    links = [*links]
    if len(links) <= MAX_LINKS_PER_EVENT and len(encode_json(links)) <= MAX_BYTES_PER_EVENT:
        # The common case. Measuring each link alone would take longer than all else about it.
        if links:
            yield tuple(links)
        return
    part, size = list[Part](), 0
    for link in links:
        more = len(encode_json(link)) + 1
        if part and (len(part) == MAX_LINKS_PER_EVENT or size + more > MAX_BYTES_PER_EVENT):
            yield tuple(part)
            part, size = [], 0
        part.append(link)
        size += more
    if part:
        yield tuple(part)


FETCH_VIA = "seed@fetch"
"""The `via` of a URL that an operator requested before the crawl found it."""


def seed_discovery(seed: SeedAdded, url: str) -> Discovery:
    """Return *seed* as a discovery, with the canonical form *url*. The event contains its `via`."""
    trace = fingerprint(url)
    return Discovery(url, seed.depth, priority=seed.priority, trace=trace, party=seed.party)


def link_discovery(link: Link, visit: Visit) -> Discovery:
    """Return the discovery of *link* on the page of *visit*: one link deeper, or one redirect
    further.

    The priority is the one that the crawl's rules give the link, or follows from its page. The
    target of a usual sitemap may not exist either, and must not become a page. The `duplicates` of
    the page are copied. The page's verdict may increment or reset them.
    """
    priority, is_guess = link.priority, link.kind == LinkKind.SCRIPT
    if priority is None:
        priority = visit.priority
        if priority and not link.redirect:
            priority = link_priority(priority)
    is_usual_sitemap = link.redirect and visit.purpose is Purpose.USUAL_SITEMAP
    return Discovery(
        link.url,
        visit.depth if link.redirect else visit.depth + 1,
        visit.hops + 1 if link.redirect else 0,
        priority,
        trace=fingerprint(link.url),
        duplicates=visit.duplicates,
        purpose=Purpose.USUAL_SITEMAP if is_usual_sitemap else Purpose.PAGE,
        party=visit.party,
        guess=is_guess,
        position=LinkPosition.SCRIPT if is_guess else link.position,
        joined=visit.joined,
        refused_by=link.refused_by,
    )


def is_in_content(found: Discovery) -> bool:
    """Return whether *found* is a link in the main content of a page, as far as the page's markup
    says. The target of a redirect, an entry of a listing, and a guess are not."""
    is_link = found.score is not None and not found.hops and not found.guess
    return is_link and found.position in CONTENT_POSITIONS


def link_priority(priority: int) -> int:
    """Return the priority of the links of a page with *priority*: half of it, towards 0."""
    return int(priority / 2)
