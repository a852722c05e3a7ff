"""What others read: documents, that they are gone, and where captures lie.

Gossamer's own services write these and read none of them, so here is what a consumer relies on.
"""

from msgspec import Struct

from gossamer.events.formats import Instant
from gossamer.events.outcomes import Verdict
from gossamer.events.pages import Contents
from gossamer.events.records import Event


class Page(Contents, frozen=True, kw_only=True, tag="page"):
    """Public: the newest version of a document, with its verdict. A tombstone when it is gone."""

    url: str
    site: str
    status: int
    fetched_at: Instant
    links: tuple[str, ...]
    verdict: Verdict
    duplicate_of: str
    depth: int
    via: str
    trace: str = ""
    near_duplicate_of: str = ""
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

    url: str
    site: str
    fetched_at: float
    status: int
    content_type: str
    digest: str
    """SHA-1 in base 32 of the body as received, as in the record's WARC-Payload-Digest; of a
    revisit record that of the body which it leaves out, "" if that is not known."""
    record_type: str = "response"
    """Of the WARC record: `response`, or `revisit` after a 304, which refers to an earlier one."""
    file: str
    offset: int
    length: int
    trace: str = ""


class Tombstone(Struct, frozen=True):
    """A document is gone: an empty value takes its place on the `pages` topic.

    What is not in the record's key is in its headers, as text, under the names of these fields.
    """

    url: str
    site: str
    reason: str = ""
    """Why, as in `gossamer.events.gone.Gone`."""
    at: float = 0.0
    """When the visit was made that found it gone."""
    status: int = 0
    """Of that visit."""
    trace: str = ""
    """By which the document is known."""
