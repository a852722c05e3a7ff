"""What reads a document, by its media type: one function each, from `Received` to `PageParsed`.

Of a type that has no reader here only the headers, the size and the digest are known.
"""

from collections.abc import Callable, Mapping

from gossamer.events import PageParsed, Purpose
from gossamer.web.sniffing import OFFICE, PACKED_XML, PDF
from services.parser.readers import by_root, html, named, office, pdf, plain, structured, xhtml
from services.parser.readers.received import Received

Reader = Callable[[Received], PageParsed]

READERS: Mapping[str, Reader] = {
    "text/html": html.read,
    "application/xhtml+xml": xhtml.read,
    "text/plain": plain.read,
    "text/xml": by_root.read,
    "application/xml": by_root.read,
    "application/rss+xml": by_root.read,
    "application/atom+xml": by_root.read,
    "application/rdf+xml": by_root.read,
    "application/json": structured.read,
    "application/ld+json": structured.read,
    "application/feed+json": structured.read,
    PDF: pdf.read,
    "application/zip": office.read,
    **dict.fromkeys(OFFICE, office.read),
    PACKED_XML: named.read,
}


def read(received: Received) -> PageParsed:
    """Return what a document says, by its type, or because it was named as a sitemap."""
    parsed = received.parsed
    if parsed.visit.purpose is Purpose.SITEMAP:
        return named.read(received)
    reader = READERS.get(parsed.content_type)
    return reader(received) if reader else parsed
