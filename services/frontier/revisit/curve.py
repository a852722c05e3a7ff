"""How many visits a day all pages would ask for, at any price: the crawl's demand curve.

Pages that want the same at the same price share a cell: by their change rate over their weight, and
by how sure the rate is. A cell holds the sum of its pages' rates, so that one page is moved in
constant time, the curve is read from a few hundred cells however many pages there are, and curves
of several frontiers can be added.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import floor, inf, log2

from services.frontier.revisit.numbers import settled
from services.frontier.revisit.rates import Belief

STEPS = 4
"""Cells to a doubling of the rate over the weight; prices have twice as many."""
SHAPES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 60.0)
"""How sure a rate is; the last place after these is for pages that are visited by their clock."""
CLOCK = len(SHAPES)
PLACES = CLOCK + 1
LEAST, MOST = -20 * 2 * STEPS, 20 * 2 * STEPS
"""Prices that are looked at, in steps: a second to a thousand years."""

EVEN = 0.01
"""The share of a budget that all partitions get alike."""

Curve = dict[int, float]


def cell_of(rate: float, shape: float | None, weight: float) -> int:
    """Return the cell of a page with *rate* changes a day; its shape is None if it has a clock."""
    step = round(STEPS * log2(max(rate / weight, 1e-9)))
    if shape is None:
        return step * PLACES + CLOCK
    return step * PLACES + min(range(CLOCK), key=lambda n: abs(log2(shape / SHAPES[n])))


def moved(curve: Curve, page: tuple[int, float], to: tuple[int, float]) -> Curve:
    """Return the curve with a page moved from one cell to another, each with its rate there."""
    new = dict(curve)
    for (cell, rate), sign in ((page, -1), (to, 1)):
        if rate:
            new[cell] = settled(new.get(cell, 0.0) + sign * rate)
            if not new[cell]:
                del new[cell]
    return new


def price_for(curve: Curve, budget: float) -> float:
    """Return the price at which pages ask for *budget* visits a day, in days of freshness."""
    low, high = LEAST, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if demand(curve, middle) > budget else (low, middle)
    more, less = demand(curve, low), demand(curve, high)
    part = (more - budget) / (more - less) if more > less else 0.0
    return float(2 ** ((low + min(max(part, 0.0), 1.0)) / (2 * STEPS)))


def shares(curves: Sequence[Curve], budget: float) -> list[float]:
    """Return the budget of each of several partitions: what its own curve asks for at the price
    at which all together ask for *budget* visits a day.

    They add up to *budget*. None is 0, which would mean no limit: a hundredth is shared evenly, so
    that a partition without pages can begin. Without any demand all of it is.
    """
    whole: Curve = {}
    for curve in curves:
        for cell, rate in curve.items():
            whole[cell] = whole.get(cell, 0.0) + rate
    price = 2 * STEPS * log2(price_for(whole, budget))
    asked = [_demand_between(curve, price) for curve in curves]
    total, even = sum(asked), 1 / len(curves) if curves else 0.0
    parts = [one / total if total else even for one in asked]
    return [budget * (EVEN * even + (1 - EVEN) * part) for part in parts]


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
    least = 2 ** (worth / (2 * STEPS))
    if place == CLOCK:
        return 1.0 if least < 1 else inf
    belief = Belief(SHAPES[place], SHAPES[place])
    if belief.worth(1e4) < least:
        return inf
    low, high = 1e-8, 1e4
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if belief.worth(middle) >= least else (middle, high)
    return low
