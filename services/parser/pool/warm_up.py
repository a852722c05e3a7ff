"""Loads everything that reading needs before the first page, because the sandbox refuses files.

A library that imports a module, or reads a table, on first use would fail in the sandbox. So one
sample is read by each reader, and every codec is looked up. A test reads real pages in the sandbox
and outside, and compares the results.
"""

import codecs
import gzip
from contextlib import suppress
from encodings.aliases import aliases
from io import BytesIO
from typing import get_args
from zipfile import ZIP_DEFLATED, ZipFile

from msgspec.structs import replace

from gossamer.events import PageFetched, Visit
from gossamer.extras import missing_modules
from gossamer.services.parser.charset import ENCODINGS, codec_of
from gossamer.services.parser.options import Options
from gossamer.services.parser.page import parse
from gossamer.text import TextMode
from gossamer.web.sniffing import OFFICE, PACKED_XML, PDF
from gossamer.web.url import HostKey, Site

SAMPLE_TEXT = "Some words to read, and some more. " * 20
HTML_SAMPLE = f"<title>A page</title><a href=a>A link</a><p>{SAMPLE_TEXT}".encode()
SITEMAP_SAMPLE = (
    b"<urlset><url><loc>http://localhost/</loc><lastmod>2024-02-29</lastmod></url></urlset>"
)
FEED_SAMPLE = (
    b"<rss><channel><item><link>http://localhost/</link>"
    b"<pubDate>Thu, 29 Feb 2024 12:00:00 Europe/Berlin</pubDate></item></channel></rss>"
)
XHTML_SAMPLE = b"<html xmlns='http://www.w3.org/1999/xhtml'><p>A page</p></html>"
PDF_SAMPLE = (
    b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F"
    b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n"
    b"4 0 obj<</Length 45>>stream\nBT /F 9 Tf 9 9 Td (http://localhost/) Tj ET    \nendstream\n"
    b"endobj\ntrailer<</Root 1 0 R>>"
)


def _office_sample() -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        archive.writestr("docProps/core.xml", "<core><title>A title</title></core>")
    return buffer.getvalue()


SAMPLES: dict[str, bytes] = {
    "text/html": HTML_SAMPLE,
    "application/xhtml+xml": XHTML_SAMPLE,
    "text/plain": SAMPLE_TEXT.encode(),
    "text/css": b"@import 'a.css'; p { background: url(b.png) }",
    "text/xml": SITEMAP_SAMPLE,
    "application/xml": XHTML_SAMPLE,
    "application/rss+xml": FEED_SAMPLE,
    "application/atom+xml": FEED_SAMPLE,
    "application/rdf+xml": FEED_SAMPLE,
    "application/json": b'[{"name": "A name", "url": "http://localhost/"}]',
    "application/ld+json": b"{",
    "text/json": b"[]",
    "application/feed+json": b'{"version": "https://jsonfeed.org/version/1"}',
    PDF: PDF_SAMPLE,
    **dict.fromkeys(("application/zip", *OFFICE), _office_sample()),
    PACKED_XML: gzip.compress(SITEMAP_SAMPLE),
}
"""A sample for each of `READERS`, by media type, that makes it load all that it needs."""
SAMPLE_OPTIONS = Options(
    product="",
    text="main",
    simhash_words=1,
    decoded_limit=1 << 20,
    pdf_limit=1 << 20,
    sitemap_limit=1 << 20,
    ratio_limit=1000,
    links_limit=1000,
    links_bytes=1 << 20,
    entries_limit=1000,
    markdown=True,
)


def warm_up() -> None:
    """Load everything that any reader needs."""
    # The detector may return any encoding; mbcs exists only on Windows. Host names are encoded by
    # idna, which is not among the aliases.
    for encoding in (*aliases.values(), "idna"):
        with suppress(LookupError):
            codecs.lookup(encoding)
    for encoding in ENCODINGS:
        codecs.getincrementaldecoder(codec_of(encoding))().decode(b"A")
    modes = [mode for mode in get_args(TextMode) if mode != "rust" or not missing_modules("rust")]
    for kind, body in SAMPLES.items():
        for mode in modes:
            parse(_sample_page(kind, body), replace(SAMPLE_OPTIONS, text=mode), 0)


def _sample_page(kind: str, body: bytes) -> PageFetched:
    return PageFetched(
        at=0,
        site=Site(""),
        host=HostKey(""),
        visit=Visit("", "http://localhost/"),
        started_at=0,
        took=0,
        status=200,
        headers=(("Content-Type", kind),),
        body=body,
    )
