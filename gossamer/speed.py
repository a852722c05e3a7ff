"""Rate limits of the crawl by weekday and hour: pages and bytes a second, over all fetchers.

Operators set a list of limits with their times, such as `mon-fri 08:00-18:00` (UTC). The first one
that applies now is active, and without one there is no limit. Frontiers order no faster
(`gossamer.services.frontier.choice.pacing`), and fetchers return orders that were made under
another limit.
"""

import re
from math import inf
from typing import NamedTuple

from gossamer.errors import Poison
from gossamer.events import Speed, SpeedSet
from gossamer.policies import DAY

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EPOCH_WEEKDAY = 3
"""The weekday of 1970-01-01, a Thursday."""
PROPAGATION_SECONDS = 2.0
"""Seconds until all frontiers have read a new limit."""
HOUR, MINUTE, WEEK = 3600.0, 60.0, 7 * DAY
ALWAYS = ""
NO_LIMIT = Speed(ALWAYS)

_hours = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")
_day = "|".join(DAYS)
_days = re.compile(rf"({_day})(?:-({_day}))?")


class When(NamedTuple):
    """Times of a week: on each of *days* from *begin*, in seconds after midnight UTC, to *end*,
    perhaps on the next day. Equal values mean the whole day."""

    days: frozenset[int]
    begin: float
    end: float

    def holds(self, at: float) -> bool:
        """Return whether *at* is one of these times."""
        today, into = int(at // DAY + EPOCH_WEEKDAY) % 7, at % DAY
        if self.begin < self.end:
            return today in self.days and self.begin <= into < self.end
        before = (today - 1) % 7 in self.days and into < self.end
        return before or (today in self.days and into >= self.begin)


def parse_when(text: str) -> When:
    """Return the times of a text such as `mon-fri 08:00-18:00`, `sat,sun` or `22:00-06:00`; "" is
    always.

    Raise ValueError with the syntax if it is invalid.
    """
    days, begin, end = frozenset[int](), 0.0, 0.0
    words = text.lower().split()
    try:
        if words and words[-1][0].isdigit():
            begin, end = parse_hours(words.pop())
        if len(words) > 1:
            raise ValueError
        for part in words[0].split(",") if words else ["mon-sun"]:
            days |= _range(part)
    except ValueError as error:
        raise ValueError(
            f"{text!r}: write mon-fri 08:00-18:00, sat,sun or 22:00-06:00; times are in UTC"
        ) from error
    return When(days, begin, end)


def _range(text: str) -> frozenset[int]:
    found = _days.fullmatch(text)
    if not found:
        raise ValueError
    first = DAYS.index(found[1])
    last = DAYS.index(found[2] or found[1])
    return frozenset((first + more) % 7 for more in range((last - first) % 7 + 1))


def parse_hours(text: str) -> tuple[float, float]:
    """Return the seconds after midnight of a text such as `08:00-18:30`, or raise ValueError."""
    found = _hours.fullmatch(text)
    if not found:
        raise ValueError(text)
    hours = [int(found[at]) * HOUR + int(found[at + 1]) * MINUTE for at in (1, 3)]
    if hours[0] == hours[1]:
        raise ValueError(text)
    return hours[0], hours[1]


def format_hours(begin: float, end: float) -> str:
    """Return the text that `parse_hours` reads."""
    return "-".join(f"{int(at // HOUR):02}:{int(at % HOUR // MINUTE):02}" for at in (begin, end))


def _is_equal(one: Speed, other: Speed) -> bool:
    return (one.pages, one.bytes) == (other.pages, other.bytes)


class Speeds:
    """The rate limits that are set, and the active one."""

    def __init__(self, event: SpeedSet | None = None) -> None:
        self._set_at = 0.0
        self._speeds: list[tuple[When, Speed]] = []
        if event:
            self.change(event)

    def change(self, event: SpeedSet) -> None:
        """Apply *event*. Raise Poison if its times are invalid."""
        try:
            self._speeds = [(parse_when(speed.when), speed) for speed in event.speeds]
        except ValueError as error:
            raise Poison(str(error)) from error
        self._set_at = event.at

    def at(self, now: float) -> Speed:
        """Return the active limit."""
        return next((speed for when, speed in self._speeds if when.holds(now)), NO_LIMIT)

    def until(self, now: float) -> float:
        """Return the earliest time at which the active limit may change, or infinity."""
        midnight = now - now % DAY
        ends = {end for when, _ in self._speeds for end in (when.begin, when.end, DAY)}
        later = (midnight + end + day for end in ends for day in (0.0, DAY))
        return min((end for end in later if end > now), default=inf)

    def changes_at(self, now: float) -> float:
        """Return when another limit applies, or infinity if the active one always does."""
        active, at = self.at(now), self.until(now)
        while at <= now + WEEK and _is_equal(self.at(at), active):
            at = self.until(at)
        return at if at <= now + WEEK else inf

    def is_outdated(self, ordered_at: float, now: float) -> bool:
        """Return whether an order made at *ordered_at* was made under another limit than the active
        one."""
        speed = self.at(now)
        if speed.pages is None and speed.bytes is None:
            return False
        return ordered_at < self._set_at + PROPAGATION_SECONDS or self.at(ordered_at) != speed
