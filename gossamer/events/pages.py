"""What was read from a page, as the parser says it and as `pages` says it to everybody."""

from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from gossamer.events.formats import Instant, Url
from gossamer.events.records import Event, Visit
from gossamer.web.validators import NO_VALIDATORS, Validators


class Link(Struct, frozen=True):
    """A link as found: canonical and absolute."""

    url: Url
    """Canonical."""
    text: str = ""
    """Its words, white space folded, at most 200 characters."""
    nofollow: bool = False
    """Whether the page does not vouch for it: rel nofollow, ugc or sponsored."""
    redirect: bool = False
    """Whether it is where a redirect points to."""


class Listing(StrEnum):
    """What lists documents, and is none itself."""

    SITEMAP = "sitemap"
    SITEMAP_INDEX = "sitemap_index"
    """It lists sitemaps."""
    FEED = "feed"


class Entry(Struct, frozen=True, omit_defaults=True):
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
    """Who has written it, as it says itself; at most 500 characters."""
    published_at: Instant = 0.0
    """When it was published, as it says itself; 0: it does not."""
    modified_at: Instant = 0.0
    """When it was changed last, as it says itself; 0: it does not."""
    language: str = ""
    """ISO 639: two letters where the text was recognised, else what the page declares; or ""."""
    canonical: Url = ""
    """The URL that the page names as its better one; "" if it names none."""
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
    """Whether it asks not to be indexed."""
    truncated: bool = False
    """Whether the body is not whole."""
    usage: dict[str, str] = field(default_factory=dict)
    """What the site says about the use of the page, in robots.txt and in headers, as it stands
    there: `content-usage` (draft-ietf-aipref-attach), `content-signal` (contentsignals.org)."""
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
    """Whether it asks that none of its links is followed."""
    links: tuple[Link, ...] = ()
    listing: Listing | None = None
    """What it is if it is no document, but lists some; None: it is one."""
    entries: tuple[Entry, ...] = ()
    """Those of a listing, the most important ones first."""
