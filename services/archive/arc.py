"""Records of ARC files (1996 to 2009), as records of WARC.

    http://a.example/ 192.0.2.7 20040501120000 text/html 4217

A record begins with such a line: URL, address, time, type and length, in version 2 with more fields
before the length. Its content is an HTTP response, or a body alone: a server of HTTP/0.9 sends no
head (RFC 1945, 6). The record of a WARC file says the same.
"""

import re

from gossamer.captures import begins_response

START = b"filedesc:"
"""The first bytes of an ARC file: its first record describes it."""
MAX_LINE_BYTES = 8 << 10
NO_TYPES = (b"", b"no-type")

RECORD_LINE = re.compile(
    rb"(?<=\n)[A-Za-z][\w+.-]*:\S[^\r\n]{0,4000}? \S{1,60} \d{8,17} "
    rb"(?:[^\r\n]{0,500}? )?\d{1,15}\r?\n"
)
"""The first line of a record, behind other lines."""

_line = re.compile(
    rb"\s*([A-Za-z][\w+.-]*:\S[^\r\n]*?) (\S+) (\d{8,17}) ((?:[^\r\n]*? )?)(\d{1,15})\r?\n"
)


def arc_length(data: bytes) -> int | None:
    """Return the length of the record that *data* begins with; None without one."""
    found = _line.match(data, 0, MAX_LINE_BYTES)
    return found.end() + int(found[5]) if found else None


def as_warc(data: bytes) -> bytes | None:
    """Return the record that *data* begins with as one of WARC; None without one.

    *data* may be the beginning of the record.
    """
    found = _line.match(data, 0, MAX_LINE_BYTES)
    if found is None:
        return None
    url, address, date, about, length = found.groups()
    content = data[found.end() : found.end() + int(length)]
    kind, content_type = b"response", b"application/http; msgtype=response"
    if url.startswith(START):
        kind = b"warcinfo"
    elif url.lower().startswith(b"http") and content and not begins_response(content):
        kind, content_type = b"resource", about.split(b" ")[0].rstrip(b",")
    head = [
        b"WARC/1.0",
        b"WARC-Type: " + kind,
        b"WARC-Target-URI: " + url,
        b"WARC-Date: " + date,
        b"WARC-IP-Address: " + address,
        b"Content-Length: " + length,
    ]
    if content_type not in NO_TYPES:
        head.append(b"Content-Type: " + content_type)
    return b"\r\n".join(head) + b"\r\n\r\n" + content
