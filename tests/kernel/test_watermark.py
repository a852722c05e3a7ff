"""How far the log may move when records are completed out of order."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.log import Record
from gossamer.watermark import Watermark


def record(offset: int, partition: int = 0, topic: str = "t") -> Record:
    return Record(topic, partition, offset, "", b"")


def test_nothing_begun_nothing_passed() -> None:
    assert Watermark().passed() == []


def test_it_waits_for_the_slowest() -> None:
    watermark = Watermark()
    for offset in range(3):
        watermark.begin(record(offset))
    watermark.complete(record(1))
    watermark.complete(record(2))
    assert watermark.passed() == []
    watermark.complete(record(0))
    assert watermark.passed() == [record(2)]
    assert watermark.passed() == []


def test_partitions_and_topics_do_not_wait_for_each_other() -> None:
    watermark = Watermark()
    places = [record(0), record(0, 1), record(0, 0, "u")]
    for place in places:
        watermark.begin(place)
    watermark.complete(places[1])
    assert watermark.passed() == [places[1]]
    watermark.complete(places[2])
    assert watermark.passed() == [places[2]]


def test_offsets_may_have_gaps() -> None:
    watermark = Watermark()
    for offset in (3, 10, 500):
        watermark.begin(record(offset))
        watermark.complete(record(offset))
    assert watermark.passed() == [record(500)]


steps = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30)), unique=True, max_size=40)


@given(steps, st.data())
def test_it_never_passes_what_is_unfinished_and_passes_all_in_the_end(
    places: list[tuple[int, int]], data: st.DataObject
) -> None:
    begun = [record(offset, partition) for partition, offset in sorted(places)]
    watermark, finished, passed = Watermark(), set[Record](), dict[int, int]()
    for one in begun:
        watermark.begin(one)
    for one in data.draw(st.permutations(begun)):
        watermark.complete(one)
        finished.add(one)
        if data.draw(st.booleans()):
            follow(watermark, passed)
            for other in set(begun) - finished:
                assert passed.get(other.partition, -1) < other.offset
    follow(watermark, passed)
    last = {p: max(r.offset for r in part) for p, part in groupby(begun, lambda r: r.partition)}
    assert passed == last


def follow(watermark: Watermark, passed: dict[int, int]) -> None:
    for one in watermark.passed():
        assert passed.get(one.partition, -1) < one.offset, "a record is passed once"
        passed[one.partition] = one.offset


@pytest.mark.parametrize("count", [1, 1000])
def test_new_records_may_begin_while_others_complete(count: int) -> None:
    watermark = Watermark()
    for offset in range(count):
        watermark.begin(record(offset + 1))
        if offset:
            watermark.complete(record(offset))
            assert watermark.passed() == [record(offset)]
