"""The plot of the last day: whatever is counted, nothing is hidden and nothing overflows."""

from hypothesis import given
from hypothesis import strategies as st

from console.plot import BARS, bars, day

NOW = 2_000_000_000.0
THIS = int(NOW // 3600)


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_only_what_is_nothing_is_blank_and_only_the_most_is_full(counts: list[int]) -> None:
    most = max(counts)
    drawn = bars(counts, most)
    assert len(drawn) == len(counts)
    for count, bar in zip(counts, drawn, strict=True):
        assert (bar == BARS[0]) == (count == 0)
        assert bar == BARS[-1] or count < most or not most


def test_hours_stand_in_their_places_and_those_before_the_last_day_are_left_out() -> None:
    hours = {str(THIS): (4, 2, 2), str(THIS - 23): (1, 0, 0), str(THIS - 24): (99, 99, 99)}
    lines = dict(day(hours, NOW))
    assert lines["pages / h"] == "▁" + " " * 22 + "█" + "  at most 8 an hour, 9 in 24 h"
    assert lines["new"] == "▁" + " " * 22 + "▄  5"
    assert lines["changed"] == " " * 23 + "▂  2"
    assert lines["unchanged"].endswith("▂  2")


def test_where_nothing_was_fetched_there_is_nothing_to_see() -> None:
    assert dict(day({}, NOW))["new"] == " " * 24 + "  0"
