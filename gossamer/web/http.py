"""What HTTP headers and statuses mean (RFC 9110), decided once for every service that reads them.

Events carry headers as they were received: names and values are octets, as Latin-1. They are read
here and nowhere else, so that the fetcher, the parser and the archive cannot disagree about a
response.
"""

import re
from base64 import b32encode
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import sha1
from typing import TypeAlias

from gossamer.web.url import BadUrl, canonicalize

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values in the order received, each name as often as it came."""

REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
"""Statuses whose Location is followed (RFC 9110, section 15.4).

The five of the Fetch standard, and 300: its Location is the server's preferred choice, which a
client may follow (15.4.1). A browser shows the list in the body instead; the crawler reads no body
but a success's. Not 305: its Location named a proxy, and obeying it would hand the crawl to whoever
sent it (15.4.6). Not 304, which says that nothing changed, nor a status that means nothing yet.
"""

NOT_MODIFIED = 304
GONE = frozenset({404, 410})
"""Statuses that say that there is no such page: it is no document any more."""

UNKNOWN_TYPES = frozenset({"unknown/unknown", "application/unknown", "*/*"})
"""What servers write who do not know (MIME Sniffing standard, section 7)."""

_blank = " \t\r\n"
_media_type = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def all_values(headers: Headers, name: str) -> list[str]:
    """Return every value of the header *name* (in lower case), in the order received.

    What is valid UTF-8 is read as that, because servers write it and browsers read it; all else
    stays Latin-1, so that no octet is lost (RFC 9110, section 5.5, calls these opaque).
    """
    size = len(name)
    # The length first: it costs a visit's dozens of look-ups the least.
    return [_text(value) for key, value in headers if len(key) == size and key.lower() == name]


def first_value(headers: Headers, name: str) -> str:
    """Return the first value of a header that should come once, or "" if it is missing."""
    return next(iter(all_values(headers, name)), "")


def joined_values(headers: Headers, name: str) -> str:
    """Return all values of a header that is a list as one, joined by commas (section 5.3)."""
    return ", ".join(all_values(headers, name))


def content_type(headers: Headers) -> str:
    """Return type and subtype in lower case; "" if none is given, or none that means anything.

    Of several the last one counts (Fetch standard, "extract a MIME type").
    """
    return _last_type(joined_values(headers, "content-type"))


@lru_cache(maxsize=1024)
def _last_type(values: str) -> str:
    for value in reversed(values.split(",")):
        media_type = value.partition(";")[0].strip(_blank).lower()
        if _media_type.fullmatch(media_type) and media_type not in UNKNOWN_TYPES:
            return media_type
    return ""


def redirect_target(status: int, headers: Headers, url: str) -> str:
    """Return the canonical URL to which a response from *url* redirects; "" if it does not."""
    location = first_value(headers, "location") if status in REDIRECTS else ""
    try:
        return canonicalize(location, url) if location else ""
    except BadUrl:
        return ""


def fresh_for(headers: Headers) -> float | None:
    """Return for how many seconds a response may be used again unasked (RFC 9111, 4.2); None if it
    does not say."""
    said = joined_values(headers, "cache-control").lower()
    directives = {
        name.strip(): value.strip(' "')
        for name, _, value in (part.partition("=") for part in said.split(","))
    }
    if "no-store" in directives or "no-cache" in directives:
        return 0.0
    lifetime = _seconds(directives.get("max-age", ""))
    if lifetime is None:
        lifetime = _until_expiry(headers)
    return (
        None
        if lifetime is None
        else max(0.0, lifetime - (_seconds(first_value(headers, "age")) or 0.0))
    )


LEAST_LIFETIME, LONGEST_LIFETIME = 60.0, 365 * 86400.0
"""Seconds: what expires sooner is never to be used again, and nobody knows what is a year ahead."""


def expires_at(headers: Headers, fetched_at: float) -> float:
    """Return until when a response *fetched_at* stays as it is by what it says, in epoch seconds.

    0 if it says nothing that can be meant: nothing, "now", or more than a year ahead (5.5 of
    *Practical issues of crawling the Web* has the dates that mean nothing).
    """
    lifetime = fresh_for(headers) or 0.0
    meant = LEAST_LIFETIME <= lifetime <= LONGEST_LIFETIME
    return fetched_at + lifetime if meant else 0.0


def payload_digest(body: bytes) -> str:
    """Return the SHA-1 of a body as received, in base 32 and labelled as WARC does: `sha1:…`."""
    return "sha1:" + b32encode(sha1(body, usedforsecurity=False).digest()).decode()


def _seconds(text: str) -> float | None:
    return float(text[:12]) if text.isdecimal() else None


def _until_expiry(headers: Headers) -> float | None:
    expires, sent = first_value(headers, "expires"), first_value(headers, "date")
    if not expires or not sent:
        return None
    try:
        return (parsedate_to_datetime(expires) - parsedate_to_datetime(sent)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0.0  # RFC 9111, 5.3: what is no date, 0 above all, has expired.


def _text(value: str) -> str:
    # Only HTTP's white space goes: Latin-1's may be the end of a UTF-8 character.
    bare = value.strip(_blank)
    try:
        return bare.encode("latin-1").decode()
    except UnicodeError:
        return bare
