"""Interprets HTTP headers and statuses (RFC 9110), in one place for all services.

Events carry headers as received: names and values are octets, as Latin-1. Only this module
interprets them, so that the fetcher, the parser and the archive cannot disagree about a response.
"""

import codecs
import re
from base64 import b32encode
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import sha1
from typing import TypeAlias

from gossamer.web.url import BadUrl, canonicalize

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values in the order received. A name may occur several times."""

REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
"""Statuses whose Location is followed (RFC 9110, section 15.4).

The five of the Fetch standard, and 300: its Location is the server's preferred choice, which a
client may follow (15.4.1). A browser shows the list in the body instead; the crawler reads only the
bodies of successes. Not 305: its Location named a proxy, and a server must not choose our proxy
(15.4.6). Not 304, which means that nothing changed, nor statuses that are not defined.
"""

NOT_MODIFIED = 304
GONE = frozenset({404, 410})
"""Statuses that mean that the page does not exist (any more)."""

UNKNOWN_TYPES = frozenset({"unknown/unknown", "application/unknown", "*/*"})
"""Types that servers send if they do not know the type (MIME Sniffing standard, section 7)."""

_blank = " \t\r\n"
_refresh = re.compile(
    r"""[\s\0]*[\d.]+(?:\Z|(?:\s*[;,]|\s)\s*(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.*)))""",
    re.IGNORECASE | re.DOTALL,
)
_octet = re.compile(r"[\x80-\xff]")
_media_type = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def all_values(headers: Headers, name: str) -> list[str]:
    """Return every value of the header *name* (in lower case), in the order received.

    A value that is valid UTF-8 is decoded as UTF-8, as browsers do. Any other value stays Latin-1,
    so that no octet is lost (RFC 9110, section 5.5, calls these opaque).
    """
    values = raw_values(headers, name)
    return [to_text(value) for value in values] if values else values


def raw_values(headers: Headers, name: str) -> list[str]:
    """Return every value of the header *name* (in lower case) as octets, in the order received."""
    size = len(name)
    # The length is compared first, because that is the cheapest check.
    # Only HTTP's white space is stripped: Latin-1's may be part of a UTF-8 character.
    return [
        value.strip(_blank) for key, value in headers if len(key) == size and key.lower() == name
    ]


def first_value(headers: Headers, name: str) -> str:
    """Return the first value of a header that should occur once, or "" if it is missing."""
    for value in raw_values(headers, name):
        return to_text(value)
    return ""


def first_reference(headers: Headers, name: str) -> str:
    """Return the URL in the first header *name*, with escaped octets; "" if it is missing."""
    return escape_octets(next(iter(raw_values(headers, name)), ""))


def escape_octets(value: str) -> str:
    """Percent-encode the octets above 127 of *value*, which is Latin-1, as Chromium does.

    A URL in a header or a robots.txt is octets. As text in a wrong encoding it would be another
    URL. A host name with such octets is valid only if they are UTF-8.
    """
    return value if value.isascii() else _octet.sub(escape_octet, value)


def escape_octet(octet: re.Match[str]) -> str:
    """Return the escape of a matched character of Latin-1."""
    return f"%{ord(octet[0]):02X}"


def decode_urls(octets: bytes) -> str:
    """Return a text with URLs as UTF-8; other octets are percent-encoded, as in `escape_octets`."""
    return octets.decode(errors="percent")


def _percent_encode(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    octets = error.object[error.start : error.end]
    return "".join(f"%{octet:02X}" for octet in octets), error.end


codecs.register_error("percent", _percent_encode)


def joined_values(headers: Headers, name: str) -> str:
    """Return all values of a list header, joined by commas (section 5.3)."""
    return ", ".join(all_values(headers, name))


def content_type(headers: Headers) -> str:
    """Return type and subtype in lower case; "" if there is no valid type.

    The last one of several counts (Fetch standard, "extract a MIME type").
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
    """Return the canonical target of a redirect from *url*; "" if there is no valid redirect."""
    location = first_reference(headers, "location") if status in REDIRECTS else ""
    try:
        return canonicalize(location, url) if location else ""
    except BadUrl:
        return ""


def parse_refresh(value: str) -> str | None:
    """Return the target of a Refresh header or meta element; "" if it reloads the page itself, and
    None if it is invalid.

    HTML standard, 4.2.4.3.
    """
    refresh = _refresh.match(value)
    return next((part for part in refresh.groups() if part), "").strip() if refresh else None


def freshness_lifetime(headers: Headers) -> float | None:
    """Return the freshness lifetime of a response in seconds (RFC 9111, 4.2).

    Return None if the response states none.
    """
    cache_control = joined_values(headers, "cache-control").lower()
    directives = {
        name.strip(): value.strip(' "')
        for name, _, value in (part.partition("=") for part in cache_control.split(","))
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


MIN_LIFETIME_SECONDS, MAX_LIFETIME_SECONDS = 60.0, 365 * 86400.0
"""Seconds. A shorter lifetime means "do not cache"; a longer one is not meant seriously."""


def expires_at(headers: Headers, fetched_at: float) -> float:
    """Return when a response *fetched_at* expires, in epoch seconds.

    Return 0 if it states no meaningful time: none, "now", or more than a year ahead (*Practical
    issues of crawling the Web*, 5.5, lists meaningless dates).
    """
    lifetime = freshness_lifetime(headers) or 0.0
    is_meaningful = MIN_LIFETIME_SECONDS <= lifetime <= MAX_LIFETIME_SECONDS
    return fetched_at + lifetime if is_meaningful else 0.0


def parse_date(text: str) -> float | None:
    """Return a date of HTTP (RFC 9110, 5.6.7) in epoch seconds, however absurd; None if it is
    invalid, or has no time zone."""
    try:
        found = parsedate_to_datetime(text)
        return found.timestamp() if found.tzinfo else None
    except (ValueError, TypeError, OverflowError):
        return None


def payload_digest(body: bytes) -> str:
    """Return the SHA-1 of a body as received, in base 32 and in WARC's form: `sha1:…`."""
    return "sha1:" + b32encode(sha1(body, usedforsecurity=False).digest()).decode()


def _seconds(text: str) -> float | None:
    return float(text[:12]) if text.isdecimal() else None


def _until_expiry(headers: Headers) -> float | None:
    expires, sent = first_value(headers, "expires"), first_value(headers, "date")
    if not expires or not sent:
        return None
    until, at = parse_date(expires), parse_date(sent)
    # An invalid date, such as 0, means "expired" (RFC 9111, 5.3).
    return 0.0 if until is None or at is None else until - at


def to_text(value: str) -> str:
    """Return *value*, octets as Latin-1, as UTF-8 if they are valid UTF-8, or else unchanged."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value
