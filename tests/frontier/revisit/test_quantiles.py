"""Credible intervals of a belief, compared with distributions of known quantiles."""

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.revisit.beliefs import (
    Belief,
    credible_interval,
    gamma_cdf,
    quantile,
)


@given(st.floats(0.001, 0.999), st.floats(1e-3, 1e4))
def test_shape_1_gives_the_exponential_distribution(below: float, days: float) -> None:
    assert quantile(Belief(1.0, days), below) == pytest.approx(-log(1 - below) / days, rel=1e-6)


@pytest.mark.parametrize(("shape", "x"), [(2, 0.1), (2, 3.0), (5, 4.0), (50, 60.0)])
def test_integer_shape_gives_the_sum_of_poisson_terms(shape: int, x: float) -> None:
    term, total = 1.0, 0.0
    for n in range(shape):
        total += term
        term *= x / (n + 1)
    assert gamma_cdf(shape, x) == pytest.approx(1 - exp(-x) * total, rel=1e-9)


@given(st.floats(0.05, 500), st.floats(1e-3, 1e4))
def test_larger_interval_is_wider_and_has_its_probability(shape: float, days: float) -> None:
    belief = Belief(shape, days)
    (low, high), (lower, higher) = credible_interval(belief, 0.5), credible_interval(belief, 0.9)
    assert lower < low < high < higher
    held = gamma_cdf(shape, higher * days) - gamma_cdf(shape, lower * days)
    assert held == pytest.approx(0.9, abs=1e-6)


def test_more_evidence_narrows_the_interval() -> None:
    low, high = credible_interval(Belief(0.5, 5.0))
    lower, higher = credible_interval(Belief(30.5, 305.0))
    assert high / low > 100 and higher / lower < 3
