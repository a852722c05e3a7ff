"""Which pages a crawl keeps: the others are judged, and treated as those that ask for no index.

So is what a host answers where it has no page, whatever it was asked for.
"""

from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import CrawlDefined, PageParsed
from gossamer.events.hazards import Hazard
from gossamer.relevance import facts_of, parse_relevance

NO_PAGE = "the host answers so where it has no page: it is not published"


class Kept(NamedTuple):
    """A document, and what is to be said of it."""

    page: PageParsed
    irrelevant: bool = False
    reason: str = ""


def kept(page: PageParsed, crawl: CrawlDefined | None) -> Kept:
    """Return *page*, a document, as *crawl* takes it up."""
    if is_soft_404(page):
        return Kept(replace(page, noindex=True, links=()), reason=NO_PAGE)
    if crawl is None or not crawl.relevant:
        return Kept(page)
    facts = facts_of(page)
    judgement = parse_relevance(crawl.relevant).judge(facts)
    if facts.failures:
        page = replace(page, hazards=(*page.hazards, Hazard.CLASSIFIER_FAILED))
    if judgement.inside is None:
        failures = "; ".join(f"{name!r} failed: {why}" for name, why in facts.failures.items())
        return Kept(page, reason=f"kept, because the classifier {failures}")
    if judgement.inside:
        return Kept(page)
    links = page.links if crawl.follow_irrelevant else ()
    hazards = (*page.hazards, Hazard.IRRELEVANT)
    taken = replace(page, noindex=True, links=links, hazards=hazards)
    return Kept(taken, True, f"not relevant, by {judgement.rule}: it is not published")


def is_soft_404(page: PageParsed) -> bool:
    """Return whether *page* is what its host answers where it has no page."""
    return Hazard.SOFT_404 in page.hazards
