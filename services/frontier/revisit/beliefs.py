"""Beliefs about when a page changes: Gamma distributions of rates, and clocks.

**Rates.** A visit shows only whether the page has changed since the last one, and visits come at
irregular intervals (Cho and Garcia-Molina, *Estimating frequency of change*, 2003). No change in t
days multiplies the belief by exp(-rate t), and the result is a Gamma distribution again. A change
multiplies it by 1 - exp(-rate t). The result is replaced by the Gamma distribution with the same
mean and the same mean logarithm. Rates are in changes a day, times in days.

**Clocks.** Some pages change at regular times. The time of the next change and the period are two
correlated Gaussian variables. A visit truncates them: if the page has changed, the change lies
between the last visit and this one; if not, it is still to come (a Kalman filter whose observations
are intervals). The best time for a visit is when waiting longer costs as much freshness as it saves
visits in vain. So a page is visited just after its change, and a few visits around it narrow the
estimate. Durations are in days, times in seconds since 1970.
"""

from math import erf, exp, expm1, lgamma, log, log1p, pi, sqrt
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.services.frontier.revisit.state import DAY, Clock, PageState, Rate, to_single


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
        """Return the probability that the page has not changed in *t* days."""
        return exp(-self.shape * log1p(t / self.days))

    def after(self, unchanged: float) -> float:
        """Return the days after which the page is unchanged with probability *unchanged*."""
        return self.days * expm1(min(-log(unchanged) / self.shape, 50.0))

    def fresh(self, t: float) -> float:
        """Return the expected days until the first change, at most *t*."""
        rest = self.shape - 1
        grown = log1p(t / self.days)
        if abs(rest) < 1e-6:
            return self.days * grown
        return -self.days / rest * expm1(-rest * grown)

    def age(self, t: float) -> float:
        """Return the mean age in days of a copy that is renewed every *t* days.

        The age is the time since the copy stopped being fresh (Cho and Garcia-Molina 2003, section
        2): t / 2 minus the mean of the fresh time.
        """
        rest = self.shape - 1
        if abs(rest) < 1e-3:
            return Belief(self.shape + 2e-3, self.days).age(t)
        fresh = self.days / rest * (t - Belief(rest, self.days).fresh(t))
        return min(max(0.0, t / 2 - fresh / t), t / 2)

    def worth(self, t: float) -> float:
        """Return the value of a visit *t* days after the last one, in days of freshness.

        It is fresh(t) - t unchanged(t), the marginal freshness of visits at constant intervals. It
        grows with t towards 1 / rate, so a page that changes too fast for its price is never
        visited (Cho and Garcia-Molina, *Effective page refresh policies*, 2003).
        """
        return self.fresh(t) - t * self.unchanged(t)


def posterior(prior: Belief, rate: Rate) -> Belief:
    """Return the belief that follows from *prior* and the observations in *rate*."""
    return Belief(prior.shape + rate.changes, prior.days + rate.exposure)


def observe_unchanged(rate: Rate, t: float) -> Rate:
    """Add to *rate* that the page did not change in *t* days."""
    return Rate(rate.changes, rate.exposure + t)


def observe_changed(rate: Rate, prior: Belief, t: float) -> Rate:
    """Add to *rate* that the page changed at least once in *t* days."""
    shape, days = posterior(prior, rate)
    grown = log1p(t / days)
    changed, more = -expm1(-shape * grown), -expm1(-(shape + 1) * grown)
    mean = shape / days * more / changed
    # The mean logarithm is the derivative of E[rate**s] at s = 0.
    log_mean = digamma(shape) - log(days) + (1 - changed) * grown / changed
    shape = shape_of(max(log(mean) - log_mean, 1e-4))
    return Rate(max(0.0, shape - prior.shape), max(0.0, shape / mean - prior.days))


def observe_change_at(rate: Rate, t: float) -> Rate:
    """Add to *rate* that the last change happened *t* days before the visit."""
    return Rate(rate.changes + 1, rate.exposure + t)


def fade(rate: Rate, factor: float) -> Rate:
    """Multiply the weight of all observations in *rate* by *factor*."""
    return Rate(rate.changes * factor, rate.exposure * factor)


MIN_PRIOR_SHAPE, MAX_PRIOR_SHAPE = 0.15, 20.0
"""Bounds for the shape of a prior: pages differ, but within limits."""


