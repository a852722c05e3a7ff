"""The public events: documents, tombstones, and where captures are stored.

Gossamer's own services write these events and do not read them. Consumers rely on them.

`GONE_RULES` states the number of visits that each reason for a tombstone needs. Dedup applies the
table. `gossamer why` and `docs/outcomes-and-hazards.md` show its sentences.

`fit_to_limit` reduces documents that are too large for a record: fields are dropped first, then the
text is cut.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from gossamer.events.outcomes import Verdict, check_complete
from gossamer.events.pages import CONTENTS, Contents, Link, PageParsed
from gossamer.events.records import Event, Instant, Url
from gossamer.web.url import Site
from gossamer.web.usage import Judgement, Statement

Document = TypeVar("Document", bound=Contents)
PROTECTED_FIELDS = frozenset({"hazards", "cut", "text", "usage", "usage_statements", "extracted"})
"""Fields that are never dropped. They are small, or shortened instead."""
LINK_FIELDS = frozenset({"links", "entries"})
"""Fields that a parsed page keeps at any size, because the crawl needs them. The parser limits
them."""
MIN_DROPPED_CHARACTERS = 1000
"""Minimum number of characters of a string field that is dropped."""


class Page(Contents, frozen=True, kw_only=True, tag="page"):
    """Public: the newest version of a document, with its verdict. A tombstone replaces it when it
    is gone."""

    version: int = 2
    """The version of this schema. Added fields have defaults, so that consumers of version 1 can
    read version 2."""
    url: Url
    """The document's canonical URL. The record's key is the id of the crawl, `/`, and this URL."""
    site: Site
    """The registrable domain, which decides the partition."""
    status: int
    """The HTTP status of the response."""
    fetched_at: Instant
    """Epoch seconds of the request."""
    links: tuple[Url, ...]
    """The URLs that the page links to, in its order and without repetition."""
    outlinks: tuple[Link, ...] = ()
    """The links with their texts and attributes, including guesses of the kind `script`."""
    verdict: Verdict
    """Whether another page had the text first, or the text has changed."""
    duplicate_of: Url
    """The URL of the page that had the same text first. "" means that no page had it."""
    depth: int
    """Number of links from a seed. Redirects do not count."""
    via: str
    """The id of the visit that discovered the URL, `EPOCH.ORDER.INDEX@URL`, or the record of the
    seed."""
    trace: str = ""
    """The id of the document in all its versions and all crawls: 128 bits of its URL, in
    hexadecimal."""
    near_duplicate_of: Url = ""
    """The URL of the page of the same site with nearly the same text."""
    change: float | None = None
    """How much of the compared text (see `digest`), menus included, has changed since the visit
    before, from 0 (only volatile parts) to 1 (all words, or a body without text). None means that
    there was no document before."""
    first_seen: Instant = 0.0
    """Epoch seconds at which the URL first had a document, even if that was gone for a time."""
    last_changed: Instant = 0.0
    """Epoch seconds of the last visit that found the document new or changed."""
    last_visited: Instant = 0.0
    """Epoch seconds of the visit that published this version. Later visits that find it unchanged
    publish nothing."""
    unchanged: bool = False
    """Whether nothing has changed since the last published version. Such a page is published only
    under the setting `dedup.republish_unchanged`, with the header `unchanged: 1`."""


class PageArchived(Event, frozen=True, kw_only=True, tag="page_archived"):
    """Public: where a capture is stored in the WARC files."""

    url: Url
    """The canonical URL. The record's key is the id of the crawl, `/`, and this URL."""
    site: Site
    """The registrable domain, which decides the partition."""
    fetched_at: Instant
    """Epoch seconds of the request."""
    status: int
    """The HTTP status of the response."""
    content_type: str
    """The Content-Type header of the response."""
    digest: str
    """The SHA-1 of the body as received, in base 32, as in WARC-Payload-Digest. A revisit record
    has the digest of the body that it omits, or "" if that is not known."""
    record_type: str = "response"
    """The type of the WARC record: `response`, or `revisit`, which refers to an earlier record with
    the body: after a 304, and if an equal body was archived already."""
    file: str
    """The name of the WARC file, which starts with the folder of its writer in a fleet."""
    uri: str = ""
    """The URI of the WARC file, such as `file:///…/name` or `s3://bucket/…/name`."""
    offset: int
    """Offset of the record in the file, in bytes."""
    length: int
    """Compressed length of the record, in bytes."""
    trace: str = ""
    """The id of the document, as in `pages`: 128 bits of its URL, in hexadecimal."""
    usage: dict[str, Judgement] = field(default_factory=dict)
    """Whether each category of use is allowed, as in `pages`. Meta elements beyond the first 64 KiB
    of the body are not read."""
    usage_statements: tuple[Statement, ...] = ()
    """The statements about the use of the page, as in `pages`."""


