"""What is believed of a page's change rate: a Gamma distribution, and the sums that go with it.

Only "changed or not since the last visit" is seen, at irregular intervals (Cho and Garcia-Molina,
*Estimating frequency of change*, 2003). Unchanged for t days multiplies the belief by exp(-rate t),
which a Gamma takes as it is. Changed multiplies it by 1 - exp(-rate t): the nearest Gamma, which
has the same mean and the same mean logarithm, takes its place. Rates are per day, times in days.

[quantiles] How sure a belief is, for people: between which rates the true one lies most of the time.

A quantile of a Gamma distribution by bisection, and its distribution function by the series of the
incomplete gamma function (Abramowitz and Stegun, 6.5.29), whose terms are all positive.

[clock] Pages that change at regular times: when the next change is due, and when to look for it.

The time of the next change and the period are believed as two Gaussians that go together, and a
visit cuts them: changed, so it lay between the last visit and this one; unchanged, so it is still
to come (a Kalman filter whose observations are intervals). A visit is best where waiting costs as
much as it saves: a moment longer costs freshness if the change has happened, and saves a visit made
in vain if it has not. So a page is visited just after it changes, and a few visits on either side
of it narrow it down. Times are in days, instants in epoch seconds.

[expected] How fresh a page's copy will be, by what is believed: what a crawl knows without looking.
"""

from math import erf, exp, expm1, lgamma, log, log1p, pi, sqrt
from typing import NamedTuple

from msgspec.structs import replace

from services.frontier.revisit.state import DAY, Clock, PageState, Rate, to_single


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


def posterior(prior: Belief, rate: Rate) -> Belief:
    """Return the belief after what was observed."""
    return Belief(prior.shape + rate.changes, prior.days + rate.exposure)


def observe_unchanged(rate: Rate, t: float) -> Rate:
    """Return what is observed with a page unchanged for *t* days."""
    return Rate(rate.changes, rate.exposure + t)


def observe_changed(rate: Rate, prior: Belief, t: float) -> Rate:
    """Return what is observed with a page that has changed, once or more, within *t* days."""
    shape, days = posterior(prior, rate)
    grown = log1p(t / days)
    changed, more = -expm1(-shape * grown), -expm1(-(shape + 1) * grown)
    mean = shape / days * more / changed
    # Of the logarithm: the derivative of E[rate**s] at s = 0.
    log_mean = digamma(shape) - log(days) + (1 - changed) * grown / changed
    shape = shape_of(max(log(mean) - log_mean, 1e-4))
    return Rate(max(0.0, shape - prior.shape), max(0.0, shape / mean - prior.days))


def observe_change_at(rate: Rate, t: float) -> Rate:
    """Return what is observed with a page whose last change is known to be *t* days old."""
    return Rate(rate.changes + 1, rate.exposure + t)


def fade(rate: Rate, factor: float) -> Rate:
    """Return *rate* with all that was observed counting by *factor*."""
    return Rate(rate.changes * factor, rate.exposure * factor)


MIN_PRIOR_SHAPE, MAX_PRIOR_SHAPE = 0.15, 20.0
"""Of a prior: pages differ, but not without end."""


def fit_prior(mean: float, log_mean: float) -> Belief:
    """Return the Gamma with this mean and mean of logarithms, within bounds for a prior."""
    shape = shape_of(max(log(mean) - log_mean, 1e-3))
    shape = min(max(shape, MIN_PRIOR_SHAPE), MAX_PRIOR_SHAPE)
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


BISECTION_STEPS = 60
MIN_PROBABILITY = 1e-12


def credible_interval(belief: Belief, share: float = 0.9) -> tuple[float, float]:
    """Return the changes a day below and above which the rate lies equally rarely, and between
    which it lies with the likelihood *share*."""
    rest = (1 - share) / 2
    return quantile(belief, rest), quantile(belief, 1 - rest)


def quantile(belief: Belief, below: float) -> float:
    """Return the changes a day below which the rate is with the likelihood *below*."""
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
    """Return how likely a number of the Gamma distribution of *shape* and rate 1 is below *x*."""
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
"""Of a period: the least deviation that is reckoned with."""
CLOCK_ERROR_PROBABILITY = 0.05
"""How likely a page does not do what its clock says."""
MIN_LIKELIHOOD = 1e-3
"""A clock for which what happened was less likely than this is started anew."""
CLOCK_LEAD_FADE = 0.95
MIN_CLOCK_LEAD_NATS = 2.0
"""So many nats better than a rate without memory must a clock have predicted."""
MIN_PERIOD_DAYS = 1 / 144
"""Days: nobody visits a page more often than that."""
MAX_DEVIATION_SHARE = 0.3
"""Of a period: what a clock must be exact to."""


def observe_clock(clock: Clock, last_at: float, at: float, changed: bool, other: float) -> Clock:
    """Return *clock* after a visit *at* that followed one *last_at*; *other* is the logarithm of
    how likely what it saw was without a clock."""
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
    """Return a clock set by this change and the one before, if there was one."""
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
    """Return *clock* with the change between two standings, and turned on if it has happened."""
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
    """Return whether the page is to be visited by its clock."""
    sharp = sqrt(clock.spread) < MAX_DEVIATION_SHARE * clock.period
    return bool(clock.next_at) and clock.lead > MIN_CLOCK_LEAD_NATS and sharp


def best_visit_time(clock: Clock, price: float) -> float | None:
    """Return when a visit that costs *price* days of freshness is best; None: it is worth none."""
    if price >= clock.period:
        return None
    deviation = sqrt(clock.spread)
    low, high = -4.0, 5.0
    while high - low > 0.05:
        z = (low + high) / 2
        low, high = (z, high) if _normal_cdf(z) * deviation < price * _normal_pdf(z) else (low, z)
    return clock.next_at + high * deviation * DAY


def expected_staleness(clock: Clock, at: float) -> tuple[float, float]:
    """Return for how many days, expectedly, the next change lies behind *at*, and the square."""
    deviation = sqrt(clock.spread)
    z = (at - clock.next_at) / DAY / deviation
    below, density = _normal_cdf(z), _normal_pdf(z)
    days = deviation * (z * below + density)
    return max(0.0, days), max(0.0, clock.spread * ((z * z + 1) * below + z * density))


def _z_score(clock: Clock, at: float) -> float:
    """Return how many standard deviations *at* lies behind the expected change."""
    z = (at - clock.next_at) / DAY / sqrt(clock.spread)
    return min(max(z, -8.0), 8.0)


def _normal_cdf(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


def _normal_pdf(z: float) -> float:
    return exp(-z * z / 2) / sqrt(2 * pi)


HINT_DELAY_DAYS = 0.5
"""Days from a change that a site tells of to the visit that it brings: half of those between two
readings of a sitemap."""


def expected_freshness(
    page: PageState, belief: Belief, until: float, told: float = 0.0
) -> tuple[float, float]:
    """Return for which share of the time from its last visit *until* the next the page's copy is
    expected to be fresh, and for how many days it has been out of date, on the average over it.

    *told* are changes a day besides those of *belief*, of which is heard, and which bring a visit.
    """
    t = max(until - page.at, 1.0) / DAY
    if is_regular(page.clock):
        stale, squared = expected_staleness(page.clock, until)
        return 1 - min(stale / t, 1.0), min(squared / 2 / t, t)
    aware = 1 / (1 + told * HINT_DELAY_DAYS)
    return aware * belief.fresh(t) / t, aware * belief.age(t) + (1 - aware) * HINT_DELAY_DAYS / 2
