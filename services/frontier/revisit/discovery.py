"""How URLs that were never visited and pages to be visited again share the budget.

By what a visit is worth, unless a person has set it. A first visit makes a copy where there was
none, and brings the days for which that copy is expected to stay fresh until its next visit. The
last revisit that the budget pays for brings the crawl's price. Each gets its part of the two.
"""

from services.frontier.revisit.optimal import worthwhile
from services.frontier.revisit.prior import prior_of
from services.frontier.revisit.state import CrawlState, SiteState

LEAST = 0.1
"""Neither is to starve while the other has work."""


def discovery_share(crawl: CrawlState) -> float:
    """Return the share of the budget for first visits by what they are worth, 0.1 to 0.9.

    A visit to a page of weight 1, whose site is new, under the crawl's prior. Of two kinds of which
    one has no work, the other may have all: that is up to the frontier.
    """
    prior = prior_of(SiteState(), crawl)
    worth = prior.fresh(worthwhile(prior, crawl.price))
    return min(max(worth / (worth + crawl.price), LEAST), 1 - LEAST)
