"""What is believed of a page's change rate: a Gamma distribution, and the sums that go with it.

Only "changed or not since the last visit" is seen, at irregular intervals (Cho and Garcia-Molina,
*Estimating frequency of change*, 2003). Unchanged for t days multiplies the belief by exp(-rate t),
which a Gamma takes as it is. Changed multiplies it by 1 - exp(-rate t): the nearest Gamma, which
has the same mean and the same mean logarithm, takes its place. Rates are per day, times in days.
"""

from math import exp, expm1, log, log1p, sqrt
from typing import NamedTuple

from services.frontier.revisit.state import Rate


class Belief(NamedTuple):
    """A Gamma distribution of a rate."""

    shape: float
    days: float

    @property
    def mean(self) -> float:
        """The expected changes a day."""
        return self.shape / self.days

    @property
    def log_mean(self) -> float:
        """The expected logarithm of the rate."""
        return digamma(self.shape) - log(self.days)

    def unchanged(self, t: float) -> float:
        """Return how likely a page is as it was *t* days ago."""
        return exp(-self.shape * log1p(t / self.days))

    def after(self, unchanged: float) -> float:
        """Return after how many days a page is as it was with the likelihood *unchanged*."""
        return self.days * expm1(min(-log(unchanged) / self.shape, 50.0))

    def fresh(self, t: float) -> float:
        """Return for how many of the next *t* days the page is expected to stay as it is."""
        rest = self.shape - 1
        grown = log1p(t / self.days)
        if abs(rest) < 1e-6:
            return self.days * grown
        return -self.days / rest * expm1(-rest * grown)

    def age(self, t: float) -> float:
        """Return for how many days a copy that is renewed every *t* days has been out of date, on
        the average over time (Cho and Garcia-Molina 2003, section 2): t / 2 less the mean of what
        was fresh until then.
        """
        rest = self.shape - 1
        if abs(rest) < 1e-3:
            return Belief(self.shape + 2e-3, self.days).age(t)
        fresh = self.days / rest * (t - Belief(rest, self.days).fresh(t))
        return min(max(0.0, t / 2 - fresh / t), t / 2)

    def worth(self, t: float) -> float:
        """Return what a visit is worth when the last one was *t* days ago, in days of freshness.

        Visits at constant intervals are best where the next costs as much as it brings: fresh(t) -
        t unchanged(t). It grows with t towards 1 / rate: a page that changes faster than it is
        worth is never visited (Cho and Garcia-Molina, *Effective page refresh policies*, 2003).
        """
        return self.fresh(t) - t * self.unchanged(t)


def believed(prior: Belief, rate: Rate) -> Belief:
    """Return the belief after what was observed."""
    return Belief(prior.shape + rate.changes, prior.days + rate.exposure)


def after_unchanged(rate: Rate, t: float) -> Rate:
    """Return what is observed with a page unchanged for *t* days."""
    return Rate(rate.changes, rate.exposure + t)


def after_changed(rate: Rate, prior: Belief, t: float) -> Rate:
    """Return what is observed with a page that has changed, once or more, within *t* days."""
    shape, days = believed(prior, rate)
    grown = log1p(t / days)
    changed, more = -expm1(-shape * grown), -expm1(-(shape + 1) * grown)
    mean = shape / days * more / changed
    # Of the logarithm: the derivative of E[rate**s] at s = 0.
    log_mean = digamma(shape) - log(days) + (1 - changed) * grown / changed
    shape = shape_of(max(log(mean) - log_mean, 1e-4))
    return Rate(max(0.0, shape - prior.shape), max(0.0, shape / mean - prior.days))


def after_change_at(rate: Rate, t: float) -> Rate:
    """Return what is observed with a page whose last change is known to be *t* days old."""
    return Rate(rate.changes + 1, rate.exposure + t)


def faded(rate: Rate, factor: float) -> Rate:
    """Return *rate* with all that was observed counting by *factor*."""
    return Rate(rate.changes * factor, rate.exposure * factor)


LEAST_SHAPE, MOST_SHAPE = 0.15, 20.0
"""Of a prior: pages differ, but not without end."""


def fitted(mean: float, log_mean: float) -> Belief:
    """Return the Gamma with this mean and mean of logarithms, within bounds for a prior."""
    shape = shape_of(max(log(mean) - log_mean, 1e-3))
    shape = min(max(shape, LEAST_SHAPE), MOST_SHAPE)
    return Belief(shape, shape / mean)


def shape_of(gap: float) -> float:
    """Return the shape whose logarithm is *gap* above its digamma: Minka's guess, and Newton."""
    shape = (3 - gap + sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(2):
        error = log(shape) - digamma(shape) - gap
        shape /= 1 + error / (1 - shape * trigamma(shape))
    return shape


def digamma(x: float) -> float:
    """Return the digamma function of a positive number, to eight digits."""
    shift = 0.0
    while x < 6:
        shift -= 1 / x
        x += 1
    y = 1 / (x * x)
    return shift + log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y / 252))


def trigamma(x: float) -> float:
    """Return the derivative of the digamma function of a positive number, to eight digits."""
    shift = 0.0
    while x < 6:
        shift += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    return shift + 1 / x + y / 2 + y / x * (1 / 6 - y * (1 / 30 - y / 42))