def fit_prior(mean: float, log_mean: float) -> Belief:
    """Return the Gamma distribution with *mean* and mean logarithm *log_mean*.

    Its shape is limited to the bounds of a prior.
    """
    shape = shape_of(max(log(mean) - log_mean, 1e-3))
    shape = min(max(shape, MIN_PRIOR_SHAPE), MAX_PRIOR_SHAPE)
    return Belief(shape, shape / mean)


def shape_of(gap: float) -> float:
    """Return the shape for which log(shape) - digamma(shape) is *gap*.

    Minka's approximation, refined by two Newton steps.
    """
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


BISECTION_STEPS = 60
MIN_PROBABILITY = 1e-12


def credible_interval(belief: Belief, share: float = 0.9) -> tuple[float, float]:
    """Return the central interval, in changes a day, that contains the rate with probability
    *share*."""
    rest = (1 - share) / 2
    return quantile(belief, rest), quantile(belief, 1 - rest)


def quantile(belief: Belief, below: float) -> float:
    """Return the changes a day that the rate does not reach with probability *below*."""
    low, high = (
        log(MIN_PROBABILITY) / min(belief.shape, 1.0),
        log(belief.shape + 40 + 10 * belief.shape),
    )
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if gamma_cdf(belief.shape, exp(middle)) < below else (low, middle)
        )
    return exp(low) / belief.days


def gamma_cdf(shape: float, x: float) -> float:
    """Return the distribution function at *x* of the Gamma distribution with *shape* and rate 1.

    The series of the incomplete gamma function (Abramowitz and Stegun, 6.5.29): all terms are
    positive.
    """
    if x <= 0:
        return 0.0
    term = total = 1 / shape
    n = shape
    while term > total * MIN_PROBABILITY:
        n += 1
        term *= x / n
        total += term
    return min(1.0, total * exp(shape * log(x) - x - lgamma(shape)))


MIN_DEVIATION_SHARE = 0.02
"""The minimum standard deviation of a change, as a fraction of the period."""
CLOCK_ERROR_PROBABILITY = 0.05
"""The probability that a page does not follow its clock at one visit."""
MIN_LIKELIHOOD = 1e-3
"""A clock that gave an observation a lower probability is reset."""
CLOCK_LEAD_FADE = 0.95
"""The factor of a clock's lead at each visit."""
MIN_CLOCK_LEAD_NATS = 2.0
"""A clock is used if its predictions were better than those of a rate by this lead."""
MIN_PERIOD_DAYS = 1 / 144
"""The shortest period, in days: ten minutes, the shortest interval between visits."""
MAX_DEVIATION_SHARE = 0.3
"""A clock is used if its deviation is below this fraction of the period."""


def observe_clock(clock: Clock, last_at: float, at: float, changed: bool, other: float) -> Clock:
    """Update *clock* by a visit at *at*; the visit before was at *last_at*.

    *other* is the logarithm of the probability that the best rate gave to the observation.
    """
    if clock.next_at:
        low, high = _z_score(clock, last_at), _z_score(clock, at)
        before, after = _normal_cdf(high) - _normal_cdf(low), 1 - _normal_cdf(high)
        likely = (before if changed else after) / max(before + after, 1e-12)
        lead = (
            clock.lead * CLOCK_LEAD_FADE
            + log((1 - CLOCK_ERROR_PROBABILITY) * likely + CLOCK_ERROR_PROBABILITY / 2)
            - other
        )
        clock = replace(clock, lead=to_single(min(max(lead, -5.0), 20.0)))
        if likely > MIN_LIKELIHOOD and before + after > MIN_LIKELIHOOD:
            return (
                _condition_clock(clock, low, high, at)
                if changed
                else _condition_clock(clock, high, 8.0, 0.0)
            )
        clock = replace(clock, next_at=0.0, lead=min(clock.lead / 2, 0.0))
    return _start_clock(clock, last_at, at) if changed else clock


def _start_clock(clock: Clock, last_at: float, at: float) -> Clock:
    """Return a clock set by this change and by the change before, if there was one."""
    middle, width = (last_at + at) / 2, (at - last_at) / DAY
    new = replace(clock, seen_at=float(round(middle)), width=to_single(width))
    if not clock.seen_at:
        return new
    period = max((middle - clock.seen_at) / DAY, MIN_PERIOD_DAYS)
    spread, before = width * width / 12, clock.width * clock.width / 12
    return replace(
        new,
        next_at=float(round(middle + period * DAY)),
        period=to_single(period),
        spread=to_single(4 * spread + before + (MIN_DEVIATION_SHARE * period) ** 2),
        shared=to_single(2 * spread + before),
        period_spread=to_single(spread + before),
    )