class Tombstone(Struct, frozen=True):
    """A document is gone: an empty value replaces it on the `pages` topic. On `pages.archived`: all
    captures of the URL until then are erased.

    The record's key is the crawl, `/`, and the URL. Its headers contain the crawl and, as text, the
    fields that its key does not, under their names here.
    """

    crawl: str
    """The id of the crawl that had the document. Other crawls may still have it."""
    url: str
    site: Site
    verdict: Verdict = Verdict.GONE
    """`redirect` if the URL redirects now, otherwise `gone`."""
    redirects_to: Url = ""
    """The canonical target of the redirect. "" if the verdict is `gone`, or the target is not a
    URL."""
    reason: str = ""
    """The reason, one of `gossamer.events.public.Gone`."""
    at: float = 0.0
    """Epoch seconds of the visit that found the document gone."""
    status: int = 0
    """The HTTP status of that visit."""
    trace: str = ""
    """The id of the document, as in `pages`."""
    topic: str = "pages"
    """`pages` or `pages.archived`."""


class Gone(StrEnum):
    """Why a document is gone from `pages`: the `reason` in its tombstone."""

    MOVED = "moved"
    REMOVED = "removed"
    NOINDEX = "noindex"
    LISTING = "listing"
    IRRELEVANT = "irrelevant"
    USAGE = "usage"
    MISSING = "missing"
    SOFT_404 = "soft_404"
    REDIRECTED = "redirected"
    REFUSED = "refused"
    ERASED = "erased"


@dataclass(frozen=True)
class GoneRule:
    """The condition under which a document counts as gone."""

    visits: int
    """Number of consecutive visits that do not find the document, the last of them for this
    reason."""
    text: str
    """The result of such a visit, as a sentence."""
    setting: str = ""
    """The setting with the minimum time that the document must also be missing. "" means no
    minimum."""


# fmt: off
GONE_RULES: dict[Gone, GoneRule] = {
    Gone.MOVED: GoneRule(1, "The URL redirects permanently (301, 308)."),
    Gone.REMOVED: GoneRule(1, "The server reports that the page is permanently gone (410)."),
    Gone.NOINDEX: GoneRule(1, "The page asks not to be indexed."),
    Gone.LISTING: GoneRule(1, "The URL has a sitemap or a feed, which is not a document."),
    Gone.IRRELEVANT: GoneRule(1, "The page is not relevant to the crawl (`crawl.relevant`)."),
    Gone.USAGE: GoneRule(
        1, "The site does not allow a use that the crawl is for (`crawl.purposes`)."),
    Gone.MISSING: GoneRule(2, "The server does not find the page (404)."),
    Gone.SOFT_404: GoneRule(
        1, "The response has the host's signature for missing pages (soft 404)."),
    Gone.REDIRECTED: GoneRule(2, "The URL redirects temporarily (302 and other codes)."),
    Gone.REFUSED: GoneRule(
        2, "The server refuses the page (any 4xx except 404, 410, 412 and 429).",
        "dedup.refused_limit"),
    Gone.ERASED: GoneRule(
        0, "An operator erased the document with `gossamer forget`, without a visit."),
}
# fmt: on
check_complete(Gone, GONE_RULES, "GONE_RULES")


def fit_to_limit(page: Document, limit: int) -> Document:
    """Return *page* reduced so that its JSON has at most *limit* bytes, if that is possible.

    The largest lists, maps and strings are dropped first, as a whole. Then the end of the text is
    cut. `cut` names all reduced fields. Fields that must stay can make the result larger than
    *limit*.
    """
    free_bytes = limit - _size(page)
    gone = list[str]()
    for size, name in sorted(_optional(page), reverse=True):
        if free_bytes >= _size([*gone, "text"]):
            break
        gone.append(name)
        free_bytes += size
    page = msgspec.structs.replace(page, **{name: _default(page, name) for name in gone})
    return _with_short_text(_mark_cut(page, gone) if gone else page, limit)


def _with_short_text(page: Document, limit: int) -> Document:
    while (text := page.text) and (over := _size(page) - limit) > 0:
        # Assumes that all characters are equally long in JSON. The loop corrects that.
        left = max(0, int(len(text) * (1 - over / _size(text))) - 1)
        page = _mark_cut(msgspec.structs.replace(page, text=text[:left]), ["text"])
    return page


def _optional(page: Contents) -> Iterator[tuple[int, str]]:
    kept = PROTECTED_FIELDS | LINK_FIELDS if isinstance(page, PageParsed) else PROTECTED_FIELDS
    for name in page.__struct_fields__:
        value = getattr(page, name)
        is_long = (
            isinstance(value, str) and name in CONTENTS and len(value) > MIN_DROPPED_CHARACTERS
        )
        if name not in kept and (is_long or isinstance(value, tuple | dict)) and value:
            yield _size(value), name


def _default(page: Contents, name: str) -> object:
    return type(getattr(page, name))()


def _mark_cut(page: Document, names: list[str]) -> Document:
    cut = tuple(dict.fromkeys((*page.cut, *names)))
    return msgspec.structs.replace(page, cut=cut)


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))
