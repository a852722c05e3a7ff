"""Pages that change at regular times: when the next change is due, and when to look for it.

The time of the next change and the period are believed as two Gaussians that go together, and a
visit cuts them: changed, so it lay between the last visit and this one; unchanged, so it is still
to come (a Kalman filter whose observations are intervals). A visit is best where waiting costs as
much as it saves: a moment longer costs freshness if the change has happened, and saves a visit made
in vain if it has not. So a page is visited just after it changes, and a few visits on either side
of it narrow it down. Times are in days, instants in epoch seconds.
"""

from math import erf, exp, log, pi, sqrt

from msgspec.structs import replace

from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.state import DAY, Clock

IRREGULAR = 0.02
"""Of a period: the least deviation that is reckoned with."""
ERROR = 0.05
"""How likely a page does not do what its clock says."""
SURPRISE = 1e-3
"""A clock for which what happened was less likely than this is started anew."""
LEAD_FADE = 0.95
REGULAR_LEAD = 2.0
"""So many nats better than a rate without memory must a clock have predicted."""
SHORTEST_PERIOD = 1 / 144
"""Days: nobody visits a page more often than that."""
SHARP = 0.3
"""Of a period: what a clock must be exact to."""


def ticked(clock: Clock, last_at: float, at: float, changed: bool, other: float) -> Clock:
    """Return *clock* after a visit *at* that followed one *last_at*; *other* is the logarithm of
    how likely what it saw was without a clock."""
    if clock.next_at:
        low, high = _standing(clock, last_at), _standing(clock, at)
        before, after = _below(high) - _below(low), 1 - _below(high)
        likely = (before if changed else after) / max(before + after, 1e-12)
        lead = clock.lead * LEAD_FADE + log((1 - ERROR) * likely + ERROR / 2) - other
        clock = replace(clock, lead=rounded(min(max(lead, -5.0), 20.0)))
        if likely > SURPRISE and before + after > SURPRISE:
            return _cut(clock, low, high, at) if changed else _cut(clock, high, 8.0, 0.0)
        clock = replace(clock, next_at=0.0, lead=min(clock.lead / 2, 0.0))
    return _started(clock, last_at, at) if changed else clock


def _started(clock: Clock, last_at: float, at: float) -> Clock:
    """Return a clock set by this change and the one before, if there was one."""
    middle, width = (last_at + at) / 2, (at - last_at) / DAY
    new = replace(clock, seen_at=float(round(middle)), width=rounded(width))
    if not clock.seen_at:
        return new
    period = max((middle - clock.seen_at) / DAY, SHORTEST_PERIOD)
    spread, before = width * width / 12, clock.width * clock.width / 12
    return replace(
        new,
        next_at=float(round(middle + period * DAY)),
        period=rounded(period),
        spread=rounded(4 * spread + before + (IRREGULAR * period) ** 2),
        shared=rounded(2 * spread + before),
        period_spread=rounded(spread + before),
    )


def _cut(clock: Clock, low: float, high: float, changed_at: float) -> Clock:
    """Return *clock* with the change between two standings, and turned on if it has happened."""
    mass = max(_below(high) - _below(low), 1e-12)
    left, right = _density(low), _density(high)
    mean = (left - right) / mass
    share = 1 + (low * left - high * right) / mass - mean * mean
    share = min(max(share, 1e-3), 1.0)
    deviation, gain = sqrt(clock.spread), clock.shared / clock.spread
    next_at = clock.next_at + mean * deviation * DAY
    period = max(clock.period + gain * mean * deviation, SHORTEST_PERIOD)
    spread, shared = clock.spread * share, clock.shared * share
    period_spread = max(clock.period_spread - gain * gain * (clock.spread - spread), 1e-12)
    if changed_at:
        seen_at = next_at
        spread += 2 * shared + period_spread + (IRREGULAR * period) ** 2
        shared += period_spread
        next_at += period * DAY
        if (skipped := (changed_at - next_at) / (period * DAY)) >= 0:
            next_at += (int(skipped) + 1) * period * DAY
            spread += (int(skipped) + 1) * period_spread
        width = sqrt(12 * clock.spread * share)
        clock = replace(clock, seen_at=float(round(seen_at)), width=rounded(width))
    return replace(
        clock,
        next_at=float(round(next_at)),
        period=rounded(period),
        spread=rounded(spread),
        shared=rounded(shared),
        period_spread=rounded(period_spread),
    )


def is_regular(clock: Clock) -> bool:
    """Return whether the page is to be visited by its clock."""
    sharp = sqrt(clock.spread) < SHARP * clock.period
    return bool(clock.next_at) and clock.lead > REGULAR_LEAD and sharp


def look_at(clock: Clock, price: float) -> float | None:
    """Return when a visit that costs *price* days of freshness is best; None: it is worth none."""
    if price >= clock.period:
        return None
    deviation = sqrt(clock.spread)
    low, high = -4.0, 5.0
    while high - low > 0.05:
        z = (low + high) / 2
        low, high = (z, high) if _below(z) * deviation < price * _density(z) else (low, z)
    return clock.next_at + high * deviation * DAY


def overdue(clock: Clock, at: float) -> tuple[float, float]:
    """Return for how many days, expectedly, the next change lies behind *at*, and the square."""
    deviation = sqrt(clock.spread)
    z = (at - clock.next_at) / DAY / deviation
    below, density = _below(z), _density(z)
    days = deviation * (z * below + density)
    return max(0.0, days), max(0.0, clock.spread * ((z * z + 1) * below + z * density))


def _standing(clock: Clock, at: float) -> float:
    """Return how many standard deviations *at* lies behind the expected change."""
    z = (at - clock.next_at) / DAY / sqrt(clock.spread)
    return min(max(z, -8.0), 8.0)


def _below(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


def _density(z: float) -> float:
    return exp(-z * z / 2) / sqrt(2 * pi)
