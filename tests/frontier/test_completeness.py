"""Completeness is estimated well on generated webs, and never claims what cannot be."""

from collections import defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.frontier.tables.harvest import MAX_POINTS, MAX_SITE_POINTS, Harvest, HarvestPoint
from services.frontier.totals.completeness import Completeness, Share, estimate
from tests.frontier.generated_web import crawl, find_reachable, generate

MARKS = (0.1, 0.25, 0.5, 0.75, 1.0)
SEEDS = 5
EVERYTHING = Share(1.0, 1.0, 1.0)


class Result(NamedTuple):
    """An estimate, and the true shares."""

    found: float
    visited: float
    estimated: Completeness

    @property
    def is_close(self) -> bool:
        """Whether both estimates are within ten points of the truth."""
        found, visited = self.estimated.found.value, self.estimated.visited.value
        return abs(found - self.found) <= 0.1 and abs(visited - self.visited) <= 0.1

    @property
    def is_covered(self) -> bool:
        """Whether the interval contains the truth."""
        return self.estimated.found.low <= self.found <= self.estimated.found.high


def results(
    seed: int, in_order: bool, max_points: int = MAX_POINTS, **web: float
) -> dict[float, Result]:
    """Return the estimates of a crawl of a generated web, by the share of visited pages."""
    graph = generate(seed, **web)  # type: ignore[arg-type]
    total = len(find_reachable(graph))
    marks = {max(1, int(total * mark)): mark for mark in MARKS}
    found = dict[float, Result]()
    for state in crawl(graph, seed, in_order, max_points):
        if mark := marks.get(state.visited):
            waiting = state.found - state.visited
            estimated = estimate(state.harvest.points, state.found, waiting)
            assert estimated
            found[mark] = Result(state.found / total, state.visited / total, estimated)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("web", "least_close"),
    [
        ({}, 0.7),
        ({"near": 0.7, "hubs": 0.2}, 0.7),
        ({"near": 0.0, "hubs": 0.3}, 0.7),
        # Of few links, most are in the menu, so the first tenth of the visits says little.
        ({"links": 6}, 0.0),
    ],
    ids=["local", "more local", "not local", "few links"],
)
def test_estimate_is_within_ten_points_and_its_interval_covers_the_truth(
    web: dict[str, float], least_close: float
) -> None:
    by_mark = defaultdict[float, list[Result]](list)
    for seed in range(SEEDS):
        for in_order in (True, False):
            for mark, result in results(seed, in_order, MAX_POINTS, **web).items():
                by_mark[mark].append(result)
    for mark, found in by_mark.items():
        close = sum(result.is_close for result in found) / len(found)
        assert close >= (least_close if mark == 0.1 else 0.9), mark
    undecided = [one for mark, found in by_mark.items() if mark < 1 for one in found]
    assert sum(one.is_covered for one in undecided) >= 0.85 * len(undecided)


@pytest.mark.slow
@pytest.mark.parametrize("pages", [200, 2000])
def test_short_curve_of_a_site_is_enough_from_half_of_the_visits_on(pages: int) -> None:
    late = [
        result
        for seed in range(SEEDS)
        for in_order in (True, False)
        for mark, result in results(seed, in_order, MAX_SITE_POINTS, pages=pages).items()
        if mark >= 0.5
    ]
    assert all(result.is_close for result in late)


def test_finished_crawl_has_found_everything() -> None:
    points = (HarvestPoint(1.0, 500, 500, 0, 0, 3000, 499),)
    assert estimate(points, 500, 0) == Completeness(EVERYTHING, EVERYTHING, 500)
    with_forbidden = Completeness(EVERYTHING, Share(0.8, 0.8, 0.8), 625)
    assert estimate(points, 625, 0) == with_forbidden


def test_nothing_is_estimated_from_few_visits() -> None:
    assert estimate((), 0, 0) is None
    assert estimate((HarvestPoint(1.0, 10, 10, 10, 10, 100, 50),), 51, 41) is None


def test_crawl_of_a_list_of_seeds_without_links_has_found_everything_early() -> None:
    harvest = Harvest()
    for at in range(100):
        harvest.count_first_visit(float(at))
        harvest.count_visit(float(at))
    estimated = estimate(harvest.points, 1000, 900)
    assert estimated and estimated.found.value == 1.0
    assert estimated.visited.value == 0.1 and estimated.total == 1000


def test_repeated_menu_does_not_change_the_estimate_much() -> None:
    """A menu has links that are known on every page but the first one."""
    few = results(3, True)[0.25].estimated
    graph = generate(3)
    harvest, last = Harvest(), None
    for state in crawl(graph, 3, True):
        if state.visited == 500:
            last = state
            break
    assert last
    harvest = Harvest(
        HarvestPoint(one.until, one.visits, one.first_visits, one.new, one.good,
                     one.links + 40 * one.first_visits, one.found)
        for one in last.harvest.points
    )  # fmt: skip
    many = estimate(harvest.points, last.found, last.found - last.visited)
    assert many and abs(many.found.value - few.found.value) < 0.1


point = st.builds(
    HarvestPoint,
    st.floats(0, 1e9),
    st.integers(0, 1000),
    st.integers(0, 1000),
    st.just(0),
    st.just(0),
    st.integers(0, 10**5),
    st.integers(0, 10**5),
)


@given(st.lists(point, max_size=64), st.integers(0, 10**5), st.floats(0, 1))
def test_estimate_is_ordered_and_never_below_what_is_found(
    points: list[HarvestPoint], seeds: int, visited: float
) -> None:
    admitted = seeds + sum(one.found for one in points)
    waiting = round(admitted * (1 - visited))
    if (estimated := estimate(points, admitted, waiting)) is None:
        return
    for share in (estimated.found, estimated.visited):
        assert 0.0 <= share.low <= share.value <= share.high <= 1.0
    assert estimated.visited.value <= estimated.found.value
    assert estimated.total >= admitted
