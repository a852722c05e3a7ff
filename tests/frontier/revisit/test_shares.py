"""The budget's allocation to partitions, and to first visits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.revisit import CrawlState, discovery_share, split_budget
from gossamer.services.frontier.revisit.price import SHAPES, Curve, cell_of, move_page

pages = st.lists(
    st.tuples(st.floats(1e-4, 50), st.sampled_from([*SHAPES, None]), st.floats(0.05, 16)),
    max_size=40,
)
budgets = st.floats(0.01, 1e6)


def curve(some: list[tuple[float, float | None, float]]) -> Curve:
    made: Curve = {}
    for rate, shape, weight in some:
        made = move_page(made, (0, 0.0), (cell_of(rate, shape, weight), rate))
    return made


@pytest.mark.slow
@given(st.lists(pages, min_size=1, max_size=8), budgets)
def test_allocations_add_up_to_the_budget_and_are_positive(
    partitions: list[list[tuple[float, float | None, float]]], budget: float
) -> None:
    found = split_budget([curve(some) for some in partitions], budget)
    assert sum(found) == pytest.approx(budget)
    assert min(found) > 0


@given(pages.filter(bool), budgets, st.integers(1, 6))
def test_partitions_with_equal_pages_get_equal_allocations(
    some: list[tuple[float, float | None, float]], budget: float, count: int
) -> None:
    assert split_budget([curve(some)] * count, budget) == pytest.approx([budget / count] * count)


def test_partition_without_pages_leaves_most_of_its_allocation() -> None:
    empty, full = split_budget([{}, curve([(0.1, 2.0, 1.0)] * 100)], 10.0)
    assert empty == pytest.approx(0.05)
    assert full == pytest.approx(9.95)


def test_rates_and_weights_of_pages_raise_the_allocation() -> None:
    slow, fast, heavy = (
        curve([(rate, 20.0, weight)] * 50) for rate, weight in ((0.02, 1), (0.2, 1), (0.02, 8))
    )
    assert split_budget([slow, fast], 5.0)[0] < split_budget([slow, fast], 5.0)[1]
    assert split_budget([slow, heavy], 1.0)[0] < split_budget([slow, heavy], 1.0)[1]
    assert split_budget([], 5.0) == []


def test_discovery_share_falls_as_the_price_grows() -> None:
    found = [discovery_share(CrawlState(price=price)) for price in (1e-5, 0.1, 1.0, 5.0, 50.0, 1e6)]
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (0.9, 0.1)
    assert 0.1 < found[3] < 0.9


def test_discovery_share_falls_if_pages_change_fast() -> None:
    slow, fast = (
        CrawlState(price=0.5, pages=1000, rates=1000 * rate, log_rates=1000 * log_rate)
        for rate, log_rate in ((0.01, -5.0), (10.0, 2.0))
    )
    assert discovery_share(slow) > discovery_share(fast)
