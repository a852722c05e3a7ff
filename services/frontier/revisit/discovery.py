"""How URLs that were never visited and pages to be visited again share the budget.

By what a visit is worth, unless a person has set it. A first visit makes a copy where there was
none, and brings the days for which that copy is expected to stay fresh until its next visit. The
last revisit that the budget pays for brings the crawl's price, and at a host where both wait, that
of its site. Each gets its part of the two. A rule that knows no price makes them equals.
"""

from services.frontier.revisit.optimal import worthwhile
from services.frontier.revisit.prior import prior_of
from services.frontier.revisit.state import CrawlState, SiteState

HALF, LEAST = 0.5, 0.1
"""Neither is to starve while the other has work."""


NEW = SiteState()


def discovery_share(crawl: CrawlState, site: SiteState = NEW) -> float:
    """Return the share of first visits by what they are worth, 0.1 to 0.9; half without a price.

    A visit to a page of weight 1 of *site*, by default of one that is new. Of two kinds of which
    one has no work, the other may have all: that is up to the frontier.
    """
    if not crawl.price:
        return HALF
    prior, price = prior_of(site, crawl), crawl.price * site.surcharge
    worth = prior.fresh(worthwhile(prior, price))
    return min(max(worth / (worth + price), LEAST), 1 - LEAST)
