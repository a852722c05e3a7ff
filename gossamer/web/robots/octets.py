"""Paths and patterns as the octets that RFC 9309, 2.2.2, compares, one Latin-1 character each.

Escapes are decoded, so that `/%7Ejoe` equals `/~joe`, and `/caf\u00e9` equals `/caf%C3%A9`. An
escape stays if the bare character would be a delimiter: `?`, `&`, `=`, `+`, `#`, `%`, and in a path
`/`. In a query a slash is data in both forms (the table in 2.2.2 has both), so it is decoded there.
A `%` that does not begin an escape is escaped, so that each `%` of the result begins an escape.
"""

import re
from urllib.parse import urlsplit

SLASH = "%2F"
"""An escaped slash, which is data, in the octets of a path."""

_escape = re.compile("%(?:([0-9A-Fa-f]{2}))?")
_special = re.compile(r"[^\x21-\x7e]|[*$]")
_still_escaped = frozenset("?&=+#%/")


def url_octets(url: str) -> str:
    """Return the octets of the path and query of *url*."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if "?" in url.partition("#")[0] else ""
    return octets((parts.path or "/") + query)


def octets(text: str) -> str:
    """Return the octets of *text*, a path with an optional query."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogatepass").decode("latin-1")
    if "%" not in text:
        return text
    path, mark, query = _escape.sub(_unescape, text).partition("?")
    return path + mark + unescape_slashes(query)


def literal_pattern(path: str) -> str:
    """Return a pattern that matches only the octets *path*."""
    return _special.sub(lambda octet: f"%{ord(octet[0]):02X}", path) + "$"


def unescape_slashes(octets: str) -> str:
    """Return *octets* in the form of a query, with bare slashes."""
    return octets.replace(SLASH, "/")


def _unescape(escape: re.Match[str]) -> str:
    if not escape[1]:
        return "%25"
    character = chr(int(escape[1], 16))
    return escape[0].upper() if character in _still_escaped else character
