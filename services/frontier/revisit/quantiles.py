"""How sure a belief is, for people: between which rates the true one lies most of the time.

A quantile of a Gamma distribution by bisection, and its distribution function by the series of the
incomplete gamma function (Abramowitz and Stegun, 6.5.29), whose terms are all positive.
"""

from math import exp, lgamma, log

from services.frontier.revisit.rates import Belief

STEPS = 60
EPSILON = 1e-12


def between(belief: Belief, share: float = 0.9) -> tuple[float, float]:
    """Return the changes a day below and above which the rate lies equally rarely, and between
    which it lies with the likelihood *share*."""
    rest = (1 - share) / 2
    return quantile(belief, rest), quantile(belief, 1 - rest)


def quantile(belief: Belief, below: float) -> float:
    """Return the changes a day below which the rate is with the likelihood *below*."""
    low, high = log(EPSILON) / min(belief.shape, 1.0), log(belief.shape + 40 + 10 * belief.shape)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if gamma_below(belief.shape, exp(middle)) < below else (low, middle)
        )
    return exp(low) / belief.days


def gamma_below(shape: float, x: float) -> float:
    """Return how likely a number of the Gamma distribution of *shape* and rate 1 is below *x*."""
    if x <= 0:
        return 0.0
    term = total = 1 / shape
    n = shape
    while term > total * EPSILON:
        n += 1
        term *= x / n
        total += term
    return min(1.0, total * exp(shape * log(x) - x - lgamma(shape)))
