"""Times of the week, and the speed that applies at each."""

from datetime import UTC, datetime
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import Poison
from gossamer.events import Speed, SpeedSet
from gossamer.policies import DAY
from gossamer.speed import DAYS, HOUR, PROPAGATION_SECONDS, Speeds, parse_when

HOURS = ("08:00-18:00", "22:00-06:30", "mon-fri 08:00-18:00", "sun 23:59-00:01")
texts = st.sampled_from(("", "mon", "sat,sun", "fri-mon", *HOURS))
instants = st.floats(0, 4e9).map(lambda at: round(at, 3))


def as_a_person_reads(text: str, at: float) -> bool:
    """Return whether *at* is among the times, by the calendar and minute by minute."""
    moment = datetime.fromtimestamp(at, UTC)
    *days, hours = ["mon-sun", *(text if text[-1:].isdigit() else f"{text} 00:00-24:00").split()]
    begin, end = (int(one[:2]) * 60 + int(one[3:]) for one in hours.split("-"))
    chosen = set()
    for part in days[-1].split(","):
        first, _, last = part.partition("-")
        day = DAYS.index(first)
        chosen.add(day)
        while DAYS[day] != (last or first):
            day = (day + 1) % 7
            chosen.add(day)
    minute, today = moment.hour * 60 + moment.minute, moment.weekday()
    if begin < end:
        return today in chosen and begin <= minute < end
    return (today in chosen and minute >= begin) or ((today - 1) % 7 in chosen and minute < end)


@given(texts, instants)
def test_times_match_the_calendar(text: str, at: float) -> None:
    assert parse_when(text).holds(at) == as_a_person_reads(text, at)


@pytest.mark.parametrize(
    "text", ["monday", "mon 8-9", "mon-", "08:00", "25:00-26:00", "mon tue", "8:00-8:00"]
)
def test_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write mon-fri"):
        parse_when(text)
    with pytest.raises(Poison):
        Speeds(SpeedSet(at=1.0, speeds=(Speed(text, 1.0),)))


@given(
    st.lists(st.tuples(texts, st.sampled_from([None, 0.0, 1.0, 2.0])), max_size=4),
    instants,
    st.floats(0, 1),
)
def test_speed_is_constant_until_its_end(
    given_: list[tuple[str, float | None]], at: float, part: float
) -> None:
    speeds = Speeds(SpeedSet(at=0.0, speeds=tuple(Speed(when, pages) for when, pages in given_)))
    until = speeds.until(at)
    assert until > at
    before = min(at + part * (min(until, at + 1e6) - at), until - 0.01)
    assert before < at or speeds.at(before) == speeds.at(at)


@pytest.mark.parametrize(
    ("times", "end"),
    [
        ((), inf),
        (("",), inf),
        (("mon-fri", "sat,sun"), inf),
        (("08:00-18:00",), 18 * HOUR),
        (("08:00-18:00", "18:00-23:00"), 23 * HOUR),
        (("thu-sat",), 3 * DAY),
    ],
)
def test_limit_changes_when_another_one_applies(times: tuple[str, ...], end: float) -> None:
    speeds = Speeds(SpeedSet(at=0.0, speeds=tuple(Speed(when, 1.0) for when in times)))
    assert speeds.changes_at(12 * HOUR) == end


def test_order_of_another_speed_is_outdated_if_a_limit_applies() -> None:
    night, day = 3 * 3600.0, 12 * 3600.0
    speeds = Speeds()
    assert not speeds.is_outdated(0.0, day)
    speeds.change(SpeedSet(at=1000.0, speeds=(Speed("08:00-18:00", 1.0),)))
    assert speeds.is_outdated(night, day) and not speeds.is_outdated(day, day + 60)
    assert not speeds.is_outdated(day, 18 * 3600.0), "the limit has ended"
    speeds.change(SpeedSet(at=day, speeds=(Speed("", 1.0),)))
    assert speeds.is_outdated(day - 1, day) and speeds.is_outdated(
        day + PROPAGATION_SECONDS / 2, day + 9
    )
    assert not speeds.is_outdated(day + PROPAGATION_SECONDS, day + 9)
