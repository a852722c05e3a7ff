"""The log advances past a record after all earlier ones are done."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.log import Record
from gossamer.runtime.offsets import OffsetTracker


def record(offset: int, partition: int = 0, topic: str = "t") -> Record:
    return Record(topic, partition, offset, "", b"")


def test_tracker_without_records_advances_nothing() -> None:
    assert OffsetTracker().passed() == []


def test_tracker_waits_for_the_slowest_record() -> None:
    tracker = OffsetTracker()
    for offset in range(3):
        tracker.begin(record(offset))
    tracker.complete(record(1))
    tracker.complete(record(2))
    assert tracker.passed() == []
    tracker.complete(record(0))
    assert tracker.passed() == [record(2)]
    assert tracker.passed() == []


def test_partitions_and_topics_advance_independently() -> None:
    tracker = OffsetTracker()
    places = [record(0), record(0, 1), record(0, 0, "u")]
    for place in places:
        tracker.begin(place)
    tracker.complete(places[1])
    assert tracker.passed() == [places[1]]
    tracker.complete(places[2])
    assert tracker.passed() == [places[2]]


def test_tracker_accepts_gaps_in_offsets() -> None:
    tracker = OffsetTracker()
    for offset in (3, 10, 500):
        tracker.begin(record(offset))
        tracker.complete(record(offset))
    assert tracker.passed() == [record(500)]


steps = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), unique=True, max_size=40)


@given(steps, st.data())
def test_tracker_advances_past_finished_records_only(
    places: list[tuple[int, int]], data: st.DataObject
) -> None:
    begun = [record(offset, partition) for partition, offset in sorted(places)]
    tracker, finished, passed = OffsetTracker(), set[Record](), dict[int, int]()
    for one in begun:
        tracker.begin(one)
    for one in data.draw(st.permutations(begun)):
        tracker.complete(one)
        finished.add(one)
        if data.draw(st.booleans()):
            follow(tracker, passed)
            for other in set(begun) - finished:
                assert passed.get(other.partition, -1) < other.offset
    follow(tracker, passed)
    last = {p: max(r.offset for r in part) for p, part in groupby(begun, lambda r: r.partition)}
    assert passed == last


def follow(tracker: OffsetTracker, passed: dict[int, int]) -> None:
    for one in tracker.passed():
        assert passed.get(one.partition, -1) < one.offset, "a record is passed once"
        passed[one.partition] = one.offset


@pytest.mark.parametrize("count", [1, 1000])
def test_records_start_while_others_complete(count: int) -> None:
    tracker = OffsetTracker()
    for offset in range(count):
        tracker.begin(record(offset + 1))
        if offset:
            tracker.complete(record(offset))
            assert tracker.passed() == [record(offset)]


def test_record_of_lost_partition_is_not_advanced_past() -> None:
    tracker = OffsetTracker()
    tracker.begin(record(0, partition=1))
    tracker.release(frozenset({0}))
    tracker.complete(record(0, partition=1))
    assert tracker.passed() == [], "another member commits that partition now"
