"""What others read: documents, that they are gone, and where captures lie.

Gossamer's own services write these and read none of them, so here is what a consumer relies on.
"""

from msgspec import Struct

from gossamer.events.formats import Instant, Url
from gossamer.events.outcomes import Verdict
from gossamer.events.pages import Contents, Link
from gossamer.events.records import Event


class Page(Contents, frozen=True, kw_only=True, tag="page"):
    """Public: the newest version of a document, with its verdict. A tombstone when it is gone."""

    version: int = 2
    """Of this description. What is added has a default, so that who reads version 1 can read on."""
    url: Url
    """Its canonical URL, which is the record's key."""
    site: str
    """The registrable domain; by it pages are partitioned."""
    status: int
    """Of HTTP."""
    fetched_at: Instant
    """When the request began."""
    links: tuple[Url, ...]
    """Where it leads to, in the order of the page, each once."""
    outlinks: tuple[Link, ...] = ()
    """The same with what the page says of each, and guesses, of the kind `script`."""
    verdict: Verdict
    """Of the content test: whether others had the text first, or it has changed."""
    duplicate_of: Url
    """The page that had the same text first; "" if none had."""
    depth: int
    """Links followed from a seed to come here; redirects add none."""
    via: str
    """The visit that discovered the URL, `EPOCH.ORDER.INDEX@URL`, or the seed's record."""
    trace: str = ""
    """128 bits of the URL in hexadecimal: the document's id, the same for every version."""
    near_duplicate_of: Url = ""
    """The page of the same site that has nearly the same text."""
    change: float | None = None
    """How much has changed since the visit before: 0 nothing but what every visit changes, 1 all
    words. None: there was no document before."""
    first_seen: Instant = 0.0
    """When the URL was first found to have a document, also if that was gone meanwhile."""
    last_changed: Instant = 0.0
    """When a visit found the document first, or changed."""
    last_visited: Instant = 0.0
    """When the visit was made that this is published after; later ones that find it unchanged
    publish nothing."""
    unchanged: bool = False
    """Nothing is news beside what was published before: only the setting
    `dedup.republish_unchanged` has such a document published, with the header `unchanged: 1`."""


class PageArchived(Event, frozen=True, kw_only=True, tag="page_archived"):
    """Public: where a capture lies in the WARC files."""

    url: Url
    """Canonical, and the record's key."""
    site: str
    """The registrable domain; by it captures are partitioned."""
    fetched_at: Instant
    """When the request began."""
    status: int
    """Of HTTP."""
    content_type: str
    """The header Content-Type."""
    digest: str
    """SHA-1 in base 32 of the body as received, as in the record's WARC-Payload-Digest; of a
    revisit record that of the body which it leaves out, "" if that is not known."""
    record_type: str = "response"
    """Of the WARC record: `response`, or `revisit` after a 304, which refers to an earlier one."""
    file: str
    """The name of the WARC file."""
    offset: int
    """Bytes before the record in it."""
    length: int
    """Bytes of the record, compressed as it is."""
    trace: str = ""
    """128 bits of the URL in hexadecimal, as in `pages`."""


class Tombstone(Struct, frozen=True):
    """A document is gone: an empty value takes its place on the `pages` topic.

    What is not in the record's key is in its headers, as text, under the names of these fields.
    """

    url: str
    site: str
    verdict: Verdict = Verdict.GONE
    """`redirect` where a redirect took its place, otherwise `gone`."""
    redirects_to: Url = ""
    """Canonical; "" if the verdict is another, or it leads to no URL."""
    reason: str = ""
    """Why, as in `gossamer.events.gone.Gone`."""
    at: float = 0.0
    """When the visit was made that found it gone."""
    status: int = 0
    """Of that visit."""
    trace: str = ""
    """By which the document is known."""
