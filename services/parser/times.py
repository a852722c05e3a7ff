"""Times as pages write them for people or by habit, in the forms that say one thing only."""

import re
from calendar import timegm
from datetime import UTC, datetime

from services.parser import dates

BEFORE_THE_WEB = float(timegm((1993, 1, 1, 0, 0, 0)))
"""Nothing on the Web is older: such times are mistakes (practical-issues 5.5)."""
AHEAD = 86400.0
"""Seconds that a clock, or a time zone, may be ahead of ours."""
LIMIT = 50
"""Characters of a time."""

MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_zone = re.compile(r"\s*(?:UTC|GMT)$", re.IGNORECASE)
_numbers = re.compile(r"((?:19|20)\d\d)[-/.]?(\d\d?)[-/.]?(\d\d?)(?!\d)")
_day_first = re.compile(r"(\d\d?)\.?\s+([A-Za-z]{3})[a-z]*\.?,?\s+((?:19|20)\d\d)")
_month_first = re.compile(r"([A-Za-z]{3})[a-z]*\.?\s+(\d\d?)(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)")
_in_url = re.compile(
    r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2]|[a-z]{3})[/-](0?[1-9]|[12]\d|3[01])(?=[/_.-]|$)"
)


def instant(text: str, now: float) -> float:
    """Return the epoch seconds of *text*, in UTC where it names no zone; 0 if it is no time, or
    one before the Web or after *now*."""
    written = text.strip()[:LIMIT]
    exact = dates.instant(written) or dates.instant(_zone.sub("Z", written))
    found = exact or _epoch(written) or _words(written)
    return found if BEFORE_THE_WEB <= found <= now + AHEAD else 0.0


def instant_in(url: str, now: float) -> float:
    """Return when the day begins that a URL's path names, such as `/2026/11/23/`; 0 if none."""
    found = _in_url.search(url)
    at = _day(int(found[1]), found[2], int(found[3])) if found else 0.0
    return at if at <= now + AHEAD else 0.0


def _epoch(text: str) -> float:
    if not text.isdecimal() or len(text) not in (10, 13):
        return 0.0
    return int(text) / (1000 if len(text) == 13 else 1)


def _words(text: str) -> float:
    if found := _numbers.search(text):
        return _day(int(found[1]), found[2], int(found[3]))
    if found := _day_first.search(text):
        return _day(int(found[3]), found[2], int(found[1]))
    if found := _month_first.search(text):
        return _day(int(found[3]), found[1], int(found[2]))
    return 0.0


def _day(year: int, month: str, day: int) -> float:
    number = int(month) if month.isdecimal() else MONTHS.find(month[:3].lower()) // 3 + 1
    try:
        return datetime(year, number, day, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
