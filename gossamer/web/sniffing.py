"""Decides the type of a body: by its headers, and by its first bytes where headers are unreliable.

Implements the WHATWG MIME Sniffing standard, section 7, with its tables of signatures (6.1 to 6.4,
7.1). The fetcher decides with it whether a body is read, and the parser how, so they always agree.

Differences from the standard:

- A browser always believes `text/html`, so a ZIP archive declared as such would be read whole.
  Here a text that begins like a binary format has the type of that format.
- A browser saves `application/octet-stream`. Servers send it, or `binary/octet-stream`, for files
  that they do not know, so it counts as no type.
- The signatures of BMP and ID3 are longer than in the standard, because texts may begin with their
  two or three letters.
- A UTF-8 BOM may precede markup.
- A listing, such as a feed, is recognised by its first element in any text, because servers give
  feeds and sitemaps all sorts of types.
- `nosniff` is obeyed: the declared type is then the type.
- The first bytes of a gzip file are unpacked, because sitemaps are sent like this.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from gossamer.web.coding import decode
from gossamer.web.http import Headers, all_values, content_type, first_value, joined_values

HTML = ("text/html", "application/xhtml+xml")
TEXT = "text/plain"
STYLE = "text/css"
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
UNCUTTABLE_TYPES = frozenset({PDF, "application/zip", *OFFICE})
"""Types that are useless when they are cut, because they are read from the end."""
BINARY = "application/octet-stream"
JSON_FEED = "application/feed+json"
GZIP = ("application/gzip", "application/x-gzip")
PACKED_XML = "application/xml+gzip"
"""XML, such as a sitemap, in a gzip file (RFC 8460 defines the suffix)."""
RESOURCE_HEADER_BYTES = 1445
"""Bytes that are examined (section 5.2, the resource header)."""
DECIDING_BYTES = 8 << 10
"""Received bytes after which the type is decided, even if few of them could be decoded."""

DEFAULT_CONTENT_TYPES = {
    "text/plain",
    "text/plain; charset=ISO-8859-1",
    "text/plain; charset=iso-8859-1",
    "text/plain; charset=UTF-8",
}
"""Default headers of servers. Only with these may plain text be something else (5.1)."""

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
    rb"<(?:(?:[a-z][\w.-]*:)?(?:(rss)|(feed)|(urlset|sitemapindex))(?=[\t\n\f\r />])"
    rb"|rdf:RDF(?=.*http://purl\.org/rss/1\.0/)"
    rb"(?=.*http://www\.w3\.org/1999/02/22-rdf-syntax-ns#))",
    re.DOTALL | re.IGNORECASE,
)
_json_feed = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\r ]*\{(?=.*\"https?:\\?/\\?/jsonfeed\.org\\?/version\\?/)", re.DOTALL
)
_xml_type = re.compile(r".*[/+-](?:xml|rss|atom|rdf)")
READ_BY_ROOT = frozenset(
    f"application/{name}" for name in ("xml", "rdf+xml", "rss+xml", "atom+xml", "xhtml+xml")
) | {"text/xml"}
"""Types under which the root element decides."""
BOMS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_xml = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\r ]*<(?:\?xml|(?:urlset|sitemapindex|rss|feed)[\t\n\r />])"
)
_binary = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def is_textual(kind: str) -> bool:
    """Return whether a document of this type can be parsed without its end."""
    is_structured = kind == "application/json" or kind.endswith("+json") or is_xml(kind)
    return is_structured or kind.startswith("text/")


def is_xml(kind: str) -> bool:
    """Return whether a type is of XML, also if it is not registered, such as `application/rss`."""
    return _xml_type.fullmatch(kind) is not None


class Declared(NamedTuple):
    """The type that the headers of a response declare."""

    kind: str
    """As `content_type` reads it."""
    nosniff: bool
    by_default: bool
    """Whether the type is a server's default."""

    @property
    def needs(self) -> int:
        """Bytes of the decoded body that decide the type; 0: the headers decide."""
        if self.kind in GZIP:
            return RESOURCE_HEADER_BYTES
        if self.kind and self.nosniff:
            return 0
        return RESOURCE_HEADER_BYTES if self.kind in ("", BINARY) or is_textual(self.kind) else 0

    def type_of(self, body: bytes) -> str:
        """Return the type of the response, from the first bytes of its decoded *body*."""
        kind = self._decide(body)
        return _sniff_gzip(kind, body) if kind in GZIP else kind

    def _decide(self, body: bytes) -> str:
        if not self.needs or self.kind in GZIP:
            return self.kind
        if self.kind in ("", BINARY):
            found = _sniff_unknown(body, markup=not self.nosniff)
            return BINARY if self.kind and found == TEXT else found
        if self.kind == "text/html":
            return _format(body) or _listing(body) or self.kind
        listing = _listing(body)
        if listing and (self.kind not in READ_BY_ROOT or listing == JSON_FEED):
            return listing
        return _format(body) or (_text_or_binary(body) if self.by_default else self.kind)


