"""Completeness: how much of a crawl has been found, estimated from the overlaps of its visits.

The URLs that a crawl would find are like balls in an urn. Each link on a newly visited page draws
one of them. At first most drawn URLs are new; later most are known. The share of known ones
estimates the share of URLs that have been found, as the overlap of two catches estimates the number
of fish in a lake (capture and recapture; for crawls: Paris and others, *Estimating absolute web
crawl coverage from longitudinal set intersections*, arXiv 2603.15416).

**The model.** Let N be the number of URLs that links lead to, and D the number found so far. Of
the links on newly visited pages, a share s draws from all URLs:

    new URLs = links * s * (1 - D / N) ** b

- The other links, a share 1 - s, never find anything: menus that are repeated on all pages, and
  links back to the page before. So s needs no count of repeated links. It is estimated.
- Well-linked pages are found early, and the rest more slowly. If the numbers of links to pages have
  a gamma distribution of shape k, then b is exactly 1 + 1 / k. `EXPONENTS` has b = 1, for pages
  that are linked equally well, and b = 1.5, for k = 2.
- The newest two thirds of the visits are fitted as well as all visits. Hubs are found in the first
  third, so the newer visits resemble the future more.

**The rest of the crawl.** A page that no visited page links to is found only if its linking page is
visited. So each fitted curve is continued, visit by visit, until no URL waits. The result is the
total of the crawl, which may be smaller than N. If no URL waits now, everything has been found.

**The interval.** Each N, b and part of the curve is a hypothesis. Its weight is its likelihood,
with as much scatter as the best hypothesis leaves (quasi-Poisson), times a weak prior. `MISFIT`
widens the interval, because the model is not the Web. Future visits scatter, too. The estimate is
the weighted median, and the interval has the hypotheses between 5 and 95 %.

**Assumptions, and when they fail.**

- The rest of the crawl is linked like its visited part. A crawl that follows chains of pages, or
  goes down a tree, finds new URLs at a constant rate until it suddenly ends. No count can foresee
  that: its estimated total is too low, and its interval is wide and still too narrow.
- A trap is endless, so a crawl inside one is never complete. That is true, but of no use: the
  estimate is about the crawl as its limits admit it, not about its honest pages.
- Seeds and the entries of sitemaps are found, but they are not drawn. They count from the start.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import exp, log, sqrt
from typing import NamedTuple

from msgspec import Struct

from services.frontier.tables.harvest import HarvestPoint

MIN_VISITS = 20
"""Minimum number of first visits for an estimate."""
EXPONENTS = (1.0, 1.5)
"""Hypotheses of b: how much slower the less linked pages are found."""
PARTS = (1.0, 2 / 3)
"""Shares of the visits, the newest ones, to which the model is fitted."""
SHARES = tuple(1 / (1 + exp(-step / 8)) for step in range(-32, 57, 2))
"""Hypotheses of D / N: from 2 % to 99.9 %, equally spaced in log odds."""
MISFIT = 2.0
"""Factor of the scatter in the likelihood, since the model is not the Web."""
DEVIATIONS = (-1.6, -0.8, 0.0, 0.8, 1.6)
"""Deviations of the future from its expectation, in standard deviations."""
INTERVAL = (0.05, 0.95)
STEP = 0.1
"""The share of the waiting URLs that one step of a continued curve visits."""
MIN_WEIGHT = 1e-4
"""Minimum share of all weights for which a hypothesis counts."""
SMALLEST = 1e-9


class Share(Struct, frozen=True):
    """An estimated share, from 0 to 1."""

    value: float
    low: float
    """The lower end of the 90 % interval."""
    high: float
    """The upper end of the 90 % interval."""


class Completeness(Struct, frozen=True):
    """How much of a crawl has been found and visited. All are estimates."""

    found: Share
    """URLs found, as a share of all that the crawl would find."""
    visited: Share
    """URLs visited, as a share of all that the crawl would find."""
    total: int
    """The number of URLs that the crawl would find."""


class _Sample(NamedTuple):
    """The visits of one point, and the URLs that were found until then."""

    visits: int
    links: int
    found: int
    known: float


class _Hypothesis(NamedTuple):
    """A curve that is fitted to samples."""

    size: float
    """URLs that links lead to."""
    exponent: float
    per_visit: float
    """Draws on a page."""
    prior: float
    fit: float
    """The logarithm of the likelihood."""
    scatter: float
    """The squared deviations, divided by the expectation."""


def estimate(points: Sequence[HarvestPoint], admitted: int, waiting: int) -> Completeness | None:
    """Return the completeness of a crawl; None if there are too few visits to estimate it.

    *admitted*: URLs that were found, and *waiting*: those of them that wait for a first visit. The
    others were visited, or will not be: robots.txt forbids them, or they are parked.
    """
    visited = min(admitted, sum(point.first_visits for point in points))
    if admitted and waiting <= 0:
        share = visited / admitted
        return Completeness(Share(1.0, 1.0, 1.0), Share(share, share, share), admitted)
    if not admitted or visited < MIN_VISITS:
        return None
    futures = sorted(
        future
        for part in PARTS
        for future in _futures(_newest(_samples(points, admitted), part), admitted, waiting)
    )
    total = sum(weight for _, weight in futures)
    low, middle, high = (
        _quantile(futures, share * total) for share in (INTERVAL[0], 0.5, INTERVAL[1])
    )
    # Few URLs still to be found are the upper end of the share that is found.
    found = Share(*(admitted / (admitted + more) for more in (middle, high, low)))
    # A factor of at most 1: rounding makes no share larger than what is found.
    part_visited = visited / admitted
    shares = (share * part_visited for share in (found.value, found.low, found.high))
    return Completeness(found, Share(*shares), admitted + middle)


def _samples(points: Sequence[HarvestPoint], admitted: int) -> list[_Sample]:
    start = max(0, admitted - sum(point.found for point in points))
    before = accumulate((point.found for point in points), initial=start)
    return [
        _Sample(point.first_visits, point.links, point.found, known + point.found / 2)
        for point, known in zip(points, before, strict=False)
    ]


def _newest(samples: list[_Sample], part: float) -> list[_Sample]:
    """Return the samples after the first visits that are not in the newest *part*."""
    skipped = (1 - part) * sum(sample.visits for sample in samples)
    done = accumulate(sample.visits for sample in samples)
    newest = [sample for sample, count in zip(samples, done, strict=True) if count > skipped]
    return newest if sum(sample.visits for sample in newest) else samples


def _futures(samples: list[_Sample], admitted: int, waiting: int) -> Iterator[tuple[int, float]]:
    """Yield the number of URLs that will still be found, with the weight of this number."""
    found = [_fit(samples, admitted, share, exponent) for exponent in EXPONENTS for share in SHARES]
    best = max(found, key=lambda one: one.fit)
    scatter = max(1.0, best.scatter / max(1, len(samples) - 3))
    weights = [exp((one.fit - best.fit) / (scatter * MISFIT)) * one.prior for one in found]
    total = sum(weights)
    for one, weight in zip(found, weights, strict=True):
        if weight > MIN_WEIGHT * total:
            expected = _continue_curve(one, admitted, waiting)
            for deviations in DEVIATIONS:
                more = max(0, round(expected + deviations * sqrt(scatter * expected)))
                yield more, weight / total * exp(-(deviations**2) / 2)


def _fit(samples: list[_Sample], admitted: int, share: float, exponent: float) -> _Hypothesis:
    """Return the curve by which *admitted* is this *share* of all URLs that links lead to."""
    size = admitted / share
    draws = [one.links * (1 - min(1.0, one.known / size)) ** exponent for one in samples]
    drawing = min(1.0, sum(one.found for one in samples) / max(sum(draws), SMALLEST))
    fit = scatter = 0.0
    for sample, links in zip(samples, draws, strict=True):
        expected = max(drawing * links, SMALLEST)
        fit += sample.found * log(expected) - expected
        scatter += (sample.found - expected) ** 2 / max(expected, 0.5)
    visits = max(1, sum(one.visits for one in samples))
    per_visit = drawing * sum(one.links for one in samples) / visits
    return _Hypothesis(size, exponent, per_visit, sqrt(share * (1 - share)), fit, scatter)


def _continue_curve(curve: _Hypothesis, admitted: int, waiting: int) -> float:
    """Return how many URLs will be found until none waits, if *curve* goes on."""
    more, left = 0.0, float(waiting)
    while left >= 1:
        visits = max(1.0, STEP * left)
        share = max(0.0, 1 - (admitted + more) / curve.size)
        new = visits * curve.per_visit * share**curve.exponent
        new = min(new, max(0.0, curve.size - admitted - more))
        more, left = more + new, left + new - visits
    return more


def _quantile(weighted: list[tuple[int, float]], at: float) -> int:
    """Return the value at which the weights of the sorted *weighted* values reach *at*."""
    reached = accumulate(weight for _, weight in weighted)
    found = (value for (value, _), total in zip(weighted, reached, strict=True) if total >= at)
    return next(found, weighted[-1][0])
