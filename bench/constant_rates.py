"""The best constant visit rates for a web with known change rates. For `bench.freshness`."""

from math import exp, expm1
from random import Random

from bench.revisiting import Result, Tally
from bench.webs import DAY, Page, Web


def best_rates(web: Web, budget: float) -> list[float]:
    """Return the visits a day of each page that are best at constant intervals, for memoryless
    changes at the true rates (Cho and Garcia-Molina 2003), within the budget and the delays."""
    limits = {site: DAY / delay for site, delay in web.delays.items()}
    sites: dict[str, list[int]] = {}
    for number, page in enumerate(web.pages):
        sites.setdefault(page.site, []).append(number)
    multipliers = {
        site: _multiplier(web, numbers, limits[site]) if site in limits else 0.0
        for site, numbers in sites.items()
    }
    low, high = 1e-9, 1e6
    while high > 1.0001 * low:
        price = (low * high) ** 0.5
        visits = sum(_rate(page, max(price, multipliers[page.site])) for page in web.pages)
        low, high = (price, high) if visits > budget else (low, price)
    return [_rate(page, max(high, multipliers[page.site])) for page in web.pages]


def _multiplier(web: Web, numbers: list[int], limit: float) -> float:
    low, high = 1e-9, 1e6
    while high > 1.0001 * low:
        price = (low * high) ** 0.5
        visits = sum(_rate(web.pages[n], price) for n in numbers)
        low, high = (price, high) if visits > limit else (low, price)
    return high


def _rate(page: Page, price: float) -> float:
    """Return the visits a day at which an additional one yields *price* days of freshness."""
    if not page.rate:
        return 0.0
    worth = price * page.rate / page.weight
    if worth >= 1:
        return 0.0
    low, high = 0.0, 60.0
    for _ in range(40):
        x = (low + high) / 2
        low, high = (x, high) if -expm1(-x) - x * exp(-x) < worth else (low, x)
    return page.rate / high


def constant(web: Web, rates: list[float], tally: Tally, seed: int) -> Result:
    """Return the result of visits at constant intervals with random phases."""
    random = Random(seed)
    for page, rate in zip(web.pages, rates, strict=True):
        at, interval = page.first, DAY / rate if rate else web.end
        until = at + random.random() * interval
        while at < web.end:
            tally.add(page, at, until)
            at, until = until, until + interval
    return tally.result()
