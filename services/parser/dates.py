"""Dates as sitemaps, feeds and documents write them, as epoch seconds."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

LONGEST = 64
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


def instant(text: str) -> float:
    """Return when *text* says: a date of W3C's profile of ISO 8601, or of RFC 822; 0 if it is none.

    What is left out is the earliest that it can be, in UTC.
    """
    text = text.strip()[:LONGEST]
    if found := _w3c.fullmatch(text):
        return _of(found)
    try:
        said = parsedate_to_datetime(text)
        return _positive(said if said.tzinfo else said.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0


def pdf_instant(text: str) -> float:
    """Return when *text* says, a date of ISO 32000, 7.9.4 (`D:20240229120000+01'00'`), or 0."""
    found = _pdf.fullmatch(text.strip()[:LONGEST])
    return _of(found) if found else 0.0


def _of(found: re.Match[str]) -> float:
    year, month, day, hour, minute, second = (
        int(part or least) for part, least in zip(found.groups(), (0, 1, 1, 0, 0, 0), strict=False)
    )
    try:
        zone = _zone(found[7])
        return _positive(datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone))
    except (ValueError, OverflowError):
        return 0.0


def _zone(offset: str | None) -> timezone:
    if not offset or offset in "Zz":
        return UTC
    digits = offset[1:].replace(":", "").replace("'", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if offset[0] == "-" else ahead)


def _positive(said: datetime) -> float:
    return max(0.0, said.timestamp())
