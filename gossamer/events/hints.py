"""Evidence about the changes of pages that does not come from visits to them."""

from enum import StrEnum

from msgspec import Struct

from gossamer.events.records import Event


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

    site: str
    host: str
    hints: tuple[ChangeHint, ...]
