"""The harvest curve of a crawl: bounded, complete, and merged over partitions."""

from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple, replace

from gossamer.events import DEFAULT_CRAWL, Purpose, Verdict
from gossamer.services.frontier.tables.harvest import (
    MAX_POINTS,
    Harvest,
    HarvestPoint,
    HarvestRates,
    late_points,
    merge_curves,
    rates,
)
from gossamer.services.frontier.tables.totals import merge
from gossamer.services.frontier.totals.tally import Tally
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.frontier.generated_web import PAGE, count, verdict


def total(points: tuple[HarvestPoint, ...]) -> HarvestPoint:
    return merge(HarvestPoint(), *points)


def curve(visits: int) -> tuple[HarvestPoint, ...]:
    harvest = Harvest()
    for at in range(visits):
        count(harvest, float(at), 1)
    return harvest.points


@given(st.integers(0, 5000))
def test_curve_has_all_visits_in_a_bounded_number_of_equal_points(visits: int) -> None:
    points = curve(visits)
    assert len(points) <= MAX_POINTS
    assert len({point.visits for point in points[:-1]}) <= 1
    assert not points or points[-1].visits <= points[0].visits
    assert [point.until for point in points] == sorted(point.until for point in points)
    if visits:
        last = float(visits - 1)
        expected = HarvestPoint(last, visits, visits, visits, visits, visits)
        assert total(points) == expected


def test_long_curve_has_over_thirty_points() -> None:
    harvest = Harvest()
    for at in range(50_000):
        harvest.count_visit(float(at))
    assert MAX_POINTS // 2 <= len(harvest.points) <= MAX_POINTS


@given(st.lists(st.integers(0, 700), max_size=8))
def test_merged_curve_has_the_sums_of_its_parts_in_the_order_of_time(visits: list[int]) -> None:
    curves = [curve(one) for one in visits]
    merged = merge_curves(curves)
    assert len(merged) <= MAX_POINTS
    assert total(merged) == total(tuple(point for one in curves for point in one))
    assert list(merged) == sorted(merged, key=attrgetter("until"))


@pytest.mark.parametrize(
    ("given", "new", "good"),
    [
        ({"verdict": Verdict.FIRST}, 1, 1),
        ({"verdict": Verdict.FIRST, "score": 0.49}, 1, 0),
        ({"verdict": Verdict.CHANGED, "score": 0.5}, 1, 1),
        ({"verdict": Verdict.DUPLICATE}, 0, 0),
        ({"verdict": Verdict.UNCHANGED}, 0, 0),
        ({"verdict": Verdict.GONE}, 0, 0),
        ({"visit": replace(PAGE, purpose=Purpose.SITEMAP)}, 0, 0),
    ],
)
def test_verdict_counts_new_texts_and_good_pages(
    given: dict[str, object], new: int, good: int
) -> None:
    harvest = Harvest()
    harvest.count_verdict(verdict(5.0, **given))  # type: ignore[arg-type]
    counted = total(harvest.points)
    assert (counted.new, counted.good) == (new, good)


def test_rates_lately_are_those_of_the_newest_eighth() -> None:
    harvest = Harvest()
    for at in range(1000):
        if at < 900:
            harvest.count_verdict(verdict(float(at), score=1.0 if at % 2 else 0.0))
            harvest.count_found(1, float(at))
        harvest.count_visit(float(at))
    points = harvest.points
    assert rates(points) == HarvestRates(90.0, 45.0, 90.0)
    late = late_points(points)
    assert 125 <= sum(point.visits for point in late) < 125 + points[0].visits
    found = rates(late)
    assert found and 10 < found.new == found.found < 30
    assert rates(()) is None and late_points(()) == ()


def test_curve_is_stored_with_the_totals_and_goes_on_after_a_restart() -> None:
    store = SqliteStore(Database(":memory:"))
    tally, whole = Tally(DEFAULT_CRAWL, "0/1", store, 0.0), Harvest()
    for at in range(500):
        count(whole, float(at), 1)
        count(tally.harvest, float(at), 1)
        if at % 7 == 0:
            tally.write()
            store.flush()
            tally = Tally(DEFAULT_CRAWL, "0/1", store, 0.0)
    assert tally.harvest.points == whole.points
    assert [*map(astuple, tally.harvest.points)] == [*map(astuple, whole.points)]
