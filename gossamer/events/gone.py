"""The reasons for tombstones, and the number of visits that each reason needs, in one table.

Dedup applies the table. `gossamer why` and `docs/outcomes-and-hazards.md` show its sentences.
"""

from dataclasses import dataclass
from enum import StrEnum

from gossamer.events.outcomes import check_complete


class Gone(StrEnum):
    """Why a document is gone from `pages`: the `reason` in its tombstone."""

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
