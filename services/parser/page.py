"""Reads one response by the reader of its media type, without the processes around it.

A reader is a function from `ReceivedDocument` to `PageParsed`. The result for a document without a
reader contains only the headers, the size and the digest.
"""

import re
from collections.abc import Callable, Mapping
from math import inf
from urllib.parse import urlsplit

from msgspec.structs import replace

from gossamer.events import Link, PageFetched, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind
from gossamer.services.parser import files, listings, styles
from gossamer.services.parser.dates import parse_web_date
from gossamer.services.parser.html import document
from gossamer.services.parser.links import find_header_alternates, find_header_links
from gossamer.services.parser.options import Options
from gossamer.services.parser.received import ReceivedDocument, add_text
from gossamer.services.parser.result import add_hazards_if, start_result
from gossamer.services.parser.text import digest_of
from gossamer.services.parser.xml import XmlDocument, decode_markup, read_document
from gossamer.web.coding import GZIP_MAGIC, Body, decode
from gossamer.web.directives import (
    UNAVAILABLE_AFTER,
    directive_value,
    find_signals,
    parse_directives,
)
from gossamer.web.http import (
    all_values,
    content_type,
    expires_at,
    joined_values,
    payload_digest,
    redirect_target,
)
from gossamer.web.sniffing import (
    GZIP,
    HTML,
    JSON_FEED,
    OFFICE,
    PACKED_XML,
    PDF,
    STYLE,
    UNCUTTABLE_TYPES,
    is_xml,
    media_type,
    whole_type,
)
from gossamer.web.usage import is_reserved
from gossamer.web.validators import validators_after_304, validators_of

LISTING_ENDINGS = (".xml", ".gz", ".txt")
"""How the path of a sitemap ends, in lower case."""
MESSAGE_SIZE = 500
"""Bytes in which the first message of a server begins."""
_message = re.compile(
    rb"<b>(?:Notice|Warning|Deprecated|Strict Standards)</b>:|class=['\"]xdebug-error"
)
"""The beginning of a message of PHP, and of its debugger."""
_language_tag = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,4}")
"""A language tag (RFC 5646, 2.1), without those that nobody uses."""
Reader = Callable[[ReceivedDocument], PageParsed]


def parse(page: PageFetched, options: Options, now: float) -> PageParsed:
    """Return the contents of *page*.

    Any bytes are accepted. Some need more time or memory than there is, so `pool` limits both.
    """
    parsed = replace(start_result(page, now), payload_digest=payload_digest(page.body))
    if page.wall:
        return parsed
    if page.status == 304 and page.visit.conditions:
        validators = validators_after_304(validators_of(page.headers), page.visit.validators)
        return replace(parsed, validators=validators, expires_at=_expires_at(page))
    if target := redirect_target(page.status, page.headers, page.visit.url):
        if page.visit.purpose is Purpose.USUAL_SITEMAP and not _may_be_listing(target):
            return parsed
        return replace(parsed, links=(Link(target, redirect=True),))
    if not 200 <= page.status < 300:
        return parsed
    validators = validators_of(page.headers)
    parsed = replace(parsed, validators=validators, expires_at=_expires_at(page))
    codings = joined_values(page.headers, "content-encoding")
    body = decode(page.body, codings, _max_decoded_size(page, options), options.ratio_limit)
    parsed = _add_body(page, parsed, body, options)
    header = joined_values(page.headers, "content-type")
    parsed = read_by_type(ReceivedDocument(parsed, body.data, header, options))
    if not parsed.digest:
        parsed = replace(parsed, digest=digest_of(body.data))
    return _apply_directives(_add_header_links(parsed, page), options)


def _may_be_listing(url: str) -> bool:
    """Return whether the path of *url* ends as that of a sitemap does. A usual sitemap that does
    not exist is often redirected to a page."""
    return urlsplit(url).path.lower().endswith(LISTING_ENDINGS)


