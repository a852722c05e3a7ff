"""Beliefs about change rates: estimation, and the worth of a visit."""

from math import exp, expm1, log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.revisit.beliefs import (
    Belief,
    digamma,
    fit_prior,
    observe_changed,
    observe_unchanged,
    posterior,
)
from gossamer.services.frontier.revisit.optimal import (
    MAX_INTERVAL_DAYS,
    MIN_INTERVAL_DAYS,
    worthwhile_interval,
)
from gossamer.services.frontier.revisit.state import Rate

PRIOR = Belief(0.5, 5.0)
shapes, days, times = st.floats(0.05, 500), st.floats(1e-3, 1e4), st.floats(1e-4, 1e3)


def test_rate_is_estimated_from_irregular_visits() -> None:
    for true in (0.02, 0.3, 4.0):
        random, rate = Random(1), Rate()
        for _ in range(400):
            t = random.uniform(0.1, 2.0) / true
            changed = random.random() < -expm1(-true * t)
            rate = observe_changed(rate, PRIOR, t) if changed else observe_unchanged(rate, t)
        belief = posterior(PRIOR, rate)
        assert belief.mean == pytest.approx(true, rel=0.25)
        assert belief.shape > 20


@given(shapes, days, times)
def test_change_raises_the_rate_and_its_absence_lowers_it(
    shape: float, spent: float, t: float
) -> None:
    prior = Belief(shape, spent)
    assert posterior(prior, observe_unchanged(Rate(), t)).mean <= prior.mean
    assert posterior(prior, observe_changed(Rate(), prior, t)).mean >= prior.mean * 0.999


@given(st.floats(0.01, 10), st.floats(0.01, 100))
def test_worth_of_a_certain_belief_matches_that_of_its_rate(rate: float, t: float) -> None:
    sure = Belief(1e7, 1e7 / rate)
    states = -expm1(-rate * t) / rate - t * exp(-rate * t)
    assert sure.worth(t) == pytest.approx(states, rel=1e-3, abs=1e-6)


@given(shapes, days, times, times)
def test_worth_of_a_visit_grows_with_the_interval(
    shape: float, spent: float, t: float, longer: float
) -> None:
    belief = Belief(shape, spent)
    assert belief.worth(t + longer) >= belief.worth(t) - 1e-6 * (t + longer)


@given(shapes, days, st.floats(1e-4, 100))
def test_interval_grows_with_the_price(shape: float, spent: float, price: float) -> None:
    belief = Belief(shape, spent)
    assert (
        MIN_INTERVAL_DAYS
        <= worthwhile_interval(belief, price)
        <= worthwhile_interval(belief, 2 * price)
        <= MAX_INTERVAL_DAYS
    )


def test_page_that_changes_too_fast_gets_the_longest_interval() -> None:
    price = 0.1  # days of freshness
    waits = [
        worthwhile_interval(Belief(1e6, 1e6 / rate), price) for rate in (0.01, 0.1, 1.0, 5.0, 20.0)
    ]
    assert waits[0] > waits[1] > waits[2] < MAX_INTERVAL_DAYS
    assert waits[-1] == MAX_INTERVAL_DAYS


def test_prior_is_fitted_to_means() -> None:
    for belief in (Belief(0.3, 2.0), Belief(1.0, 0.1), Belief(8.0, 40.0)):
        found = fit_prior(belief.mean, belief.log_mean)
        assert found.shape == pytest.approx(belief.shape, rel=0.02)
        assert found.mean == pytest.approx(belief.mean)
    assert digamma(1.0) == pytest.approx(-0.5772156649)
    assert digamma(0.2) == pytest.approx(digamma(1.2) - 5)
    assert log(2) > 0
