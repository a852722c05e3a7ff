"""Why documents are gone from `pages`, and when they are: the whole policy, in one table.

Dedup goes by it; `gossamer why` and `docs/outcomes-and-hazards.md` look its sentences up here.
"""

from dataclasses import dataclass
from enum import StrEnum

from gossamer.events.outcomes import check_complete


class Gone(StrEnum):
    """Why a document is gone from `pages`: what the `reason` of its tombstone may be."""

    MOVED = "moved"
    REMOVED = "removed"
    NOINDEX = "noindex"
    LISTING = "listing"
    IRRELEVANT = "irrelevant"
    MISSING = "missing"
    SOFT_404 = "soft_404"
    REDIRECTED = "redirected"
    REFUSED = "refused"
    ERASED = "erased"


@dataclass(frozen=True)
class Patience:
    """When a document counts as gone."""

    visits: int
    """After how many visits in a row that do not find it, the last of them for this reason."""
    text: str
    """What a visit finds instead, in a sentence."""
    setting: str = ""
    """How long it must have been away besides."""


# fmt: off
PATIENCE: dict[Gone, Patience] = {
    Gone.MOVED: Patience(1, "The URL redirects for good (301, 308)."),
    Gone.REMOVED: Patience(1, "The server says that the page is gone, and will stay so (410)."),
    Gone.NOINDEX: Patience(1, "The page asks not to be indexed."),
    Gone.LISTING: Patience(1, "There is a sitemap or a feed, which is no document."),
    Gone.IRRELEVANT: Patience(1, "The page is not among those that the crawl keeps."),
    Gone.MISSING: Patience(2, "The server does not find the page (404)."),
    Gone.SOFT_404: Patience(1, "The server answers as it does where it has no page."),
    Gone.REDIRECTED: Patience(2, "The URL redirects for now (302 and the others)."),
    Gone.REFUSED: Patience(
        2, "The server refuses the page (any other 4xx but 429).", "dedup.refused_limit"),
    Gone.ERASED: Patience(0, "No visit says so: somebody had it erased (gossamer forget)."),
}
# fmt: on

check_complete(Gone, PATIENCE, "PATIENCE")
