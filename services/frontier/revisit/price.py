"""How many visits a day all pages would ask for, at any price: the crawl's demand curve.

Pages that want the same at the same price share a cell: by their change rate over their weight, and
by how sure the rate is. A cell holds the sum of its pages' rates, so that one page is moved in
constant time, the curve is read from a few hundred cells however many pages there are, and curves
of several frontiers can be added.

[price] The price of a visit: the Lagrange multiplier of the budget, without a look at all pages.

Every page is visited when a visit is worth the price. The price is read from the crawl's demand
curve (`curve`), which each visit keeps right in constant time: where pages ask for as many visits
as the budget pays for. So a frontier of a fleet can do it with its own pages and its share of the
budget. Visits that come late, or are saved, move it a little: a loop that did it all by what was
spent would swing, since a page hears of a price at its next visit only.

Where the politeness of a site allows less than its pages ask for, a visit there has a surcharge: a
curve of the site's own pages says at which price they ask for what is allowed. What first visits
have of that is not theirs to ask for.

[budget] What a crawl may spend on revisits: a token a visit, which come evenly and are kept for a while.

The frontier takes the most overdue page when there is a token; so an outage of a week brings back
no more than what was saved of it, and what is due too early for the budget waits.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, floor, inf, log2

from msgspec.structs import replace

from services.frontier.revisit.beliefs import Belief
from services.frontier.revisit.state import (
    DAY,
    CrawlState,
    SiteState,
    States,
    clear_residue,
    to_single,
)

STEPS_PER_DOUBLING = 4
"""Cells to a doubling of the rate over the weight; prices have twice as many."""
SHAPES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 60.0)
"""How sure a rate is; the last place after these is for pages that are visited by their clock."""
CLOCK_PLACE = len(SHAPES)
PLACES = CLOCK_PLACE + 1
MIN_PRICE_STEP, MAX_PRICE_STEP = -20 * 2 * STEPS_PER_DOUBLING, 20 * 2 * STEPS_PER_DOUBLING
"""Prices that are looked at, in steps: a second to a thousand years."""

EVEN_SHARE = 0.01
"""The share of a budget that all partitions get alike."""

Curve = dict[int, float]


def cell_of(rate: float, shape: float | None, weight: float) -> int:
    """Return the cell of a page with *rate* changes a day; its shape is None if it has a clock."""
    step = round(STEPS_PER_DOUBLING * log2(max(rate / weight, 1e-9)))
    if shape is None:
        return step * PLACES + CLOCK_PLACE
    return step * PLACES + min(range(CLOCK_PLACE), key=lambda n: abs(log2(shape / SHAPES[n])))


def move_page(curve: Curve, page: tuple[int, float], to: tuple[int, float]) -> Curve:
    """Return the curve with a page moved from one cell to another, each with its rate there."""
    new = dict(curve)
    for (cell, rate), sign in ((page, -1), (to, 1)):
        if rate:
            new[cell] = clear_residue(new.get(cell, 0.0) + sign * rate)
            if not new[cell]:
                del new[cell]
    return new


def price_for(curve: Curve, budget: float) -> float:
    """Return the price at which pages ask for *budget* visits a day, in days of freshness."""
    low, high = MIN_PRICE_STEP, MAX_PRICE_STEP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if demand(curve, middle) > budget else (low, middle)
    more, less = demand(curve, low), demand(curve, high)
    part = (more - budget) / (more - less) if more > less else 0.0
    return float(2 ** ((low + min(max(part, 0.0), 1.0)) / (2 * STEPS_PER_DOUBLING)))


def split_budget(curves: Sequence[Curve], budget: float) -> list[float]:
    """Return the budget of each of several partitions: what its own curve asks for at the price
    at which all together ask for *budget* visits a day.

    They add up to *budget*. None is 0, which would mean no limit: a hundredth is shared evenly, so
    that a partition without pages can begin. Without any demand all of it is.
    """
    whole: Curve = {}
    for curve in curves:
        for cell, rate in curve.items():
            whole[cell] = whole.get(cell, 0.0) + rate
    price = 2 * STEPS_PER_DOUBLING * log2(price_for(whole, budget))
    asked = [_demand_between(curve, price) for curve in curves]
    total, even = sum(asked), 1 / len(curves) if curves else 0.0
    parts = [one / total if total else even for one in asked]
    return [budget * (EVEN_SHARE * even + (1 - EVEN_SHARE) * part) for part in parts]


def _demand_between(curve: Curve, price: float) -> float:
    low = floor(price)
    return demand(curve, low) + (price - low) * (demand(curve, low + 1) - demand(curve, low))


def demand(curve: Curve, price: int) -> float:
    """Return the visits a day that pages ask for at a price given in steps."""
    total = 0.0
    for cell, rate in curve.items():
        step, place = divmod(cell, PLACES)
        total += rate / _interval(price + 2 * step, place)
    return total


@lru_cache(maxsize=20_000)
def _interval(worth: int, place: int) -> float:
    """Return how many changes are expected between two visits where a visit must be *worth* so
    much, in steps of the time between two changes."""
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
"""Visits that are so late count as twice the budget."""
LATENESS_FADE = 0.98
REPRICINGS_PER_ROUND = 300.0
"""How often a round the price is read from the curve."""
MAX_TRIM = 0.25
"""What is saved of the budget, or late, moves what is allowed by up to e to this."""


def reprice(states: States, at: float) -> States:
    """Return what is known with price and surcharge after a visit that took place *at*."""
    page, site, crawl = states
    crawl = _reprice_crawl(crawl, at)
    return States(page, _reprice_site(site, crawl, at), crawl)


def ensure_price(states: States) -> States:
    """Return what is known with a price, if the crawl has none yet."""
    crawl = states.crawl
    return states if crawl.price else states._replace(crawl=_reprice_crawl(crawl, states.page.at))


def record_lateness(crawl: CrawlState, site: SiteState, due_at: float, at: float) -> CrawlState:
    """Return the crawl with a visit that was due, and took place *at*, in its lateness."""
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
"""Days of freshness: a quarter of an hour. What brings less is not visited however large the budget
is, or pages that change once a year would be visited each hour, as fast as their servers bear."""


def _reprice_site(site: SiteState, crawl: CrawlState, at: float) -> SiteState:
    if (
        not site.limit
        or at < site.priced_at + max(1.0, site.pages) / site.limit * DAY / REPRICINGS_PER_ROUND
    ):
        return site
    surcharge = max(1.0, price_for(site.curve, _allowed(site)) / crawl.price)
    return replace(site, surcharge=to_single(surcharge), priced_at=at)


def is_overbooked(site: SiteState) -> bool:
    """Return whether the pages of *site* ask for more visits than politeness allows."""
    return bool(site.limit) and site.demand > _allowed(site)


def _is_bound(site: SiteState) -> bool:
    return bool(site.limit) and site.demand >= 0.8 * _allowed(site)


def _allowed(site: SiteState) -> float:
    """Return the visits a day to pages that are known, for which politeness leaves room."""
    return site.limit * (1 - min(site.discovery, 1.0))


MAX_BUDGET_CHANGE = 0.1
"""Of a budget: by so much it may differ with the price as it is."""
MAX_SAVED_DAYS = 1.0
"""Days of the budget that are kept for later."""


def refill_tokens(crawl: CrawlState, now: float) -> CrawlState:
    """Return the crawl with the tokens that came until *now*; since *now*, where a clock that was
    ahead had it refilled later."""
    if not crawl.tokens_at:
        return replace(crawl, tokens=1.0, tokens_at=now)
    came = crawl.budget * max(0.0, now - crawl.tokens_at) / DAY
    most = max(1.0, MAX_SAVED_DAYS * crawl.budget)
    # Rounded: what is a token but for the last digits of a time is one, or nobody's time comes.
    tokens = round(min(most, crawl.tokens + came), 6)
    return replace(crawl, tokens=tokens, tokens_at=now)


def next_token_at(crawl: CrawlState) -> float:
    """Return when a visit may be paid for: the past if it may be now."""
    if not crawl.budget:
        return crawl.tokens_at
    return crawl.tokens_at + max(0.0, 1.0 - crawl.tokens) * DAY / crawl.budget


def set_budget(crawl: CrawlState, budget: float) -> CrawlState:
    """Return the crawl with another budget; much another one has its price read anew."""
    alike = abs(budget - crawl.budget) <= MAX_BUDGET_CHANGE * crawl.budget
    return replace(crawl, budget=budget, price=crawl.price if alike else 0.0)


def spend_token(crawl: CrawlState) -> CrawlState:
    """Return the crawl with one visit spent."""
    tokens = max(0.0, crawl.tokens - 1.0) if crawl.budget else crawl.tokens
    return replace(crawl, tokens=tokens, visits=crawl.visits + 1)


def refund_token(crawl: CrawlState) -> CrawlState:
    """Return the crawl with a visit not spent that was paid for."""
    tokens = crawl.tokens + 1.0 if crawl.budget else crawl.tokens
    return replace(crawl, tokens=tokens, visits=max(0, crawl.visits - 1))
