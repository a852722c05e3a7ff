"""How long a server says that its answer stays as it is: Cache-Control and Expires.

RFC 9111, sections 4.2.1, 5.2.2 and 5.3. It is meant for caches, and is often a default that nobody
chose; so the revisit scheduler takes it for evidence, which each site has to earn (5.5 of
*Practical issues of crawling the Web* has the dates that mean nothing).
"""

import re
from email.utils import parsedate_to_datetime

from gossamer.web.http import Headers, first_value, joined_values

LEAST, LONGEST = 60.0, 365 * 86400.0
"""Seconds: what expires sooner is never to be kept, and nobody knows what is a year ahead."""

_directive = re.compile(r'\s*([a-z-]+)\s*(?:=\s*"?\s*([^",]*?)\s*"?\s*)?(?:,|$)', re.IGNORECASE)


def expires_at(headers: Headers, fetched_at: float) -> float:
    """Return when a response *fetched_at* is out of date by what it says itself, as epoch seconds.

    0 if it says nothing that can be meant: nothing, "now", a date that is over, or one that is more
    than a year ahead.
    """
    control = joined_values(headers, "cache-control")
    said = {name.lower(): value for name, value in _directive.findall(control)}
    if said.keys() & {"no-cache", "no-store"}:
        return 0.0
    lifetime = _number(said["max-age"]) if "max-age" in said else _until_expires(headers)
    left = lifetime - _number(first_value(headers, "age"))
    return fetched_at + left if LEAST <= left <= LONGEST else 0.0


def _until_expires(headers: Headers) -> float:
    """Return the seconds from Date to Expires: both by the server's clock, so it may be wrong."""
    try:
        expires = parsedate_to_datetime(first_value(headers, "expires"))
        made = parsedate_to_datetime(first_value(headers, "date"))
        return (expires - made).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _number(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0.0
