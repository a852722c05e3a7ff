"""The price of a visit: the Lagrange multiplier of the budget, without a look at all pages.

Every page is visited when a visit is worth the price. The price is read from the crawl's demand
curve (`curve`), which each visit keeps right in constant time: where pages ask for as many visits
as the budget pays for. So a frontier of a fleet can do it with its own pages and its share of the
budget. Visits that come late, or are saved, move it a little: a loop that did it all by what was
spent would swing, since a page hears of a price at its next visit only.

Where the politeness of a site allows less than its pages ask for, a visit there has a surcharge: a
curve of the site's own pages says at which price they ask for what is allowed. What first visits
have of that is not theirs to ask for.
"""

from math import exp

from msgspec.structs import replace

from services.frontier.revisit.budget import SAVED
from services.frontier.revisit.curve import price_for
from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.state import DAY, CrawlState, Known, SiteState

LATE = DAY
"""Visits that are so late count as twice the budget."""
LATENESS_FADE = 0.98
ANEW = 300.0
"""How often a round the price is read from the curve."""
TRIM = 0.25
"""What is saved of the budget, or late, moves what is allowed by up to e to this."""


def repriced(known: Known, at: float) -> Known:
    """Return what is known with price and surcharge after a visit that took place *at*."""
    page, site, crawl = known
    crawl = _repriced(crawl, at)
    return Known(page, _surcharged(site, crawl, at), crawl)


def priced(known: Known) -> Known:
    """Return what is known with a price, if the crawl has none yet."""
    crawl = known.crawl
    return known if crawl.price else known._replace(crawl=_repriced(crawl, known.page.at))


def delayed(crawl: CrawlState, site: SiteState, due_at: float, at: float) -> CrawlState:
    """Return the crawl with a visit that was due, and took place *at*, in its lateness."""
    if not due_at or _is_bound(site):
        return crawl
    late = crawl.lateness * LATENESS_FADE + max(0.0, at - due_at) * (1 - LATENESS_FADE)
    return replace(crawl, lateness=rounded(late))


def _repriced(crawl: CrawlState, at: float) -> CrawlState:
    if not crawl.budget:
        return replace(crawl, price=LEAST_PRICE)
    a_round = max(1.0, crawl.pages) / crawl.budget * DAY
    if crawl.price and at < crawl.priced_at + a_round / ANEW:
        return crawl
    saved = max(0.0, crawl.tokens - 1.0) / max(1.0, SAVED * crawl.budget)
    short = saved - min(1.0, crawl.lateness / LATE)
    allowed = crawl.budget * exp(TRIM * short)
    price = max(LEAST_PRICE, price_for(crawl.curve, allowed))
    return replace(crawl, price=rounded(price), priced_at=at)


LEAST_PRICE = 0.01
"""Days of freshness: a quarter of an hour. What brings less is not visited however large the budget
is, or pages that change once a year would be visited each hour, as fast as their servers bear."""


def _surcharged(site: SiteState, crawl: CrawlState, at: float) -> SiteState:
    if not site.limit or at < site.priced_at + max(1.0, site.pages) / site.limit * DAY / ANEW:
        return site
    surcharge = max(1.0, price_for(site.curve, _allowed(site)) / crawl.price)
    return replace(site, surcharge=rounded(surcharge), priced_at=at)


def overasked(site: SiteState) -> bool:
    """Return whether the pages of *site* ask for more visits than politeness allows."""
    return bool(site.limit) and site.demand > _allowed(site)


def _is_bound(site: SiteState) -> bool:
    return bool(site.limit) and site.demand >= 0.8 * _allowed(site)


def _allowed(site: SiteState) -> float:
    """Return the visits a day to pages that are known, for which politeness leaves room."""
    return site.limit * (1 - min(site.discovery, 1.0))
