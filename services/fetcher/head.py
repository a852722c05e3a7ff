"""Parses the head of a response as leniently as browsers do.

Parsers that protect servers reject heads that many sites send: a repeated Content-Length, a space
before a colon, both Content-Length and Transfer-Encoding. This parser accepts them, and finds the
end of the body by RFC 9112, section 6.3. It rejects different Content-Lengths, which that section
calls ambiguous. A Content-Length that is not a number counts as none, as in Chromium.
"""

import math
import re

from msgspec import Struct

from gossamer.web.http import Headers, joined_values

_status_line = re.compile(
    r".{0,4}?http(?:/(\d\.\d))?[^ \t]*[ \t]+(\d{3})(?!\d)(.*)", re.IGNORECASE | re.ASCII
)
_blank = " \t"
"""HTTP's white space. That of Latin-1 may be part of a UTF-8 character."""
_timeout = re.compile(r"\btimeout=(\d{1,9})")
_end = re.compile(rb"\n\r?\n")
_blank_lines = re.compile(rb"[\r\n]*")
MAX_LENGTH = 1 << 62
"""Bytes. A larger Content-Length counts as this."""
BODILESS = (204, 304)


class Malformed(Exception):
    """The bytes are not a valid head of a response; the text says why."""


class Head(Struct, frozen=True):
    """A status line and header fields, as Latin-1, and the framing of the body."""

    version: str
    status: int
    reason: str
    headers: Headers
    length: int | None
    """Bytes of the body. None: the body ends with the last chunk or with the connection."""
    chunked: bool
    keep_alive: bool
    """Whether the connection can be reused after the body."""

    @property
    def interim(self) -> bool:
        """Whether the final response follows (RFC 9110, 15.2)."""
        return self.status // 100 == 1


def end_of_head(data: bytes | bytearray, start: int = 0) -> int:
    """Return the offset of the body, searched from *start*, or 0 if the head has no end yet.

    Blank lines before the status line are part of the head.
    """
    begun = _blank_lines.match(data)
    found = _end.search(data, max(begun.end() if begun else 0, start - 2))
    return found.end() if found else 0


def keep_alive_seconds(head: Head) -> float:
    """Return the server's timeout of idle connections in seconds; infinity if it states none."""
    value = joined_values(head.headers, "keep-alive") if head.keep_alive else "timeout=0"
    found = _timeout.search(value)
    return float(found[1]) if found else math.inf


def parse_head(data: bytes | bytearray) -> Head:
    """Parse all of *data* as a head; raise Malformed."""
    # A bare CR or NUL is replaced by a space (RFC 9112, 2.2; RFC 9110, 5.5).
    text = data.decode("latin-1").replace("\r\n", "\n").replace("\r", " ").replace("\0", " ")
    first, *lines = text.strip("\n").split("\n")
    # Chromium skips up to four octets, and reads a line without a valid version as HTTP/1.0.
    status_line = _status_line.fullmatch(first)
    if status_line is None:
        raise Malformed(f"not a status line: {first[:80]!r}")
    version, status, reason = status_line.groups("")
    headers = _fields(lines)
    return _make_head(version or "1.0", int(status), reason.strip(), headers)


def _fields(lines: list[str]) -> Headers:
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith((" ", "\t")):
            if fields:
                # Folded (RFC 9112, 5.2).
                name, value = fields.pop()
                fields.append((name, f"{value} {line.strip(_blank)}".strip(_blank)))
            # Otherwise the line is ignored (RFC 9112, 2.2).
            continue
        name, colon, value = line.partition(":")
        if colon and (name := name.strip(_blank)):
            fields.append((name, value.strip(_blank)))
    return tuple(fields)


def _make_head(version: str, status: int, reason: str, headers: Headers) -> Head:
    framing: dict[str, list[str]] = {
        "content-length": [],
        "transfer-encoding": [],
        "connection": [],
    }
    for name, value in headers:
        if (values := framing.get(name.lower())) is not None:
            values += (part.strip().lower() for part in value.split(","))
    if status == 101:
        raise Malformed("the server switches to another protocol without a request")
    lengths, options = framing["content-length"], framing["connection"]
    codings = [coding for coding in framing["transfer-encoding"] if coding not in ("", "identity")]
    keep_alive = "close" not in options and (version >= "1.1" or "keep-alive" in options)
    length, chunked = 0 if status in BODILESS else None, False
    if length is None and codings:
        # Transfer-Encoding overrides Content-Length. If a response has both, its framing is
        # ambiguous, so the connection is not reused.
        chunked, keep_alive = codings[-1] == "chunked", keep_alive and not lengths
    elif length is None and lengths:
        length = _parse_length(lengths)
    framed = chunked or length is not None
    return Head(version, status, reason, headers, length, chunked, keep_alive and framed)


def _parse_length(values: list[str]) -> int | None:
    """Return the length; None if a value is invalid: the body ends with the connection."""
    valid = [value for value in values if value.isdecimal() and value.isascii()]
    lengths = {int(value[:20]) for value in valid}
    if len(lengths) > 1:
        raise Malformed(f"different Content-Lengths {', '.join(values)[:80]!r}")
    return min(lengths.pop(), MAX_LENGTH) if len(valid) == len(values) else None
