"""Readers of documents by media type: one function each, from `Received` to `PageParsed`.

Only the headers, the size and the digest are known of a document without a reader.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from gossamer.events import PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.web.coding import GZIP_MAGIC, decode
from gossamer.web.sniffing import HTML, OFFICE, PACKED_XML, PDF
from services.parser.readers import html, listings, office, pdf, structured
from services.parser.readers.base import ReceivedDocument, add_text
from services.parser.readers.xml import decode_to_utf_8, root_name
from services.parser.result import add_hazards

Reader = Callable[[ReceivedDocument], PageParsed]


def read(received: ReceivedDocument) -> PageParsed:
    """Return the contents of a document; a requested sitemap is read as one whatever its type."""
    parsed = received.parsed
    if parsed.visit.purpose is Purpose.SITEMAP:
        return read_sitemap(received)
    reader = READERS.get(parsed.content_type)
    return reader(received) if reader else parsed


def read_plain_text(received: ReceivedDocument) -> PageParsed:
    """Return the contents of a plain text."""
    parsed, decoded_text = received.decode(is_html=False)
    return add_text(parsed, decoded_text.text, received.options)


def read_xml(received: ReceivedDocument) -> PageParsed:
    """Return the entries of a sitemap or a feed, or the contents of XHTML, by the root element.

    Other XML is not read. The media type is ignored: all of these are served as any XML type.
    """
    parsed, body = decode_to_utf_8(received)
    root = root_name(body)
    if root == "html":
        return html.read_xhtml(received)
    return _read_listing(parsed, body, root, received) or parsed


def read_sitemap(received: ReceivedDocument) -> PageParsed:
    """Return the entries of a sitemap that a robots.txt or an index names, or of XML in gzip.

    Servers give sitemaps all sorts of types, so the content decides: XML, a page of HTML (which
    usually says that there is no sitemap), or else text.
    """
    received = _unpack(received)
    parsed, body = decode_to_utf_8(received)
    root = root_name(body)
    if listing := _read_listing(parsed, body, root, received):
        return listing
    if received.parsed.visit.purpose is not Purpose.SITEMAP:
        return received.parsed
    if root.lower() == "html" or parsed.content_type in HTML:
        return html.read(received)
    return listings.read_text_sitemap(parsed, body.decode(), received.options)


def _read_listing(
    parsed: PageParsed, body: bytes, root: str, received: ReceivedDocument
) -> PageParsed | None:
    """Return the entries of *body*, in UTF-8; None if *root* is not the root of a listing."""
    if root in listings.SITEMAP_ROOTS:
        return listings.read_sitemap(parsed, body, root, received.options)
    if root in listings.FEED_ROOTS:
        return listings.read_feed(parsed, body, received.options)
    return None


def _unpack(received: ReceivedDocument) -> ReceivedDocument:
    """Return *received* without gzip around it; a decompression bomb is cut."""
    if not received.body.startswith(GZIP_MAGIC):
        return received
    options = received.options
    body = decode(received.body, "gzip", options.sitemap_limit, options.ratio_limit)
    parsed = add_hazards(received.parsed, [Hazard.DECOMPRESSION_BOMB] * body.bomb)
    parsed = replace(parsed, truncated=parsed.truncated or body.cut)
    return received._replace(parsed=parsed, body=body.data)


READERS: Mapping[str, Reader] = {
    "text/html": html.read,
    "application/xhtml+xml": html.read_xhtml,
    "text/plain": read_plain_text,
    "text/xml": read_xml,
    "application/xml": read_xml,
    "application/rss+xml": read_xml,
    "application/atom+xml": read_xml,
    "application/rdf+xml": read_xml,
    "application/json": structured.read,
    "application/ld+json": structured.read,
    "application/feed+json": structured.read,
    PDF: pdf.read,
    "application/zip": office.read,
    **dict.fromkeys(OFFICE, office.read),
    PACKED_XML: read_sitemap,
}
