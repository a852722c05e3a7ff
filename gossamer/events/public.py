"""The public events: documents, tombstones, and where captures are stored.

Gossamer's own services write these events and do not read them. Consumers rely on them.
"""

from msgspec import Struct

from gossamer.events.formats import Instant, Url
from gossamer.events.outcomes import Verdict
from gossamer.events.pages import Contents, Link
from gossamer.events.records import Event


class Page(Contents, frozen=True, kw_only=True, tag="page"):
    """Public: the newest version of a document, with its verdict. A tombstone replaces it when it
    is gone."""

    version: int = 2
    """The version of this schema. Added fields have defaults, so that consumers of version 1 can
    read version 2."""
    url: Url
    """The document's canonical URL, which is the record's key."""
    site: str
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
    """The id of the document in all its versions: 128 bits of its URL, in hexadecimal."""
    near_duplicate_of: Url = ""
    """The URL of the page of the same site with nearly the same text."""
    change: float | None = None
    """How much the page has changed since the visit before, from 0 (only volatile parts) to 1 (all
    words). None means that there was no document before."""
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
    """The canonical URL, which is the record's key."""
    site: str
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
    """The type of the WARC record: `response`, or `revisit` after a 304, which refers to an earlier
    record."""
    file: str
    """The name of the WARC file."""
    offset: int
    """Offset of the record in the file, in bytes."""
    length: int
    """Compressed length of the record, in bytes."""
    trace: str = ""
    """The id of the document, as in `pages`: 128 bits of its URL, in hexadecimal."""


class Tombstone(Struct, frozen=True):
    """A document is gone: an empty value replaces it on the `pages` topic.

    The record's headers contain, as text, the fields that its key does not, under their names here.
    """

    url: str
    site: str
    verdict: Verdict = Verdict.GONE
    """`redirect` if the URL redirects now, otherwise `gone`."""
    redirects_to: Url = ""
    """The canonical target of the redirect. "" if the verdict is `gone`, or the target is not a
    URL."""
    reason: str = ""
    """The reason, one of `gossamer.events.gone.Gone`."""
    at: float = 0.0
    """Epoch seconds of the visit that found the document gone."""
    status: int = 0
    """The HTTP status of that visit."""
    trace: str = ""
    """The id of the document, as in `pages`."""
