"""What was read from a page, as the parser says it and as `pages` says it to everybody."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from gossamer.events.formats import Instant, Url
from gossamer.events.records import Event, Visit
from gossamer.web.validators import NO_VALIDATORS, Validators


class LinkKind(StrEnum):
    """What makes a link one."""

    LINK = "link"
    """Something to click on: an a or area element."""
    FRAME = "frame"
    EMBED = "embed"
    """A document in an object or embed element."""
    REFRESH = "refresh"
    """Where a page sends its readers by itself, after a while."""
    CANONICAL = "canonical"
    """The page under its better name, as it says."""
    ALTERNATE = "alternate"
    """The page in another language."""
    FEED = "feed"
    NEXT = "next"
    PREVIOUS = "prev"
    AMP = "amphtml"
    SCRIPT = "script"
    """Perhaps none: text in a script that looks like one."""


class Position(StrEnum):
    """The part of a page that a link stands in."""

    MAIN = "main"
    NAVIGATION = "navigation"
    HEADER = "header"
    FOOTER = "footer"
    ASIDE = "aside"


class Link(Struct, frozen=True, omit_defaults=True, gc=False):
    """A link as found: canonical and absolute. A field that is missing has its default."""

    url: Url
    """Canonical."""
    text: str = ""
    """Its words, or those in place of its image; white space folded, at most 200 characters."""
    nofollow: bool = False
    """Whether the page does not vouch for it: rel nofollow, ugc or sponsored."""
    redirect: bool = False
    """Whether it is where a redirect points to."""
    rel: str = ""
    """The words of its rel attribute, in lower case, one space between them."""
    kind: str = LinkKind.LINK.value
    """What makes it one: `link` (to click on), `frame`, `embed`, `refresh`, `canonical`,
    `alternate` (another language), `feed`, `next`, `prev`, `amphtml`; `script` is a guess: text in
    a script that looks like a URL. There may be more of them later."""
    position: str = ""
    """The part of the page that it stands in first, by the page's own markup: `main` (a main or
    article element), `navigation`, `header`, `footer` or `aside`; "" where that does not say."""


class Source(StrEnum):
    """Who says when a page was published, or changed: the first that does."""

    LINKED_DATA = "linked data"
    OPEN_GRAPH = "open graph"
    META = "meta"
    TIME = "time"
    """An element that is marked as the time of it."""
    URL = "url"
    FILE = "file"
    """The properties of a document that is no page, such as a PDF."""

    def of(self, at: float) -> str:
        """Return who says *at*; "" of 0, which nobody says."""
        return self.value if at else ""


class Form(Struct, frozen=True):
    """A form that asks for a document (method GET): what leads there is not followed."""

    action: Url
    """What a query is added to."""
    fields: tuple[str, ...] = ()
    """The names of its parameters, as the page has them."""


class Listing(StrEnum):
    """What lists documents, and is none itself."""

    SITEMAP = "sitemap"
    SITEMAP_INDEX = "sitemap_index"
    """It lists sitemaps."""
    FEED = "feed"


class PageKind(StrEnum):
    """The kind of an answer: the parser states it once, and dedup has a handler for each."""

    DOCUMENT = "document"
    """A 2xx response that was read, or is of a type that has no reader."""
    LISTING = "listing"
    """A sitemap or a feed; `listing` says which."""
    SOFT_404 = "soft_404"
    """A 2xx response that its host sends where it has no page."""
    UNREADABLE = "unreadable"
    """A 2xx response that the parser could not read."""
    NOT_MODIFIED = "not_modified"
    """A 304 to a conditional request."""
    MOVED = "moved"
    """A permanent redirect (301, 308)."""
    REDIRECTED = "redirected"
    """Any other redirect."""
    SOFT_404_REDIRECT = "soft_404_redirect"
    """A redirect that its host sends where it has no page."""
    REMOVED = "removed"
    """A 410."""
    MISSING = "missing"
    """A 404."""
    REFUSED = "refused"
    """Any other 4xx, except 412 and 429, which refuse our conditions or our pace."""
    INCONCLUSIVE = "inconclusive"
    """An answer that says nothing about the page: a server error, 412, 429, a redirect without a
    usable target, a 304 to an unconditional request, a probe without a 2xx response."""
    PROBE = "probe"
    """The 2xx response to a probe: the text of the host's signature."""