def _max_decoded_size(page: PageFetched, options: Options) -> int:
    if page.visit.purpose.is_sitemap:
        return options.sitemap_limit
    kind = whole_type(page.headers, page.body)
    if kind == PACKED_XML:
        return options.sitemap_limit
    return options.pdf_limit if kind in UNCUTTABLE_TYPES else options.decoded_limit


def _expires_at(page: PageFetched) -> float:
    return expires_at(page.headers, page.started_at)


def _add_body(page: PageFetched, parsed: PageParsed, body: Body, options: Options) -> PageParsed:
    kind = media_type(page.headers, body.data)
    is_declared = _is_declared_type(content_type(page.headers), kind)
    conditions = {
        Hazard.DECOMPRESSION_BOMB: body.bomb,
        Hazard.WRONG_CONTENT_TYPE: bool(body.data) and not is_declared,
    }
    return replace(
        add_hazards_if(parsed, conditions),
        content_type=kind,
        size=len(body.data),
        truncated=parsed.truncated or body.cut,
        directives=parse_directives(all_values(page.headers, "x-robots-tag"), options.product),
        declared_language=_read_content_language(page),
    )


def _read_content_language(page: PageFetched) -> str:
    """Return the language in the header Content-Language (RFC 9110, 8.5); "" if it names none or
    several."""
    stated = joined_values(page.headers, "content-language").strip()
    return stated if _language_tag.fullmatch(stated) else ""


def _is_declared_type(declared: str, kind: str) -> bool:
    is_json_feed = kind == JSON_FEED and declared.endswith("json")
    return declared == kind or is_json_feed or (declared in GZIP and kind == PACKED_XML)


def _add_header_links(parsed: PageParsed, page: PageFetched) -> PageParsed:
    """Return *parsed* with the links in the HTTP headers of *page*; links in the body win."""
    links = find_header_links(page.headers, page.visit.url)
    body_urls = {link.url for link in parsed.links}
    canonical_urls = (link.url for link in links if link.kind == LinkKind.CANONICAL)
    return replace(
        parsed,
        canonical=parsed.canonical or next(canonical_urls, ""),
        alternates={**find_header_alternates(page.headers, page.visit.url), **parsed.alternates},
        links=(*parsed.links, *(link for link in links if link.url not in body_urls)),
    )


def _apply_directives(parsed: PageParsed, options: Options) -> PageParsed:
    """Return *parsed* with noindex and nofollow, by its robots directives and the settings."""
    after = parse_web_date(directive_value(UNAVAILABLE_AFTER, parsed.directives), inf)
    reserved = is_reserved(parsed.usage_statements)
    given = find_signals(parsed.directives, reserved, 0.0 < after <= parsed.fetched_at)
    noindex = not given.isdisjoint(options.not_indexed)
    nofollow = not given.isdisjoint(options.not_followed)
    conditions = {
        Hazard.NOINDEX: noindex,
        Hazard.NOFOLLOW: nofollow or any(link.nofollow for link in parsed.links),
    }
    parsed = add_hazards_if(parsed, conditions)
    return replace(parsed, unavailable_after=after, noindex=noindex, nofollow=nofollow)


def read_by_type(received: ReceivedDocument) -> PageParsed:
    """Return the contents of a document. The type of a requested sitemap is ignored."""
    parsed = received.parsed
    if parsed.visit.purpose.is_sitemap:
        return read_sitemap(received)
    kind = parsed.content_type
    reader = READERS.get(kind) or (read_xml if is_xml(kind) else None)
    return reader(received) if reader else parsed


def read_html(received: ReceivedDocument) -> PageParsed:
    """Return the contents of HTML, or the entries of a feed behind a message of the server.

    A message that PHP prints before the headers gives a feed the type of HTML.
    """
    begins_with_message = _message.search(received.body, 0, MESSAGE_SIZE)
    listing = _find_listing(received) if begins_with_message else None
    return listing or document.read_html(received)


