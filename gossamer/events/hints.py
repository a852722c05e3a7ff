"""What is said of a page's changes beside visits to it: hints for the revisit scheduler."""

from enum import StrEnum

from msgspec import Struct

from gossamer.events.records import Event


class EvidenceKind(StrEnum):
    """Where it may be said, beside a visit, that a page has changed."""

    LAST_MODIFIED = "last_modified"
    SITEMAP = "sitemap"
    FEED = "feed"
    LINK = "link"
    EXPIRES = "expires"
    """Cache-Control or Expires of its last answer."""
    CHANGEFREQ = "changefreq"


class ChangeHint(Struct, frozen=True):
    """A page may have changed."""

    url: str
    """Canonical."""
    kind: EvidenceKind
    changed_at: float
    """The date that was given; of a new link, when the link was seen; 0: none was."""
    every: float = 0.0
    """How often it is said to change, in seconds: a sitemap's changefreq; 0: that is not said."""


class ChangesHinted(Event, frozen=True, kw_only=True, tag="changes_hinted"):
    """Pages of a host may have changed; a site's hints count as far as earlier ones were true."""

    site: str
    host: str
    hints: tuple[ChangeHint, ...]
