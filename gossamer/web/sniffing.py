"""What type a body is: by its headers, and by its first bytes where servers are known to be wrong.

The WHATWG MIME Sniffing standard, section 7, with its tables of signatures (6.1 to 6.4, 7.1). The
fetcher decides by it what it reads on, and the parser what it has read, so that they cannot differ.

Where we go beyond the standard. A browser believes `text/html` whatever follows; a ZIP archive of
that name would come down whole, so text that begins like a binary format is that format. A browser
saves `application/octet-stream`; servers give it to files whose name they do not know, so it counts
as no type. BMP and ID3 need more than their two or three letters, with which texts begin, too. A
UTF-8 BOM may stand before markup. `nosniff` is obeyed: a type that was declared is then the type.
Of what is packed with gzip the first bytes are unpacked, too: sitemaps come so, and archives of any
size.
"""

import re
from typing import NamedTuple

from gossamer.web.coding import decoded
from gossamer.web.http import Headers, all_values, content_type, first_value, joined_values

HTML = ("text/html", "application/xhtml+xml")
TEXT = "text/plain"
PDF = "application/pdf"
_office = "application/vnd.openxmlformats-officedocument"
OFFICE = (
    f"{_office}.wordprocessingml.document",
    f"{_office}.spreadsheetml.sheet",
    f"{_office}.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.presentation",
)
WHOLE = frozenset({PDF, "application/zip", *OFFICE})
"""What is of no use when it is cut: it is read from its end."""
BINARY = "application/octet-stream"
GZIP = ("application/gzip", "application/x-gzip")
PACKED_XML = "application/xml+gzip"
"""XML, such as a sitemap, in a file packed with gzip (the suffix is RFC 8460's)."""
HEADER = 1445
"""Bytes that are looked at (section 5.2, the resource header)."""
ENOUGH = 8 << 10
"""Bytes as received that settle a type even if hardly one of them could be decoded."""

APACHE = {
    "text/plain",
    "text/plain; charset=ISO-8859-1",
    "text/plain; charset=iso-8859-1",
    "text/plain; charset=UTF-8",
}
"""What servers write by default: the only plain text that may be none (5.1)."""

MARKUP = {
    "text/html": rb"<(?:!--|(?:!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT|TABLE|A|STYLE"
    rb"|TITLE|B|BODY|BR|P)[\t\n\f\r />])",
    "text/xml": rb"<\?xml",
}
FORMATS = {
    PDF: rb"%PDF-",
    "application/postscript": rb"%!PS-Adobe-",
    "image/x-icon": rb"\x00\x00[\x01\x02]\x00",
    "image/bmp": rb"BM.{4}\x00{4}",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF.{4}WEBPVP",
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "audio/aiff": rb"FORM.{4}AIFF",
    "audio/mpeg": rb"ID3[\x02-\x04]",
    "application/ogg": rb"OggS\x00",
    "audio/midi": rb"MThd\x00\x00\x00\x06",
    "video/avi": rb"RIFF.{4}AVI ",
    "audio/wave": rb"RIFF.{4}WAVE",
    "video/mp4": rb"\x00.{3}ftyp",
    "video/webm": rb"\x1a\x45\xdf\xa3",
    "application/x-gzip": rb"\x1f\x8b\x08",
    "application/zip": rb"PK\x03\x04",
    "application/x-rar-compressed": rb"Rar!\x1a\x07",
}


def _any_of(rows: dict[str, bytes]) -> bytes:
    return b"(?:" + b"|".join(b"(" + signature + b")" for signature in rows.values()) + b")"


