"""Dates as sitemaps, feeds and documents write them, as epoch seconds.

Times as pages write them for people or by habit, in the forms that say one thing only.
"""

import re
from calendar import timegm
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

MAX_DATE_LENGTH = 64
"""Characters of a date."""

_w3c = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ]+(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d*)?)?"
    r"\s*([Zz]|[+-]\d\d(?::?\d\d)?)?)?)?)?",
    re.ASCII,
)
_pdf = re.compile(
    r"(?:D:)?(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(\d\d)?(\d\d)?(?:([Zz]|[+-]\d\d(?:'?\d\d)?).*)?)?)?)?",
    re.ASCII,
)


def parse_date(text: str) -> float:
    """Return when *text* says: a date of W3C's profile of ISO 8601, or of RFC 822; 0 if it is none.

    What is left out is the earliest that it can be, in UTC.
    """
    text = text.strip()[:MAX_DATE_LENGTH]
    if found := _w3c.fullmatch(text):
        return _to_epoch(found)
    try:
        said = parsedate_to_datetime(text)
        return _timestamp(said if said.tzinfo else said.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


def parse_pdf_date(text: str) -> float:
    """Return when *text* says, a date of ISO 32000, 7.9.4 (`D:20240229120000+01'00'`), or 0."""
    found = _pdf.fullmatch(text.strip()[:MAX_DATE_LENGTH])
    return _to_epoch(found) if found else 0.0


def _to_epoch(found: re.Match[str]) -> float:
    year, month, day, hour, minute, second = (
        int(part or least) for part, least in zip(found.groups(), (0, 1, 1, 0, 0, 0), strict=False)
    )
    try:
        zone = _offset(found[7])
        return _timestamp(datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone))
    except (ValueError, OverflowError):
        return 0.0


def _offset(offset: str | None) -> timezone:
    if not offset or offset in "Zz":
        return UTC
    digits = offset[1:].replace(":", "").replace("'", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if offset[0] == "-" else ahead)


def _timestamp(said: datetime) -> float:
    return max(0.0, said.timestamp())


WEB_BEGAN_AT = float(timegm((1993, 1, 1, 0, 0, 0)))
"""Nothing on the Web is older: such times are mistakes (practical-issues 5.5)."""
MAX_CLOCK_SKEW = 86400.0
"""Seconds that a clock, or a time zone, may be ahead of ours."""
MAX_LOOSE_DATE_LENGTH = 50
"""Characters of a time."""

MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_utc = re.compile(r"\s*(?:UTC|GMT)$", re.IGNORECASE)
_numbers = re.compile(r"((?:19|20)\d\d)[-/.]?(\d\d?)[-/.]?(\d\d?)(?!\d)")
_day_first = re.compile(r"(\d\d?)\.?\s+([A-Za-z]{3})[a-z]*\.?,?\s+((?:19|20)\d\d)")
_month_first = re.compile(r"([A-Za-z]{3})[a-z]*\.?\s+(\d\d?)(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)")
_in_url = re.compile(
    r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2]|[a-z]{3})[/-](0?[1-9]|[12]\d|3[01])(?=[/_.-]|$)"
)


def parse_loose_date(text: str, now: float) -> float:
    """Return the epoch seconds of *text*, in UTC where it names no zone; 0 if it is no time, or
    one before the Web or after *now*."""
    written = text.strip()[:MAX_LOOSE_DATE_LENGTH]
    exact = parse_date(written) or parse_date(_utc.sub("Z", written))
    found = exact or _parse_epoch(written) or _parse_words(written)
    return found if WEB_BEGAN_AT <= found <= now + MAX_CLOCK_SKEW else 0.0


def parse_url_date(url: str, now: float) -> float:
    """Return when the day begins that a URL's path names, such as `/2026/11/23/`; 0 if none."""
    found = _in_url.search(url)
    at = _day_start(int(found[1]), found[2], int(found[3])) if found else 0.0
    return at if at <= now + MAX_CLOCK_SKEW else 0.0


def _parse_epoch(text: str) -> float:
    if not text.isdecimal() or len(text) not in (10, 13):
        return 0.0
    return int(text) / (1000 if len(text) == 13 else 1)


def _parse_words(text: str) -> float:
    if found := _numbers.search(text):
        return _day_start(int(found[1]), found[2], int(found[3]))
    if found := _day_first.search(text):
        return _day_start(int(found[3]), found[2], int(found[1]))
    if found := _month_first.search(text):
        return _day_start(int(found[3]), found[1], int(found[2]))
    return 0.0


def _day_start(year: int, month: str, day: int) -> float:
    number = int(month) if month.isdecimal() else MONTHS.find(month[:3].lower()) // 3 + 1
    try:
        return datetime(year, number, day, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
