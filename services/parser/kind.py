"""What type a body is: what its server declared, unless the first bytes show another.

The tables are those of the WHATWG MIME Sniffing standard (sections 7.1 and 7.2), reduced to the
types that the parser distinguishes.
"""

import re

HTML = ("text/html", "application/xhtml+xml")
TEXT = "text/plain"
BINARY = "application/octet-stream"

DOUBTFUL = ("", TEXT, BINARY)
"""Types that servers give to what they do not know; "" is none, or a meaningless one."""
SIGNATURES = {
    b"%PDF-": "application/pdf",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b\x08": "application/gzip",
    b"GIF8": "image/gif",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
}
BOMS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
HEADER = 1445
"""Bytes that are looked at (section 5.2, the resource header)."""

_html = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:!--|(?:!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT"
    rb"|TABLE|A|STYLE|TITLE|B|BODY|BR|P)[\t\n\f\r />])",
    re.IGNORECASE,
)
_binary = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def kind_of(declared: str, body: bytes) -> str:
    """Return the type of *body*, which its server *declared* (`gossamer.web.http.content_type`)."""
    if declared not in DOUBTFUL and declared not in HTML:
        return declared
    for signature, kind in SIGNATURES.items():
        if body.startswith(signature):
            return kind
    return declared if declared in HTML else _sniffed(declared, body)


def _sniffed(declared: str, body: bytes) -> str:
    if _html.match(body):
        return HTML[0]
    if declared == BINARY:
        return BINARY
    if body.startswith(BOMS) or not _binary.search(body, 0, HEADER):
        return TEXT
    return BINARY
