"""The prior of a page's change rate, learnt from the pages of its site, and of the crawl.

Each page adds what is expected of its rate and of the rate's logarithm to the sums of its site and
of the crawl; a Gamma is fitted to them (empirical Bayes: the M step of EM, a page at a time). A
new site begins with what the crawl knows, a new crawl with a guess.
"""

from msgspec.structs import replace

from services.frontier.revisit.curve import moved
from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.rates import Belief, fitted
from services.frontier.revisit.state import CrawlState, Known, SiteState

GUESS = Belief(0.5, 5.0)
"""A page changes every ten days, give or take two orders of magnitude."""
CRAWL_WEIGHT, SITE_WEIGHT = 4.0, 8.0
"""How many pages the guess counts for in a crawl, and the crawl in a site."""


def prior_of(site: SiteState, crawl: CrawlState) -> Belief:
    """Return what is believed of a page of *site* that was never visited."""
    known = crawl.pages + CRAWL_WEIGHT
    mean = (crawl.rates + CRAWL_WEIGHT * GUESS.mean) / known
    log_mean = (crawl.log_rates + CRAWL_WEIGHT * GUESS.log_mean) / known
    pages = site.pages + SITE_WEIGHT
    mean = (site.rates + SITE_WEIGHT * mean) / pages
    return fitted(mean, (site.log_rates + SITE_WEIGHT * log_mean) / pages)


def taught(known: Known, belief: Belief) -> Known:
    """Return what is known with the page's *belief* in the sums, in place of its former one."""
    page, site, crawl = known
    new = not page.expected
    expected, log_expected = rounded(belief.mean), rounded(belief.log_mean)
    more, more_log = expected - page.expected, log_expected - page.log_expected
    return Known(
        replace(page, expected=expected, log_expected=log_expected),
        replace(
            site,
            pages=site.pages + new,
            rates=max(0.0, site.rates + more),
            log_rates=site.log_rates + more_log,
        ),
        replace(
            crawl,
            pages=crawl.pages + new,
            rates=max(0.0, crawl.rates + more),
            log_rates=crawl.log_rates + more_log,
        ),
    )


def untaught(known: Known) -> Known:
    """Return what is known with the page taken out of the sums."""
    page, site, crawl = known
    if not page.expected:
        return known
    return Known(
        replace(page, expected=0.0, log_expected=0.0),
        replace(
            site,
            pages=site.pages - 1,
            rates=max(0.0, site.rates - page.expected),
            log_rates=site.log_rates - page.log_expected,
            curve=moved(site.curve, (page.site_cell, page.site_asked), (0, 0.0)),
        ),
        replace(
            crawl,
            pages=crawl.pages - 1,
            rates=max(0.0, crawl.rates - page.expected),
            log_rates=crawl.log_rates - page.log_expected,
            curve=moved(crawl.curve, (page.cell, page.asked), (0, 0.0)),
        ),
    )
