"""Dates as epoch seconds: exact dates in sitemaps, feeds and files, and loose dates in pages.

Loose dates are written for people or by habit. Only unambiguous forms are read.
"""

import re
from calendar import timegm
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

MAX_DATE_LENGTH = 64
"""Most characters of an exact date."""
MAX_LOOSE_DATE_LENGTH = 50
"""Most characters of a loose date."""
WEB_BEGAN_AT = float(timegm((1993, 1, 1, 0, 0, 0)))
"""Earlier dates are mistakes (Castillo, *Practical issues of crawling large Web collections*, 5.5).
"""
MAX_CLOCK_SKEW = 86400.0
"""Seconds by which a clock or a time zone may be ahead of ours."""
MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"

_w3c = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ]+(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d*)?)?"
    r"\s*([Zz]|[+-]\d\d(?::?\d\d)?)?)?)?)?",
    re.ASCII,
)
_pdf = re.compile(
    r"(?:D:)?(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(\d\d)?(\d\d)?(?:([Zz]|[+-]\d\d(?:'?\d\d)?).*)?)?)?)?",
    re.ASCII,
)
_utc = re.compile(r"\s*(?:UTC|GMT)$", re.IGNORECASE)
_numbers = re.compile(r"((?:19|20)\d\d)[-/.]?(\d\d?)[-/.]?(\d\d?)(?!\d)")
_day_first = re.compile(r"(\d\d?)\.?\s+([A-Za-z]{3})[a-z]*\.?,?\s+((?:19|20)\d\d)")
_month_first = re.compile(r"([A-Za-z]{3})[a-z]*\.?\s+(\d\d?)(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)")
_in_url = re.compile(
    r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2]|[a-z]{3})[/-](0?[1-9]|[12]\d|3[01])(?=[/_.-]|$)"
)


def parse_date(text: str) -> float:
    """Return the time of a date in W3C's profile of ISO 8601, or in RFC 822; 0 if it is invalid.

    Missing parts are the earliest possible, in UTC.
    """
    text = text.strip()[:MAX_DATE_LENGTH]
    if match := _w3c.fullmatch(text):
        return _to_epoch(match)
    try:
        date = parsedate_to_datetime(text)
        return _timestamp(date if date.tzinfo else date.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


def parse_pdf_date(text: str) -> float:
    """Return the time of a date in a PDF (ISO 32000, 7.9.4: `D:20240229120000+01'00'`), or 0."""
    match = _pdf.fullmatch(text.strip()[:MAX_DATE_LENGTH])
    return _to_epoch(match) if match else 0.0


def _to_epoch(match: re.Match[str]) -> float:
    year, month, day, hour, minute, second = (
        int(part or least) for part, least in zip(match.groups(), (0, 1, 1, 0, 0, 0), strict=False)
    )
    try:
        zone = _offset(match[7])
        return _timestamp(datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone))
    except (ValueError, OverflowError):
        return 0.0


def _offset(offset: str | None) -> timezone:
    if not offset or offset in "Zz":
        return UTC
    digits = offset[1:].replace(":", "").replace("'", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if offset[0] == "-" else ahead)


def _timestamp(date: datetime) -> float:
    return max(0.0, date.timestamp())


def parse_loose_date(text: str, now: float) -> float:
    """Return the time of *text*, in UTC if it has no zone; 0 if it is invalid.

    Times before the Web or after *now* are invalid.
    """
    text = text.strip()[:MAX_LOOSE_DATE_LENGTH]
    exact = parse_date(text) or parse_date(_utc.sub("Z", text))
    time = exact or _parse_epoch(text) or _parse_words(text)
    return time if WEB_BEGAN_AT <= time <= now + MAX_CLOCK_SKEW else 0.0


def parse_url_date(url: str, now: float) -> float:
    """Return the start of the day in a URL's path, such as `/2026/11/23/`; 0 if there is none."""
    match = _in_url.search(url)
    at = _day_start(int(match[1]), match[2], int(match[3])) if match else 0.0
    return at if at <= now + MAX_CLOCK_SKEW else 0.0


def _parse_epoch(text: str) -> float:
    if not text.isdecimal() or len(text) not in (10, 13):
        return 0.0
    return int(text) / (1000 if len(text) == 13 else 1)


def _parse_words(text: str) -> float:
    if match := _numbers.search(text):
        return _day_start(int(match[1]), match[2], int(match[3]))
    if match := _day_first.search(text):
        return _day_start(int(match[3]), match[2], int(match[1]))
    if match := _month_first.search(text):
        return _day_start(int(match[3]), match[1], int(match[2]))
    return 0.0


def _day_start(year: int, month: str, day: int) -> float:
    number = int(month) if month.isdecimal() else MONTHS.find(month[:3].lower()) // 3 + 1
    try:
        return datetime(year, number, day, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
