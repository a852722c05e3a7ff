"""Lags in seconds: the age of the oldest record that a service has not consumed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.inspection.basics.lag_times import (
    MAX_SAMPLES,
    GroupLag,
    LagTimes,
    Offsets,
    read_offsets,
)
from gossamer.log import GroupOffsets
from tests.frontier.simulation import Simulation
from tests.inspection.simulated import opened

PAGES = "pages.fetched"


def offsets(committed: int, end: int, partition: int = 0) -> Offsets:
    return {"parser": {(PAGES, partition): GroupOffsets(committed, 0, end)}}


def only(times: LagTimes) -> GroupLag:
    (lag,) = times.lags()
    return lag


def seconds(times: LagTimes) -> float:
    found = only(times).seconds
    assert found is not None and found >= 0.0
    return found


def test_lag_is_the_time_since_the_record_was_appended() -> None:
    times = LagTimes()
    times.add(offsets(0, 0), 100.0)
    times.add(offsets(0, 50), 110.0)
    times.add(offsets(25, 100), 120.0)
    assert only(times) == GroupLag(service="parser", topic=PAGES, records=75, seconds=15.0)
    times.add(offsets(100, 100), 130.0)
    assert only(times).seconds == 0.0
    times.add(offsets(100, 110), 140.0)
    assert seconds(times) <= 10.0


def test_records_from_before_the_first_sample_are_at_least_that_old() -> None:
    times = LagTimes()
    times.add(offsets(10, 90), 100.0)
    times.add(offsets(20, 120), 160.0)
    assert (only(times).seconds, only(times).is_at_least) == (60.0, True)
    times.add(offsets(95, 120), 170.0)
    assert not only(times).is_at_least


def test_idle_time_before_a_record_does_not_count() -> None:
    times = LagTimes()
    for at in range(0, 1000, 5):
        times.add(offsets(7, 7), float(at))
    times.add(offsets(7, 8), 1000.0)
    assert seconds(times) <= 5.0


def test_topic_with_fewer_records_than_before_starts_again() -> None:
    times = LagTimes()
    times.add(offsets(50, 90), 100.0)
    times.add(offsets(0, 5), 110.0)
    assert (only(times).records, only(times).is_at_least) == (5, True)


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0.0, 1.0)), min_size=1, max_size=60))
def test_lag_is_within_one_interval_of_the_true_age(steps: list[tuple[int, float]]) -> None:
    times, appended_at, committed, interval = LagTimes(), list[float](), 0, 5.0
    times.add(offsets(0, 0), 0.0)
    for number, (new, share) in enumerate(steps, 1):
        now = number * interval
        appended_at += [now - interval * (new - i) / (new + 1) for i in range(new)]
        committed = max(committed, int(share * len(appended_at)))
        times.add(offsets(committed, len(appended_at)), now)
        age = now - appended_at[committed] if committed < len(appended_at) else 0.0
        assert abs(seconds(times) - age) <= interval
        assert not only(times).is_at_least


def test_long_lag_needs_few_samples_and_stays_correct() -> None:
    times = LagTimes()
    for number in range(20 * MAX_SAMPLES):
        times.add(offsets(3, 4 * number), 5.0 * number)
    assert only(times).seconds == pytest.approx(5.0 * (20 * MAX_SAMPLES - 1), rel=0.01)


def test_offsets_of_a_folder_are_read() -> None:
    sim = Simulation()
    times = LagTimes()
    times.add(read_offsets(opened(sim).log), sim.now)
    assert all(lag.records == 0 for lag in times.lags())