def declared_type(headers: Headers) -> Declared:
    """Return the declared type in *headers*."""
    kind = content_type(headers)
    kind = BINARY if kind == "binary/octet-stream" else kind
    by_default = kind == TEXT and all_values(headers, "content-type")[-1] in DEFAULT_CONTENT_TYPES
    return Declared(kind, _nosniff(headers), by_default)


class FileKind(StrEnum):
    """The kind of a file that a page needs."""

    IMAGE = "image"
    STYLE = "style"
    SCRIPT = "script"
    FONT = "font"
    MEDIUM = "audio or video file"
    FLASH = "Flash film"


_extensions = {
    FileKind.IMAGE: "apng avif bmp gif ico jfif jpe jpeg jpg jxl png svg svgz tif tiff webp",
    FileKind.STYLE: "css",
    FileKind.SCRIPT: "js mjs",
    FileKind.FONT: "eot otf ttf woff woff2",
    FileKind.MEDIUM: "aac avi flac m4a m4v mkv mov mp3 mp4 oga ogg ogv opus vtt wav webm",
    FileKind.FLASH: "swf",
}
KIND_BY_EXTENSION = {
    extension: kind for kind, extensions in _extensions.items() for extension in extensions.split()
}


def file_kind(url: str) -> FileKind | None:
    """Return the kind that the extension of *url*, absolute or not, has; None for other URLs."""
    name = url.partition("#")[0].partition("?")[0].rpartition("/")[2]
    return KIND_BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None


def media_type(headers: Headers, body: bytes) -> str:
    """Return the type of a response with this decoded *body*, or the beginning of it."""
    return declared_type(headers).type_of(body)


def _nosniff(headers: Headers) -> bool:
    """Fetch standard, "determine nosniff": the first value decides."""
    value = first_value(headers, "x-content-type-options")
    return value.partition(",")[0].strip(" \t").lower() == "nosniff"


def _sniff_unknown(body: bytes, markup: bool) -> str:
    """Section 7.1; *markup* is its sniff-scriptable flag."""
    begins = _begins_markup.match(body) if markup else None
    found = _row(MARKUP, begins) or (_listing(body) if markup else "")
    return found or _format(body) or _text_or_binary(body)


def _sniff_gzip(kind: str, body: bytes) -> str:
    """Return the type of *body*, which is declared as gzip, by its content."""
    first = decode(body[:RESOURCE_HEADER_BYTES], "gzip", RESOURCE_HEADER_BYTES)
    if not _xml.match(first.data):
        return kind
    # Some servers declare the type gzip for a Content-Encoding that is already decoded.
    return "text/xml" if first.as_sent else PACKED_XML


def _text_or_binary(body: bytes) -> str:
    """Section 7.2."""
    return (
        TEXT
        if body.startswith(BOMS) or not _binary.search(body, 0, RESOURCE_HEADER_BYTES)
        else BINARY
    )


def _listing(body: bytes) -> str:
    """Return the type of a feed or sitemap; "" for another text (section 7.3)."""
    found = _feed.match(body, 0, RESOURCE_HEADER_BYTES)
    if not found:
        return JSON_FEED if _json_feed.match(body, 0, RESOURCE_HEADER_BYTES) else ""
    if found[3]:
        return "application/xml"
    return "application/atom+xml" if found[2] else "application/rss+xml"


def _format(body: bytes) -> str:
    return _row(FORMATS, _begins_format.match(body))


def _row(table: dict[str, bytes], found: re.Match[bytes] | None) -> str:
    """Return the type whose signature matched; each group of the match is a row of the table."""
    return [*table][found.lastindex - 1] if found and found.lastindex else ""


def whole_type(headers: Headers, body: bytes) -> str:
    """Return the type of a response with this *body*, still content-encoded."""
    declared, codings = declared_type(headers), joined_values(headers, "content-encoding")
    return declared.type_of(decode(body[:DECIDING_BYTES], codings, declared.needs).data)