_begins_markup = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*" + _any_of(MARKUP), re.IGNORECASE)
_begins_format = re.compile(_any_of(FORMATS), re.DOTALL)
_feed = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>(?:[\t\n\f\r ]*<(?>!--.*?-->|!(?!--)[^>]*>|\?.*?\?>))*)[\t\n\f\r ]*"
    rb"<(?:(rss)|(feed)|rdf:RDF(?=.*http://purl\.org/rss/1\.0/)"
    rb"(?=.*http://www\.w3\.org/1999/02/22-rdf-syntax-ns#))",
    re.DOTALL,
)
BOMS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_xml = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\r ]*<(?:\?xml|(?:urlset|sitemapindex|rss|feed)[\t\n\r />])"
)
_binary = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def is_textual(kind: str) -> bool:
    """Return whether documents of this type can be read though their end is missing."""
    named = kind in ("application/json", "application/xml")
    return named or kind.startswith("text/") or kind.endswith(("+xml", "+json"))


class Declared(NamedTuple):
    """What the headers of a response say of its type."""

    kind: str
    """As `content_type` reads it."""
    nosniff: bool
    by_default: bool
    """Whether it is what servers write who have not been told otherwise."""

    @property
    def needs(self) -> int:
        """How many bytes of the decoded body settle the type; 0: they change nothing."""
        if self.kind in GZIP:
            return HEADER
        if self.kind and self.nosniff:
            return 0
        return HEADER if self.kind in ("", BINARY) or is_textual(self.kind) else 0

    def type_of(self, body: bytes) -> str:
        """Return the type of the response by the first bytes of its decoded *body*."""
        kind = self._told(body)
        return _unpacked(kind, body) if kind in GZIP else kind

    def _told(self, body: bytes) -> str:
        if not self.needs or self.kind in GZIP:
            return self.kind
        if self.kind in ("", BINARY):
            found = _unknown(body, markup=not self.nosniff)
            return BINARY if self.kind and found == TEXT else found
        if self.kind == "text/html":
            return _format(body) or _feed_or_html(body)
        return _format(body) or (_text_or_binary(body) if self.by_default else self.kind)


def declared_type(headers: Headers) -> Declared:
    """Return what *headers* say."""
    kind = content_type(headers)
    by_default = kind == TEXT and all_values(headers, "content-type")[-1] in APACHE
    return Declared(kind, _nosniff(headers), by_default)


def media_type(headers: Headers, body: bytes) -> str:
    """Return the type of a response with this decoded *body*, or the beginning of it."""
    return declared_type(headers).type_of(body)


def _nosniff(headers: Headers) -> bool:
    """Fetch standard, "determine nosniff": the first value decides."""
    said = first_value(headers, "x-content-type-options")
    return said.partition(",")[0].strip(" \t").lower() == "nosniff"


def _unknown(body: bytes, markup: bool) -> str:
    """Section 7.1; *markup* is its sniff-scriptable flag."""
    begins = _begins_markup.match(body) if markup else None
    return _row(MARKUP, begins) or _format(body) or _text_or_binary(body)


def _unpacked(kind: str, body: bytes) -> str:
    """Return the type of *body*, which is packed with gzip or called so, by what is in it."""
    first = decoded(body[:HEADER], "gzip", HEADER)
    if not _xml.match(first.data):
        return kind
    # Some servers call a coding by this name that they have applied and said.
    return "text/xml" if first.as_sent else PACKED_XML


def _text_or_binary(body: bytes) -> str:
    """Section 7.2."""
    return TEXT if body.startswith(BOMS) or not _binary.search(body, 0, HEADER) else BINARY


def _feed_or_html(body: bytes) -> str:
    """Section 7.3."""
    found = _feed.match(body, 0, HEADER)
    if not found:
        return "text/html"
    return "application/atom+xml" if found[2] else "application/rss+xml"


def _format(body: bytes) -> str:
    return _row(FORMATS, _begins_format.match(body))


def _row(table: dict[str, bytes], found: re.Match[bytes] | None) -> str:
    """Return the type whose signature was found; the groups are the rows of the table."""
    return [*table][found.lastindex - 1] if found and found.lastindex else ""


def whole_type(headers: Headers, body: bytes) -> str:
    """Return the type of a response with this *body*, still content-encoded."""
    declared, codings = declared_type(headers), joined_values(headers, "content-encoding")
    return declared.type_of(decoded(body[:ENOUGH], codings, declared.needs).data)