class Entry(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a sitemap or a feed lists, and says of it."""

    url: Url
    """Canonical."""
    changed_at: float = 0.0
    """When it changed last; 0: that is not said."""
    every: float = 0.0
    """How often it changes, in seconds: a sitemap's changefreq; 0: that is not said."""


class Heading(Struct, frozen=True):
    """Words that a page sets off from the others."""

    text: str
    """White space folded, at most 200 characters."""
    weight: int
    """From 6, as of an `h1`, to 1, as of an `h6` and of what is emphasised within a line."""
    physical: bool = False
    """Whether only its looks make it a heading: font size, bold type, centring."""


class Contents(Event, frozen=True, kw_only=True):
    """What was read from a document: defined here, it is in `PageParsed` and in `Page` alike."""

    content_type: str = ""
    """The media type by which it was read, without parameters."""
    charset: str = ""
    """The encoding of its characters, by the name that the Encoding standard gives it; "" of what
    is no text."""
    charset_source: str = ""
    """What says that it is this one: a byte order mark (`bom`), the `header`, the document itself
    (`meta`), the `bytes`, which are valid UTF-8, a `guess` by what they look like; or `default`."""
    size: int = 0
    """Bytes of the decoded body."""
    digest: str = ""
    """Of the text, white space folded; of the body where there is no text."""
    payload_digest: str = ""
    """SHA-1 in base 32, as WARC writes it, of the body as received: finds the capture in
    `pages.archived`."""
    validators: Validators = NO_VALIDATORS
    """By which the server can be asked later whether the page has changed."""
    title: str = ""
    """At most 500 characters, white space folded."""
    description: str = ""
    """The page's own of itself, at most 1,000 characters."""
    author: str = ""
    """Who it says has written it, at most 200 characters; of several the first, or their names
    with commas between them."""
    published_at: Instant = 0.0
    """When it says that it was published; a day begins at midnight in UTC."""
    published_by: str = ""
    """Who says so, as in `Source`: `linked data`, `open graph`, `meta`, `time` (an element), `url`,
    `file` (the properties of a PDF). There may be more of them later."""
    modified_at: Instant = 0.0
    """When it says that it was changed last."""
    modified_by: str = ""
    """Who says so, as of `published_by`."""
    language: str = ""
    """ISO 639: two letters where the text was recognised, else what the page declares; or ""."""
    declared_language: str = ""
    """As the page declares it: a BCP 47 tag, if it does so properly."""
    alternates: dict[str, str] = field(default_factory=dict)
    """The same in other languages: URLs by `hreflang`, in lower case; at most 200."""
    canonical: Url = ""
    """The URL that the page names as its better one; "" if it names none."""
    image: Url = ""
    """The image that it is shown by elsewhere."""
    open_graph: dict[str, str] = field(default_factory=dict)
    """Properties of OpenGraph and Twitter, by name (`og:type`): the first value of each, at most
    500 characters, at most 50."""
    linked_data: tuple[str, ...] = ()
    """Its JSON-LD (schema.org): the text of each script, which may be no valid JSON; 100,000
    characters at most."""
    needs_rendering: bool = False
    """Whether its text seems to be made by scripts, so that little or nothing of it is here."""
    forms: tuple[Form, ...] = ()
    """Its forms that ask for a document, at most 10 of them, with 50 fields each."""
    requisites: tuple[Url, ...] = ()
    """What it is shown with: images, styles, scripts, sound and film; at most as many as
    `parser.requisites_limit` says. They are not visited."""
    text: str | None = None
    """What it says, as `text_kind` has it; None where it says nothing, or the parser's setting
    leaves it out."""
    text_kind: str = ""
    """Which text: the `main` one without menus and the like; all that is `visible`, where there is
    no main text to speak of; `plain`, of a document that has no markup; or ""."""
    markdown: str | None = None
    """The main text as Markdown, if the setting `parser.markdown` asks for it."""
    headings: tuple[Heading, ...] = ()
    """Its headings, and what else it emphasises, in its order: at most 100."""
    noindex: bool = False
    """Whether it asks not to be indexed, by what `parser.not_indexed` takes for that."""
    directives: tuple[str, ...] = ()
    """What robots meta elements and X-Robots-Tag headers say to us, in lower case: `noindex`,
    `noarchive`, `nosnippet`, `noai`, `max-snippet: 20` … (`none` is noindex and nofollow)."""
    unavailable_after: Instant = 0.0
    """After when it asks not to be shown any more; where that is past, it counts as `noindex`."""
    not_in_snippets: tuple[str, ...] = ()
    """The texts of elements with `data-nosnippet`, which it does not want quoted; white space
    folded, at most 50 of 500 characters."""
    truncated: bool = False
    """Whether the body is not whole."""
    usage: dict[str, str] = field(default_factory=dict)
    """What the site says about the use of the page, in robots.txt and in headers, as it stands
    there: `content-usage` (draft-ietf-aipref-attach), `content-signal` (contentsignals.org); also
    in meta elements: `tdm-reservation`, `tdm-policy` (TDM Reservation Protocol)."""
    hazards: tuple[str, ...] = ()
    """The hazards of the Web that were met with it, by their names."""
    cut: tuple[str, ...] = ()
    """The fields of which something is left out, since all would be too large for a record."""


def contents_of(page: Contents) -> dict[str, Any]:
    """Return the fields of *page* that are its contents, by name: for another event of them."""
    every = asdict(page)
    return {name: every[name] for name in CONTENTS}


CONTENTS = Contents.__struct_fields__[len(Event.__struct_fields__) :]
"""The names of these fields."""


class PageParsed(Contents, frozen=True, kw_only=True, tag="page_parsed"):
    """What was read from a response; from anything but a 2xx document, at most links."""

    site: str
    host: str
    visit: Visit
    fetched_at: float
    status: int
    reason: str = ""
    """For people: why the page is unread, where it is."""
    simhash: str = ""
    """Of the main text, else of the visible one, in 16 hexadecimal digits: few bits differ where
    texts do in little. "" where there are too few words."""
    sketch: bytes = b""
    """Of all words that a reader sees: says how much has changed (`gossamer.text.sketch`)."""
    blocks: bytes = b""
    """What a reader sees, block by block, four bytes each (`gossamer.text.blocks`)."""
    expires_at: float = 0.0
    """Until when the response says that it stays as it is; 0: it says nothing that can be meant."""
    nofollow: bool = False
    """Whether it asks that none of its links is followed, by what `parser.not_followed` takes for
    that."""
    links: tuple[Link, ...] = ()
    kind: PageKind = PageKind.INCONCLUSIVE
    """The kind of the answer: decides how dedup handles it."""
    listing: Listing | None = None
    """Which kind of listing a listing is."""
    entries: tuple[Entry, ...] = ()
    """Those of a listing, the most important ones first."""
