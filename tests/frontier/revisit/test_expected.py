"""Expected freshness and age match the measured ones."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.revisiting import Crawl, Tally
from bench.webs import WEBS
from gossamer.services.frontier.revisit import PageState, make_policy
from gossamer.services.frontier.revisit.beliefs import Belief, expected_freshness
from gossamer.services.frontier.revisit.state import DAY, Clock

shapes, days, times = st.floats(0.05, 500), st.floats(1e-3, 1e4), st.floats(1e-3, 1e3)


def integral(belief: Belief, t: float, steps: int = 4000) -> float:
    """Return the mean age by its definition, as a numerical integral."""
    width = t / steps
    middles = ((n + 0.5) * width for n in range(steps))
    return sum((1 - belief.unchanged(u)) * (t - u) for u in middles) * width / t


@given(st.sampled_from((0.3, 0.9999, 1.0, 1.0005, 1.7, 2.0, 2.0001, 30.0)), days, times)
def test_age_matches_its_integral(shape: float, spent: float, t: float) -> None:
    belief = Belief(shape, spent)
    assert belief.age(t) == pytest.approx(integral(belief, t), rel=0.02, abs=0.002 * t)


@given(shapes, days, times)
def test_age_grows_with_the_interval(shape: float, spent: float, t: float) -> None:
    belief = Belief(shape, spent)
    assert 0 <= belief.age(t) <= t / 2
    # Large numbers that are nearly equal are taken from each other: a millisecond is not seen.
    assert belief.age(t) <= belief.age(1.5 * t) + 1e-6 * t + 1e-8


@given(st.floats(0.01, 10), st.floats(0.05, 50))
def test_freshness_and_age_of_a_certain_rate_match_cho_and_garcia_molina(
    rate: float, t: float
) -> None:
    sure, x = Belief(1e6, 1e6 / rate), rate * t
    fresh, age = expected_freshness(PageState(at=1e9), sure, 1e9 + t * DAY)
    assert fresh == pytest.approx((1 - exp(-x)) / x, rel=1e-3)
    assert age == pytest.approx(t * (0.5 - 1 / x + (1 - exp(-x)) / x**2), rel=2e-3, abs=1e-6)


def test_periodic_page_visited_just_after_its_change_is_nearly_always_fresh() -> None:
    clock = Clock(next_at=1e9 + 7 * DAY, period=7.0, spread=0.01, lead=9.0)
    page, belief = PageState(at=1e9, clock=clock), Belief(1.0, 7.0)
    just_after, late, before = (
        expected_freshness(page, belief, 1e9 + t * DAY) for t in (7.2, 10.5, 6.0)
    )
    assert just_after[0] == pytest.approx(1 - 0.2 / 7.2, abs=0.005)
    assert late == pytest.approx((1 - 3.5 / 10.5, 3.5**2 / 2 / 10.5), rel=0.01)
    assert before == pytest.approx((1, 0), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("memoryless", "optimal"),
        ("memoryless", "fixed:5d"),
        ("memoryless", "adaptive:5d"),
        ("lying", "optimal"),
    ],
)
def test_expected_freshness_matches_measured_freshness_for_any_policy(
    name: str, policy: str
) -> None:
    web = WEBS[name](7, 150, 120.0)
    found = Crawl(web, make_policy(policy), 30.0).run(Tally(web, 40.0, set()))
    assert found.expected == pytest.approx(found.freshness, abs=0.05)
    assert found.expected_age == pytest.approx(found.age, rel=0.35)
