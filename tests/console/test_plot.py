"""The plot of the last day: no count is invisible, and no bar overflows."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.console.cli.view import BARS, bars, day
from tests.support.transcripts import Transcript

NOW = 2_000_000_000.0
THIS = int(NOW // 3600)


@given(st.lists(st.integers(0, 10**9), min_size=1))
def test_only_zero_is_blank_and_only_the_highest_is_full(counts: list[int]) -> None:
    most = max(counts)
    drawn = bars(counts, most)
    assert len(drawn) == len(counts)
    for count, bar in zip(counts, drawn, strict=True):
        assert (bar == BARS[0]) == (count == 0)
        assert bar == BARS[-1] or count < most or not most


def test_bars_show_the_last_24_hours(transcript: Transcript) -> None:
    hours = {str(THIS): (4, 2, 2), str(THIS - 23): (1, 0, 0), str(THIS - 24): (99, 99, 99)}
    transcript.add("bars", [f"{line.title:10}{line.text}" for line in day(hours, NOW)])


def test_bars_without_pages_are_blank() -> None:
    assert {line.title: line.text for line in day({}, NOW)}["new"] == " " * 24 + "  0"
