"""The prior of a page's change rate, learnt from the pages of its site, and of the crawl.

Each page that was visited twice adds what is expected of its rate and of the rate's logarithm to
the sums of its site and of the crawl; a Gamma is fitted to them (empirical Bayes: the M step of EM,
a page at a time). A page that was visited once knows nothing but the prior: it would only hold fast
what was guessed. A new site begins with what the crawl knows, a new crawl with a guess.
"""

from typing import TypeVar

from msgspec.structs import replace

from services.frontier.revisit.curve import moved
from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.rates import Belief, fitted
from services.frontier.revisit.state import CrawlState, Known, SiteState

GUESS = Belief(0.5, 5.0)
"""A page changes every ten days, give or take two orders of magnitude."""
CRAWL_WEIGHT, SITE_WEIGHT = 4.0, 8.0
"""How many pages the guess counts for in a crawl, and the crawl in a site."""

S = TypeVar("S", SiteState, CrawlState)


def prior_of(site: SiteState, crawl: CrawlState) -> Belief:
    """Return what is believed of a page of *site* that was never visited."""
    known = crawl.pages - crawl.unseen + CRAWL_WEIGHT
    mean = (crawl.rates + CRAWL_WEIGHT * GUESS.mean) / known
    log_mean = (crawl.log_rates + CRAWL_WEIGHT * GUESS.log_mean) / known
    pages = site.pages - site.unseen + SITE_WEIGHT
    mean = (site.rates + SITE_WEIGHT * mean) / pages
    return fitted(mean, (site.log_rates + SITE_WEIGHT * log_mean) / pages)


def taught(known: Known, belief: Belief) -> Known:
    """Return what is known with the page's *belief* in the sums, in place of its former one."""
    page, site, crawl = known
    if page.visits == 1:
        return Known(page, _counted(site, 1, 1), _counted(crawl, 1, 1))
    seen = 0 if page.expected else -1
    expected, log_expected = rounded(belief.mean), rounded(belief.log_mean)
    more = expected - page.expected, log_expected - page.log_expected
    return Known(
        replace(page, expected=expected, log_expected=log_expected),
        _counted(site, 0, seen, *more),
        _counted(crawl, 0, seen, *more),
    )


def untaught(known: Known) -> Known:
    """Return what is known with the page taken out of the sums."""
    page, site, crawl = known
    if not page.visits:
        return known
    unseen = 0 if page.expected else -1
    less = -page.expected, -page.log_expected
    own = moved(site.curve, (page.site_cell, page.site_asked), (0, 0.0))
    curve = moved(crawl.curve, (page.cell, page.asked), (0, 0.0))
    return Known(
        replace(page, expected=0.0, log_expected=0.0),
        replace(_counted(site, -1, unseen, *less), curve=own),
        replace(_counted(crawl, -1, unseen, *less), curve=curve),
    )


def _counted(of: S, pages: int, unseen: int, rate: float = 0.0, log_rate: float = 0.0) -> S:
    return replace(
        of,
        pages=max(0.0, of.pages + pages),
        unseen=max(0.0, of.unseen + unseen),
        rates=max(0.0, of.rates + rate),
        log_rates=of.log_rates + log_rate,
    )
