"""Paths and patterns as the octets that RFC 9309, 2.2.2, compares, one Latin-1 character each.

Escapes are undone, so that `/%7Ejoe` equals `/~joe`, and `/caf\u00e9` equals `/caf%C3%A9`. What
stays escaped is data where the bare character would be a delimiter: `?`, `&`, `=`, `+`, `#`, `%`,
and in a path `/`. In a query a slash is data either way (the table in 2.2.2 has both), so there it
is undone. A `%` that begins no escape stands for itself: each `%` of the result begins one.
"""

import re
from urllib.parse import urlsplit

SLASH = "%2F"
"""How a slash that is data looks in the octets of a path."""

_escape = re.compile("%(?:([0-9A-Fa-f]{2}))?")
_special = re.compile(r"[^\x21-\x7e]|[*$]")
_kept = frozenset("?&=+#%/")


def url_octets(url: str) -> str:
    """Return path and query of *url*."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if "?" in url.partition("#")[0] else ""
    return octets((parts.path or "/") + query)


def octets(text: str) -> str:
    """Return the octets of *text*, a path with what follows it up to the fragment."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogatepass").decode("latin-1")
    if "%" not in text:
        return text
    path, mark, query = _escape.sub(_unescaped, text).partition("?")
    return path + mark + slashes_undone(query)


def literally(path: str) -> str:
    """Return a pattern that matches only the octets *path*."""
    return _special.sub(lambda octet: f"%{ord(octet[0]):02X}", path) + "$"


def slashes_undone(octets: str) -> str:
    """Return *octets* as they are found in a query."""
    return octets.replace(SLASH, "/")


def _unescaped(escape: re.Match[str]) -> str:
    if not escape[1]:
        return "%25"
    character = chr(int(escape[1], 16))
    return escape[0].upper() if character in _kept else character
