"""Listings with wrong types: the content says what they are.

The situations are those of `tests/reports/README.md`.
"""

import pytest

from gossamer.events import Listing, PageParsed, Purpose
from gossamer.services.fetcher.outcome import accept_types
from gossamer.services.parser.page import parse
from gossamer.settings.sections import FetcherSettings
from gossamer.web.sniffing import media_type
from tests.parser.pages import NOW, OPTIONS, page_response

MAP = "http://h.test/map"
FEEDS = {
    "rss": '<rss version="2.0"><channel><item><link>/1</link></item></channel></rss>',
    "upper case": "<RSS><CHANNEL><ITEM><LINK>/1</LINK></ITEM></CHANNEL></RSS>",
    "atom": '<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/1"/></entry></feed>',
    "atom with a prefix": '<a:feed><a:entry><a:link href="/1"/></a:entry></a:feed>',
    "declared": '<?xml version="1.0"?>\n<!-- x --><feed><entry><link href="/1"/></entry></feed>',
    "json": '{\n "version": "https:\\/\\/jsonfeed.org\\/version\\/1", "items": [{"url": "/1"}]}',
    "sitemap": "<urlset><url><loc>/1</loc></url></urlset>",
    "rdf": '<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf'
    '-syntax-ns#"><item rdf:about="/1"><title>x</title></item></rdf:RDF>',
}
TYPES = (
    "", "application/x-rss+xml", "application/rss", "application/x-rss", "text/rss",
    "text/rss+xml", "text/x-xml", "application/x-xml", "application/atom",
    "application/vnd.x+xml", "text/plain", "text/plain; charset=utf-8", "text/html",
    "text/html; charset=utf-8", "text/x-anything", "text/json", "application/json",
    "binary/octet-stream", "application/octet-stream", "content-type", "application/xml",
    "application/rdf+xml", "application/xhtml+xml",
)  # fmt: skip


def read(body: str, kind: str, purpose: Purpose = Purpose.PAGE) -> PageParsed:
    header = ("Content-Type", kind) if kind else ("X", "y")
    return parse(page_response(body.encode(), header, url=MAP, purpose=purpose), OPTIONS, NOW)


def urls(parsed: PageParsed) -> list[str]:
    return [entry.url for entry in parsed.entries]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", FEEDS)
def test_linked_feed_is_read_with_any_type(name: str, kind: str) -> None:
    """FreshRSS#2484, #3686; rsspreview#42, #52; feedpushr#24; vesti#175; parse-this#67."""
    parsed = read(FEEDS[name], kind)
    assert urls(parsed) == ["http://h.test/1"]
    assert parsed.listing in (Listing.FEED, Listing.SITEMAP)
    headers = (("Content-Type", kind),) if kind else ()
    accepts = accept_types(FetcherSettings().types)
    assert accepts(200, media_type(headers, FEEDS[name].encode())), "the fetcher takes it"


@pytest.mark.parametrize("kind", ["text/html", "application/xml"])
def test_feed_behind_a_message_of_php_is_read(kind: str) -> None:
    """google-sitemap-generator#88: a message comes before the headers, so the type is HTML's."""
    message = "<br />\n<b>Warning</b>:  foo() in <b>/x.php</b> on line <b>3</b><br />\n"
    assert urls(read(message + FEEDS["declared"], kind)) == ["http://h.test/1"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("# How to write a feed\n\nBegin with this:\n\n<rss version='2.0'>\n", "text/plain"),
        ("<b>Notice</b>: <p>no feed today <svg><rss></svg>", "text/html"),
        ("<p>Begin with <b>this</b>: <rss> and go on.</p>", "text/html"),
        ("<!DOCTYPE html><title>x</title><svg><feed></feed></svg>", "text/html"),
        ("http://h.test/1\nhttp://h.test/2\n", "text/plain"),
        ("<config><feed><entry><link>/1</link></entry></feed></config>", "application/xml"),
    ],
)
def test_document_that_only_contains_a_listing_is_a_document(body: str, kind: str) -> None:
    parsed = read(body, kind)
    assert (parsed.listing, parsed.entries) == (None, ())


@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml", "image/png", ""])
@pytest.mark.parametrize("comment", ["", "# all pages\n", "\n\n"])
def test_text_that_robots_txt_names_is_a_sitemap_with_any_type(comment: str, kind: str) -> None:
    """crawler-commons#143 in plain: static hosts send files of unknown endings as HTML."""
    text = f"{comment}http://h.test/1\r\nhttp://h.test/2?a=1&b=2"
    parsed = read(text, kind, Purpose.SITEMAP)
    assert urls(parsed) == ["http://h.test/1", "http://h.test/2?a=1&b=2"]
    cached = read(f"{text}\n<!-- cached by <b>x</b> -->", kind, Purpose.SITEMAP)
    assert urls(cached) == ["http://h.test/1", "http://h.test/2?a=1&b=2"]


def test_message_in_place_of_a_sitemap_is_a_page() -> None:
    for body in ("Not found", "<p>See\nhttp://h.test/home\n<a href=/>home</a>"):
        assert read(body, "text/html", Purpose.SITEMAP).listing is None