def read_xhtml(received: ReceivedDocument) -> PageParsed:
    """Return the contents of XHTML, or the entries of a feed of this type."""
    return _find_listing(received) or document.read_xhtml(received)


def _find_listing(received: ReceivedDocument) -> PageParsed | None:
    parsed, text = decode_markup(received)
    return _read_listing(parsed, read_document(text), received)


def read_plain_text(received: ReceivedDocument) -> PageParsed:
    """Return the contents of a plain text."""
    parsed, decoded_text = received.decode(is_html=False)
    return add_text(parsed, decoded_text.text, received.options)


def read_xml(received: ReceivedDocument) -> PageParsed:
    """Return the entries of a sitemap or a feed, or the contents of XHTML, by the root element.

    Other XML is not read. The media type is ignored: all of these are served as any XML type.
    """
    parsed, text = decode_markup(received)
    xml = read_document(text)
    if xml.root == "html":
        return document.read_xhtml(received)
    return _read_listing(parsed, xml, received) or parsed


def read_sitemap(received: ReceivedDocument) -> PageParsed:
    """Return the entries of a sitemap that a robots.txt or an index names, or of XML in gzip.

    Servers give sitemaps all sorts of types, so the content decides: XML, URLs line by line, a page
    of HTML (which usually says that there is no sitemap), or else text.
    """
    received, purpose = _unpack(received), received.parsed.visit.purpose
    parsed, text = decode_markup(received)
    xml = read_document(text)
    if listing := _read_listing(parsed, xml, received):
        return listing
    if not purpose.is_sitemap:
        return received.parsed
    is_usual = purpose is Purpose.USUAL_SITEMAP
    if is_usual and not listings.is_text_sitemap(text):
        return received.parsed
    is_page = parsed.content_type in HTML and not listings.is_text_sitemap(text)
    if not is_usual and (xml.root == "html" or is_page):
        return document.read_html(received)
    return listings.read_text_sitemap(parsed, text, received.options)


def _read_listing(
    parsed: PageParsed, xml: XmlDocument, received: ReceivedDocument
) -> PageParsed | None:
    """Return the entries of *xml*; None if its root is not the root of a listing."""
    is_sitemap = xml.root in listings.SITEMAP_ROOTS
    if not is_sitemap and xml.root not in listings.FEED_ROOTS:
        return None
    names, read = (
        (listings.SITEMAP_ENTRIES, listings.read_sitemap)
        if is_sitemap
        else (listings.FEED_ENTRIES, listings.read_feed)
    )
    whole = xml.without_torn_entry(*names)
    parsed = add_hazards_if(parsed, {Hazard.MALFORMED_LISTING: whole.is_repaired})
    return read(parsed, whole, received.options)


def _unpack(received: ReceivedDocument) -> ReceivedDocument:
    """Return *received* without gzip around it, once or twice; a decompression bomb is cut."""
    options = received.options
    for _ in range(2):
        if not received.body.startswith(GZIP_MAGIC):
            break
        body = decode(received.body, "gzip", options.sitemap_limit, options.ratio_limit)
        parsed = add_hazards_if(received.parsed, {Hazard.DECOMPRESSION_BOMB: body.bomb})
        parsed = replace(parsed, truncated=parsed.truncated or body.cut)
        received = received._replace(parsed=parsed, body=body.data)
    return received


READERS: Mapping[str, Reader] = {
    "text/html": read_html,
    "application/xhtml+xml": read_xhtml,
    "text/plain": read_plain_text,
    "text/xml": read_xml,
    "application/xml": read_xml,
    "application/rss+xml": read_xml,
    "application/atom+xml": read_xml,
    "application/rdf+xml": read_xml,
    "application/json": listings.read_json,
    "application/ld+json": listings.read_json,
    JSON_FEED: listings.read_json,
    "text/json": listings.read_json,
    PDF: files.read_pdf,
    STYLE: styles.read_style,
    "application/zip": files.read_office,
    **dict.fromkeys(OFFICE, files.read_office),
    PACKED_XML: read_sitemap,
}
