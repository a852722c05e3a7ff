"""The price of a visit: demand curves, the price that fits a budget, and the budget's tokens.

**The demand curve** says how many visits a day all pages need at any price. Pages that need the
same number of visits at the same price share a cell: by their change rate divided by their weight,
and by the shape of the rate's belief. A cell holds the sum of its pages' rates. So a page is moved
in constant time, the curve is evaluated from a few hundred cells however many pages there are, and
the curves of several frontiers can be added.

**The price** is the Lagrange multiplier of the budget: the price at which the pages need as many
visits as the budget allows. Each visit keeps the curve up to date, so a frontier computes the price
from its own pages and its share of the budget. Late visits and unused tokens change the price a
little. A control loop on the spent budget alone would oscillate, because a page learns of a price
only at its next visit.

Where politeness allows a site fewer visits than its pages need, the price is multiplied by a
surcharge, computed from the demand curve of the site's own pages. The part of the limit that first
visits use does not count.

**Tokens** limit the spending: one token for each visit, produced evenly and saved for at most a
day. The frontier spends a token on the most overdue page. So an outage of a week does not cause a
burst beyond the saved tokens, and pages that are due too early for the budget wait.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, floor, inf, log2

from msgspec.structs import replace

from gossamer.services.frontier.revisit.beliefs import Belief
from gossamer.services.frontier.revisit.state import (
    DAY,
    CrawlState,
    SiteState,
    States,
    clear_residue,
    to_single,
)

STEPS_PER_DOUBLING = 4
"""Cells for each doubling of rate / weight. Prices have twice as many steps."""
SHAPES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 60.0)
"""Shapes of beliefs that have a cell. Pages with a clock have the place after the last one."""
CLOCK_PLACE = len(SHAPES)
PLACES = CLOCK_PLACE + 1
MIN_PRICE_STEP, MAX_PRICE_STEP = -20 * 2 * STEPS_PER_DOUBLING, 20 * 2 * STEPS_PER_DOUBLING
"""Bounds of prices in steps: a second to a thousand years."""

EVEN_SHARE = 0.01
"""The fraction of a budget that is split evenly among partitions."""

Curve = dict[int, float]


def cell_of(rate: float, shape: float | None, weight: float) -> int:
    """Return the cell of a page with *rate* changes a day; *shape* is None for a clock."""
    step = round(STEPS_PER_DOUBLING * log2(max(rate / weight, 1e-9)))
    if shape is None:
        return step * PLACES + CLOCK_PLACE
    return step * PLACES + min(range(CLOCK_PLACE), key=lambda n: abs(log2(shape / SHAPES[n])))


def move_page(curve: Curve, page: tuple[int, float], to: tuple[int, float]) -> Curve:
    """Move a page in *curve* from one (cell, rate) to another. A rate of 0 means no entry."""
    new = dict(curve)
    for (cell, rate), sign in ((page, -1), (to, 1)):
        if rate:
            new[cell] = clear_residue(new.get(cell, 0.0) + sign * rate)
            if not new[cell]:
                del new[cell]
    return new


def price_for(curve: Curve, budget: float) -> float:
    """Return the price, in days of freshness, at which pages need *budget* visits a day."""
    low, high = MIN_PRICE_STEP, MAX_PRICE_STEP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if demand(curve, middle) > budget else (low, middle)
    more, less = demand(curve, low), demand(curve, high)
    part = (more - budget) / (more - less) if more > less else 0.0
    return float(2 ** ((low + min(max(part, 0.0), 1.0)) / (2 * STEPS_PER_DOUBLING)))


def split_budget(curves: Sequence[Curve], budget: float) -> list[float]:
    """Split *budget* (visits a day) among partitions by their demand curves.

    Each partition receives what its curve needs at the common price. The parts add up to *budget*.
    No part is 0, which would mean no limit: 1 % is split evenly, so that a partition without pages
    can begin. Without any demand all of it is split evenly.
    """
    whole: Curve = {}
    for curve in curves:
        for cell, rate in curve.items():
            whole[cell] = whole.get(cell, 0.0) + rate
    price = 2 * STEPS_PER_DOUBLING * log2(price_for(whole, budget))
    demands = [_demand_between(curve, price) for curve in curves]
    total, even = sum(demands), 1 / len(curves) if curves else 0.0
    parts = [one / total if total else even for one in demands]
    return [budget * (EVEN_SHARE * even + (1 - EVEN_SHARE) * part) for part in parts]


def _demand_between(curve: Curve, price: float) -> float:
    low = floor(price)
    return demand(curve, low) + (price - low) * (demand(curve, low + 1) - demand(curve, low))


def demand(curve: Curve, price: int) -> float:
    """Return the visits a day that pages need at *price*, in steps."""
    total = 0.0
    for cell, rate in curve.items():
        step, place = divmod(cell, PLACES)
        total += rate / _interval(price + 2 * step, place)
    return total


@lru_cache(maxsize=20_000)
def _interval(worth: int, place: int) -> float:
    """Return the expected changes between two visits if a visit must be worth *worth*, in price
    steps relative to the time between two changes."""
    least = 2 ** (worth / (2 * STEPS_PER_DOUBLING))
    if place == CLOCK_PLACE:
        return 1.0 if least < 1 else inf
    belief = Belief(SHAPES[place], SHAPES[place])
    if belief.worth(1e4) < least:
        return inf
    low, high = 1e-8, 1e4
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if belief.worth(middle) >= least else (middle, high)
    return low


MAX_LATENESS_SECONDS = DAY
"""The lateness, in seconds, that lowers the allowed visits the most."""
LATENESS_FADE = 0.98
"""The factor of the mean lateness at each visit."""
REPRICINGS_PER_ROUND = 300.0
"""How often the price is computed in the time in which the budget visits every page once."""
MAX_TRIM = 0.25
"""Saved tokens or lateness scale the allowed visits by at most e**±MAX_TRIM."""


def reprice(states: States, at: float) -> States:
    """Update the price and the surcharge after a visit at *at*."""
    page, site, crawl = states
    crawl = _reprice_crawl(crawl, at)
    return States(page, _reprice_site(site, crawl, at), crawl)


def ensure_price(states: States) -> States:
    """Compute the price of the crawl if it has none yet."""
    crawl = states.crawl
    return states if crawl.price else states._replace(crawl=_reprice_crawl(crawl, states.page.at))


def record_lateness(crawl: CrawlState, site: SiteState, due_at: float, at: float) -> CrawlState:
    """Add the delay of a visit that was planned for *due_at* and made at *at* to the lateness."""
    if not due_at or _is_bound(site):
        return crawl
    late = crawl.lateness * LATENESS_FADE + max(0.0, at - due_at) * (1 - LATENESS_FADE)
    return replace(crawl, lateness=to_single(late))


def _reprice_crawl(crawl: CrawlState, at: float) -> CrawlState:
    if not crawl.budget:
        return replace(crawl, price=MIN_PRICE_DAYS)
    a_round = max(1.0, crawl.pages) / crawl.budget * DAY
    if crawl.price and at < crawl.priced_at + a_round / REPRICINGS_PER_ROUND:
        return crawl
    saved = max(0.0, crawl.tokens - 1.0) / max(1.0, MAX_SAVED_DAYS * crawl.budget)
    short = saved - min(1.0, crawl.lateness / MAX_LATENESS_SECONDS)
    allowed = crawl.budget * exp(MAX_TRIM * short)
    price = max(MIN_PRICE_DAYS, price_for(crawl.curve, allowed))
    return replace(crawl, price=to_single(price), priced_at=at)


MIN_PRICE_DAYS = 0.01
"""The minimum price in days of freshness: a quarter of an hour. Without it a large budget would
visit pages that change once a year every hour."""


def _reprice_site(site: SiteState, crawl: CrawlState, at: float) -> SiteState:
    if (
        not site.limit
        or at < site.priced_at + max(1.0, site.pages) / site.limit * DAY / REPRICINGS_PER_ROUND
    ):
        return site
    surcharge = max(1.0, price_for(site.curve, _visits_for_revisits(site)) / crawl.price)
    return replace(site, surcharge=to_single(surcharge), priced_at=at)


def is_overbooked(site: SiteState) -> bool:
    """Return whether the pages of *site* need more visits than politeness allows."""
    return bool(site.limit) and site.demand > _visits_for_revisits(site)


def _is_bound(site: SiteState) -> bool:
    return bool(site.limit) and site.demand >= 0.8 * _visits_for_revisits(site)


def _visits_for_revisits(site: SiteState) -> float:
    """Return the visits a day that politeness allows for revisits."""
    return site.limit * (1 - min(site.discovery, 1.0))


MAX_BUDGET_CHANGE = 0.1
"""The relative change of a budget up to which the price stays valid."""
MAX_SAVED_DAYS = 1.0
"""The days of budget that can be saved as tokens."""


def refill_tokens(crawl: CrawlState, now: float) -> CrawlState:
    """Add the tokens that were produced until *now*.

    If the clock was set back, production starts again at *now*.
    """
    if not crawl.tokens_at:
        return replace(crawl, tokens=1.0, tokens_at=now)
    produced = crawl.budget * max(0.0, now - crawl.tokens_at) / DAY
    limit = max(1.0, MAX_SAVED_DAYS * crawl.budget)
    # Rounded, so that 0.9999999 tokens are one token: otherwise the next token would never come.
    tokens = round(min(limit, crawl.tokens + produced), 6)
    return replace(crawl, tokens=tokens, tokens_at=now)


def next_token_at(crawl: CrawlState) -> float:
    """Return the time of the next token; a time in the past if there is one."""
    if not crawl.budget:
        return crawl.tokens_at
    return crawl.tokens_at + max(0.0, 1.0 - crawl.tokens) * DAY / crawl.budget


def set_budget(crawl: CrawlState, budget: float, now: float) -> CrawlState:
    """Set the budget from *now* on. The price is computed again if it changes by more than 10 %."""
    if budget != crawl.budget:
        crawl = refill_tokens(crawl, now)
    is_similar = abs(budget - crawl.budget) <= MAX_BUDGET_CHANGE * crawl.budget
    return replace(crawl, budget=budget, price=crawl.price if is_similar else 0.0)


def spend_token(crawl: CrawlState) -> CrawlState:
    """Spend a token, and count the visit."""
    tokens = max(0.0, crawl.tokens - 1.0) if crawl.budget else crawl.tokens
    return replace(crawl, tokens=tokens, visits=crawl.visits + 1)


def refund_token(crawl: CrawlState) -> CrawlState:
    """Return the token of a visit that was not made."""
    tokens = crawl.tokens + 1.0 if crawl.budget else crawl.tokens
    return replace(crawl, tokens=tokens, visits=max(0, crawl.visits - 1))