def _condition_clock(clock: Clock, low: float, high: float, changed_at: float) -> Clock:
    """Condition *clock* on a change between the z-scores *low* and *high*.

    *changed_at* is the visit that found the change, or 0 if the change is still to come. After a
    change the clock advances to the next one.
    """
    mass = max(_normal_cdf(high) - _normal_cdf(low), 1e-12)
    left, right = _normal_pdf(low), _normal_pdf(high)
    mean = (left - right) / mass
    share = 1 + (low * left - high * right) / mass - mean * mean
    share = min(max(share, 1e-3), 1.0)
    deviation, gain = sqrt(clock.spread), clock.shared / clock.spread
    next_at = clock.next_at + mean * deviation * DAY
    period = max(clock.period + gain * mean * deviation, MIN_PERIOD_DAYS)
    spread, shared = clock.spread * share, clock.shared * share
    period_spread = max(clock.period_spread - gain * gain * (clock.spread - spread), 1e-12)
    if changed_at:
        seen_at = next_at
        spread += 2 * shared + period_spread + (MIN_DEVIATION_SHARE * period) ** 2
        shared += period_spread
        next_at += period * DAY
        if (skipped := (changed_at - next_at) / (period * DAY)) >= 0:
            next_at += (int(skipped) + 1) * period * DAY
            spread += (int(skipped) + 1) * period_spread
        width = sqrt(12 * clock.spread * share)
        clock = replace(clock, seen_at=float(round(seen_at)), width=to_single(width))
    return replace(
        clock,
        next_at=float(round(next_at)),
        period=to_single(period),
        spread=to_single(spread),
        shared=to_single(shared),
        period_spread=to_single(period_spread),
    )


def is_regular(clock: Clock) -> bool:
    """Return whether *clock* is exact enough to plan visits."""
    sharp = sqrt(clock.spread) < MAX_DEVIATION_SHARE * clock.period
    return bool(clock.next_at) and clock.lead > MIN_CLOCK_LEAD_NATS and sharp


def best_visit_time(clock: Clock, price: float) -> float | None:
    """Return the best time for a visit that costs *price* days of freshness.

    None if no visit is worth the price.
    """
    if price >= clock.period:
        return None
    deviation = sqrt(clock.spread)
    low, high = -4.0, 5.0
    while high - low > 0.05:
        z = (low + high) / 2
        low, high = (z, high) if _normal_cdf(z) * deviation < price * _normal_pdf(z) else (low, z)
    return clock.next_at + high * deviation * DAY


def expected_staleness(clock: Clock, at: float) -> tuple[float, float]:
    """Return the expected days from the next change to *at*, and their expected square."""
    deviation = sqrt(clock.spread)
    z = (at - clock.next_at) / DAY / deviation
    below, density = _normal_cdf(z), _normal_pdf(z)
    days = deviation * (z * below + density)
    return max(0.0, days), max(0.0, clock.spread * ((z * z + 1) * below + z * density))


def _z_score(clock: Clock, at: float) -> float:
    """Return by how many standard deviations *at* is later than the expected change."""
    z = (at - clock.next_at) / DAY / sqrt(clock.spread)
    return min(max(z, -8.0), 8.0)


def _normal_cdf(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


def _normal_pdf(z: float) -> float:
    return exp(-z * z / 2) / sqrt(2 * pi)


HINT_DELAY_DAYS = 0.5
"""The mean delay, in days, from a change that a site announces to the visit that follows: half
the time between two visits to a sitemap."""


def expected_freshness(
    page: PageState, belief: Belief, until: float, announced: float = 0.0
) -> tuple[float, float]:
    """Return the expected freshness (0 to 1) and the mean age in days of the page's copy.

    Both are means from the last visit to the next, at *until*. *announced* is the number of changes
    a day that the site announces, each of which causes a visit. They are not part of *belief*.
    """
    t = max(until - page.at, 1.0) / DAY
    if is_regular(page.clock):
        stale, squared = expected_staleness(page.clock, until)
        return 1 - min(stale / t, 1.0), min(squared / 2 / t, t)
    aware = 1 / (1 + announced * HINT_DELAY_DAYS)
    return aware * belief.fresh(t) / t, aware * belief.age(t) + (1 - aware) * HINT_DELAY_DAYS / 2
