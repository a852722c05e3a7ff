"""What type a body is: as its server says, unless its first bytes say otherwise.

The tables are those of the WHATWG MIME Sniffing standard (sections 7.1 and 7.2), cut down to what
the parser tells apart.
"""

import re

HTML = ("text/html", "application/xhtml+xml")
TEXT = "text/plain"
BINARY = "application/octet-stream"

UNSAID = ("", TEXT, BINARY, "unknown/unknown", "application/unknown", "*/*")
"""Types that servers give to what they do not know."""
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

_html = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:!--|(?:!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT"
    rb"|TABLE|A|STYLE|TITLE|B|BODY|BR|P)[\t\n\f\r />])",
    re.IGNORECASE,
)
_binary = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_essence = re.compile(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+")


def kind_of(content_type: str, body: bytes) -> str:
    """Return the type of *body*, in lower case and without parameters."""
    declared = _declared(content_type)
    if declared not in UNSAID and declared not in HTML:
        return declared
    for signature, kind in SIGNATURES.items():
        if body.startswith(signature):
            return kind
    return declared if declared in HTML else _sniffed(declared, body)


def _declared(content_type: str) -> str:
    essence = content_type.partition(";")[0].strip().lower()
    return essence if _essence.fullmatch(essence) else ""


def _sniffed(declared: str, body: bytes) -> str:
    if _html.match(body):
        return HTML[0]
    if declared == BINARY:
        return BINARY
    if body.startswith(BOMS) or not _binary.search(body, 0, HEADER):
        return TEXT
    return BINARY


def contradicts(content_type: str, kind: str) -> bool:
    """Whether the server called a body something else than it is (hazard wrong_content_type)."""
    return _declared(content_type) != kind
