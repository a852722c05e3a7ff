"""Sitemaps and feeds in all formats, valid, broken and hostile."""

import gzip
import random
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import Entry, Listing, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.log.blobs import MAX_PARSED_BYTES
from gossamer.log.codec import encode, encoded_size
from gossamer.services.parser.options import Options
from gossamer.services.parser.page import parse
from tests.parser.listings import LISTINGS
from tests.parser.pages import NOW, OPTIONS, page_response

MAP = "http://www.example.org/maps/sitemap.xml"
DAY = 86400.0
XML = ("Content-Type", "application/xml")
URLSET = """<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>http://www.example.org/a?x=1&amp;y=2</loc><lastmod>2024-02-29</lastmod>
<changefreq>daily</changefreq></url>
<url><loc> http://www.example.org/b </loc><lastmod>2024-02-29T12:00:00+01:00</lastmod>
<priority>0.9</priority></url>
<url><loc>http://www.example.org/c</loc><changefreq>always</changefreq></url></urlset>"""
LEAP = datetime(2024, 2, 29, tzinfo=UTC).timestamp()


def read_listing(
    body: str | bytes,
    *headers: tuple[str, str],
    purpose: Purpose = Purpose.SITEMAP,
    options: Options = OPTIONS,
    url: str = MAP,
) -> PageParsed:
    encoded = body.encode() if isinstance(body, str) else body
    page = page_response(encoded, *(headers or (XML,)), url=url, purpose=purpose)
    return parse(page, options, NOW)


def urls(parsed: PageParsed) -> list[str]:
    return [entry.url for entry in parsed.entries]


def test_sitemap_entries_have_dates_and_are_sorted_by_priority() -> None:
    parsed = read_listing(URLSET)
    assert parsed.listing is Listing.SITEMAP
    assert parsed.entries == (
        Entry("http://www.example.org/b", LEAP + 11 * 3600),
        Entry("http://www.example.org/a?x=1&y=2", LEAP, DAY),
        Entry("http://www.example.org/c"),
    )
    assert parsed.links == () and parsed.text is None


@pytest.mark.parametrize(
    "kind", ["", "text/html", "text/plain", "application/octet-stream", "image/png"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_named_sitemap_is_read_with_any_media_type(kind: str, packed: bool) -> None:
    body = gzip.compress(URLSET.encode()) if packed else URLSET
    parsed = read_listing(body, *([("Content-Type", kind)] if kind else [("X", "y")]))
    assert (parsed.listing, len(parsed.entries)) == (Listing.SITEMAP, 3)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "iso-8859-1", "utf-8-sig"])
def test_sitemap_in_any_encoding_is_read(encoding: str) -> None:
    named = encoding.removesuffix("-sig").removesuffix("-le")
    text = f'<?xml version="1.0" encoding="{named}"?><urlset><url><loc>http://a.org/é</loc></url></urlset>'
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    assert urls(read_listing(mark + text.encode(encoding))) == ["http://a.org/%C3%A9"]


def test_html_in_place_of_sitemap_is_a_page() -> None:
    parsed = read_listing(
        "<!DOCTYPE html><title>Oops</title><a href=/>x", ("Content-Type", "text/html")
    )
    assert (parsed.listing, parsed.title, len(parsed.links)) == (None, "Oops", 1)


def test_index_lists_sitemaps_with_and_without_loc() -> None:
    body = """<sitemapindex><sitemap><loc>one.xml</loc><lastmod>2024-02-29</lastmod></sitemap>
    <sitemap>http://www.example.org/two.xml</sitemap></sitemapindex>"""
    parsed = read_listing(body)
    assert parsed.listing is Listing.SITEMAP_INDEX
    assert parsed.entries == (
        Entry("http://www.example.org/maps/one.xml", LEAP),
        Entry("http://www.example.org/two.xml"),
    )


def test_alternates_in_sitemap_are_entries() -> None:
    body = """<urlset xmlns:x="http://www.w3.org/1999/xhtml"><url><loc>http://a.org/en</loc>
    <x:link rel="alternate" hreflang="de" href="http://a.org/de"/></url></urlset>"""
    assert urls(read_listing(body)) == ["http://a.org/en", "http://a.org/de"]


def test_text_sitemap_skips_lines_that_are_not_urls() -> None:
    text = "\ufeffhttp://a.org/1\r\n\r\n# a comment\nftp://a.org/2\n HTTPS://a.org/3 \nwww.a.org/4"
    parsed = read_listing(text, ("Content-Type", "text/plain"))
    assert urls(parsed) == ["http://a.org/1", "https://a.org/3"]
    page = read_listing(text, ("Content-Type", "text/plain"), purpose=Purpose.PAGE)
    assert (page.listing, page.entries) == (None, ()), "text is a page by default"


RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"
xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News  of us</title>
<link>http://www.example.org/</link><language>EN-us</language><description>All</description>
<atom:link rel="self" href="http://www.example.org/rss"/>
<atom:link rel="next" href="?page=2"/>
<item><link>/1</link><pubDate>Thu, 29 Feb 2024 00:00:00 GMT</pubDate></item>
<item><guid isPermaLink="true">http://www.example.org/2</guid><dc:date>2024-02-29</dc:date></item>
<item><guid>tag:example.org,1</guid><title>nowhere</title></item>
<item><link><![CDATA[http://www.example.org/3?a&b]]></link><pubDate>soon</pubDate></item>
</channel></rss>"""


@pytest.mark.parametrize("kind", ["application/rss+xml", "text/xml", "application/xml"])
def test_rss_entries_have_dates(kind: str) -> None:
    parsed = read_listing(RSS, ("Content-Type", kind), purpose=Purpose.PAGE)
    assert parsed.listing is Listing.FEED
    assert parsed.entries == (
        Entry("http://www.example.org/1", LEAP),
        Entry("http://www.example.org/2", LEAP),
        Entry("http://www.example.org/3?a&b"),
    )
    assert (parsed.title, parsed.description, parsed.language) == ("News of us", "All", "en")
    others = ["http://www.example.org/", "http://www.example.org/maps/sitemap.xml?page=2"]
    assert [link.url for link in parsed.links] == others


def test_rss_as_rdf() -> None:
    body = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns="http://purl.org/rss/1.0/"><channel><title>T</title></channel>
    <item rdf:about="http://a.org/1"><title>x</title></item></rdf:RDF>"""
    parsed = read_listing(body, ("Content-Type", "application/rdf+xml"), purpose=Purpose.PAGE)
    assert (parsed.listing, urls(parsed), parsed.title) == (Listing.FEED, ["http://a.org/1"], "T")


def test_atom_entry_has_time_of_last_update() -> None:
    body = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/" xml:lang="de">
    <title>T</title><link rel="next" href="2"/>
    <entry><link rel="edit" href="/edit"/><link href="one"/><published>2020-01-01</published>
    <updated>2024-02-29T00:00:00Z</updated></entry></feed>"""
    parsed = read_listing(body, ("Content-Type", "application/atom+xml"), purpose=Purpose.PAGE)
    assert parsed.entries == (Entry("http://www.example.org/blog/one", LEAP),)
    assert [link.url for link in parsed.links] == ["http://www.example.org/blog/2"]
    assert (parsed.title, parsed.language) == ("T", "de")


def test_json_feed_is_read_as_any_json_type() -> None:
    body = """{"version": "https://jsonfeed.org/version/1.1", "title": "T", "language": "de",
    "home_page_url": "/", "items": [{"url": "/1", "date_published": "2024-02-29T00:00:00Z"},
    {"url": "/2", "date_modified": "2024-02-29", "date_published": "2020-01-01"}, {}, 7]}"""
    for kind in ("application/feed+json", "application/json"):
        parsed = read_listing(body, ("Content-Type", kind), purpose=Purpose.PAGE)
        assert parsed.listing is Listing.FEED
        assert parsed.entries == (
            Entry("http://www.example.org/1", LEAP),
            Entry("http://www.example.org/2", LEAP),
        )
        assert [link.url for link in parsed.links] == ["http://www.example.org/"]


def test_id_of_a_json_feed_item_may_be_its_url() -> None:
    """jsonfeed.org: an item may have no url, and its id is ideally its URL."""
    body = """{"version": "https://jsonfeed.org/version/1.1", "items": [
    {"id": "http://www.example.org/1"}, {"id": "2"}, {"id": 3}, {"id": "tag:example.org,2024:4"},
    {"id": "http://www.example.org/5", "url": "/6"}, {"id": "urn:uuid:7", "external_url": "/8"}]}"""
    parsed = read_listing(body, ("Content-Type", "application/feed+json"), purpose=Purpose.PAGE)
    assert [one.url for one in parsed.entries] == [f"http://www.example.org/{n}" for n in (1, 6, 8)]


def test_digest_of_listing_is_of_its_entries() -> None:
    again = URLSET.replace("<urlset", "<!-- made at noon --><urlset")
    assert read_listing(again).digest == read_listing(URLSET).digest
    assert read_listing(URLSET.replace("02-29T", "02-28T")).digest != read_listing(URLSET).digest


def test_entries_beyond_limit_are_a_hazard() -> None:
    body = "<urlset>" + "".join(f"<url><loc>/{n}</loc></url>" for n in range(20)) + "</urlset>"
    parsed = read_listing(body, options=replace(OPTIONS, entries_limit=10))
    assert len(parsed.entries) == 10
    assert parsed.hazards == (Hazard.TOO_MANY_LINKS,)
    assert read_listing(body, options=replace(OPTIONS, entries_limit=20)).hazards == ()


@pytest.mark.slow
def test_largest_sitemap_fits_a_message_of_the_log() -> None:
    rows = "".join(f"<url><loc>http://a.org/{n}{'x' * 900}</loc></url>" for n in range(50_000))
    parsed = read_listing(f"<urlset>{rows}</urlset>")
    assert 0 < len(parsed.entries) < 50_000 and Hazard.TOO_MANY_LINKS in parsed.hazards
    assert encoded_size(parsed) <= MAX_PARSED_BYTES
    short = read_listing("\n".join(f"http://a.org/{n:05}" for n in range(50_000)))
    assert len(short.entries) == 50_000
    assert encoded_size(short) <= MAX_PARSED_BYTES


@pytest.mark.slow
def test_sitemap_bomb_is_truncated() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * (60 << 20))
    parsed = read_listing(bomb)
    assert parsed.truncated and Hazard.DECOMPRESSION_BOMB in parsed.hazards
    large = gzip.compress(b"<urlset>" + random.Random(1).randbytes(5000))
    assert read_listing(large, options=replace(OPTIONS, sitemap_limit=1000)).truncated


SECRET = "file:///etc/hostname"
HOSTILE = {
    "nested": "<urlset>" + "<url>" * 300_000,
    "attributes": "<urlset><url " + " ".join(f"a{n}='1'" for n in range(50_000)) + "/>",
    "external": f'<!DOCTYPE u [<!ENTITY x SYSTEM "{SECRET}">]><urlset><url><loc>/&x;</loc></url>',
    "parameter": '<!DOCTYPE u [<!ENTITY % p SYSTEM "http://127.0.0.1/"> %p;]><urlset/>',
    "bomb": "<!DOCTYPE u [<!ENTITY e0 'xxxxxxxxxx'>"
    + "".join(f"<!ENTITY e{n + 1} '{f'&e{n};' * 10}'>" for n in range(9))
    + "]><urlset><url a='&e9;'><loc>/&e9;</loc></url></urlset>",
    "one text": "<urlset><url><loc>" + "x" * 20_000_000,
    "json": '{"items":' + "[" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_listing_yields_a_small_result(name: str) -> None:
    kind = "application/feed+json" if name == "json" else "application/xml"
    for purpose in (Purpose.SITEMAP, Purpose.PAGE):
        parsed = read_listing(HOSTILE[name], ("Content-Type", kind), purpose=purpose)
        assert len(parsed.entries) <= 1
        assert len(encode(parsed).value) < 10_000


def mutants(body: bytes, count: int) -> Iterator[bytes]:
    chance = random.Random(len(body))
    pieces = (b"<", b">", b"&", b"\0", b"]]>", b"<!--", b"\xff", b'"', b"<url>", b"</", b"{", b"[")
    for _ in range(count):
        start, end = sorted(chance.randrange(len(body) + 1) for _ in range(2))
        yield chance.choice(
            (
                body[:start],
                body[:start] + body[end:],
                body[:start] + chance.choice(pieces) + body[start:],
                body[:start] + chance.randbytes(3) + body[start:],
            )
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", [URLSET, RSS, gzip.compress(URLSET.encode(), mtime=0), HOSTILE["bomb"]]
)
def test_mutated_listings_are_read(body: str | bytes) -> None:
    encoded = body.encode() if isinstance(body, str) else body
    for mutant in mutants(encoded, 300):
        encode(read_listing(mutant))


@given(st.binary() | st.text().map(str.encode), st.sampled_from(["text/xml", "application/json"]))
def test_any_bytes_are_accepted_as_listing(body: bytes, kind: str) -> None:
    for purpose in (Purpose.SITEMAP, Purpose.PAGE):
        encode(read_listing(body, ("Content-Type", kind), purpose=purpose))


@pytest.mark.parametrize("name", LISTINGS)
def test_each_kind_of_listing_is_read(name: str) -> None:
    kind = "application/gzip" if "gzip" in name else "text/plain" if "text" in name else XML[1]
    parsed = read_listing(LISTINGS[name], ("Content-Type", kind))
    assert parsed.listing
    assert urls(parsed) == ["http://a.test/1"]
    assert not parsed.hazards
