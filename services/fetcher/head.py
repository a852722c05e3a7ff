"""The head of an answer, read as browsers read it: what is odd but clear is no fault.

Parsers that guard servers refuse what many sites send: a length that is said twice, a space before
the colon, two framings. Here the head is read leniently, and where its body ends is decided by
RFC 9112, section 6.3; what is ambiguous is refused there, and so it is here.
"""

import math
import re

from msgspec import Struct

from gossamer.web.http import Headers, joined_values

_status_line = re.compile(r"http/(\d\.\d)[ \t]+(\d{3})(?:[ \t]+(.*))?", re.IGNORECASE)
_timeout = re.compile(r"\btimeout=(\d{1,9})")
_end = re.compile(rb"\n\r?\n")
LONGEST = 1 << 62
"""Bytes: a larger Content-Length means no more."""
BODILESS = (204, 304)


class Malformed(Exception):
    """What came is no head of an answer; the text says why."""


class Head(Struct, frozen=True):
    """A status line and header fields, as Latin-1, and how the body is framed."""

    version: str
    status: int
    reason: str
    headers: Headers
    length: int | None
    """Of the body; None: it ends with its last chunk, or with the connection."""
    chunked: bool
    keeps: bool
    """Whether the connection may be used again after the body."""

    @property
    def interim(self) -> bool:
        """Whether the answer proper is still to come (RFC 9110, 15.2)."""
        return self.status // 100 == 1


def end_of_head(data: bytes | bytearray, start: int = 0) -> int:
    """Return where the body begins, or 0; what is before *start* was looked through already."""
    found = _end.search(data, max(0, start - 2))
    return found.end() if found else 0


def kept_for(head: Head) -> float:
    """Return the seconds for which the server keeps an idle connection, as far as it says."""
    said = joined_values(head.headers, "keep-alive") if head.keeps else "timeout=0"
    found = _timeout.search(said)
    return float(found[1]) if found else math.inf


def parse_head(data: bytes | bytearray) -> Head:
    """Return the head that is all of *data*; raise Malformed."""
    # A bare CR or NUL is to be replaced, if it is not refused (RFC 9112, 2.2; RFC 9110, 5.5).
    text = data.decode("latin-1").replace("\r\n", "\n").replace("\r", " ").replace("\0", " ")
    first, *lines = text.strip("\n").split("\n")
    status_line = _status_line.fullmatch(first)
    if status_line is None:
        raise Malformed(f"no status line but {first[:80]!r}")
    version, status, reason = status_line.groups("")
    headers = _fields(lines)
    return _framed(version, int(status), reason.strip(), headers)


def _fields(lines: list[str]) -> Headers:
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (" ", "\t") and fields:
            # Folded (RFC 9112, 5.2).
            name, value = fields.pop()
            fields.append((name, f"{value} {line.strip()}".strip()))
            continue
        name, colon, value = line.partition(":")
        if colon and (name := name.strip(" \t")):
            fields.append((name, value.strip(" \t")))
    return tuple(fields)


def _framed(version: str, status: int, reason: str, headers: Headers) -> Head:
    named: dict[str, list[str]] = {"content-length": [], "transfer-encoding": [], "connection": []}
    for name, value in headers:
        if (values := named.get(name.lower())) is not None:
            values += (part.strip().lower() for part in value.split(","))
    if status == 101:
        raise Malformed("the server switches to a protocol that nobody asked for")
    lengths, options = named["content-length"], named["connection"]
    codings = [coding for coding in named["transfer-encoding"] if coding not in ("", "identity")]
    keeps = "close" not in options and (version >= "1.1" or "keep-alive" in options)
    length, chunked = 0 if status in BODILESS else None, False
    if length is None and codings:
        # Chunks win, and nothing is asked of a connection that might be read in two ways.
        chunked, keeps = codings[-1] == "chunked", keeps and not lengths
    elif length is None and lengths:
        length = _length(lengths)
    framed = chunked or length is not None
    return Head(version, status, reason, headers, length, chunked, keeps and framed)


def _length(values: list[str]) -> int:
    lengths = {int(value[:20]) if value.isdecimal() and value.isascii() else -1 for value in values}
    if len(lengths) > 1 or -1 in lengths:
        raise Malformed(f"no length of the body but {', '.join(values)[:80]!r}")
    return min(lengths.pop(), LONGEST)
