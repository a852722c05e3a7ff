"""Listings without their end: no half URL is read, and the whole entries before are.

The situations are those of `tests/reports/README.md`.
"""

import gzip

import pytest
from msgspec.structs import replace

from gossamer.events import PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.services.parser.page import parse
from tests.parser.pages import NOW, OPTIONS, page_response

MAP = "http://h.test/map.xml"
ENTRIES = [f"http://h.test/{name}/page-{name}?id={name}5" for name in ("one", "two", "three")]
OTHERS = ["http://h.test/home", "http://h.test/home/older"]
"""The links of a feed itself."""
LISTINGS = {
    "sitemap": "<urlset>"
    + "".join(f"<url><loc>{url}</loc><lastmod>2024-02-29</lastmod></url>\n" for url in ENTRIES)
    + "</urlset>",
    "sitemap with prefixes": "<x:urlset>"
    + "".join(f"<x:URL><x:loc><![CDATA[{url}]]></x:loc></x:URL>" for url in ENTRIES)
    + "</x:urlset>",
    "index": "<sitemapindex>"
    + "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in ENTRIES)
    + "</sitemapindex>",
    "index without loc": "<sitemapindex>"
    + "".join(f"<sitemap>{url}</sitemap>" for url in ENTRIES)
    + "</sitemapindex>",
    "rss": f"<rss><channel><link>{OTHERS[0]}</link>"
    + "".join(
        f"<item><link>{url}</link><description><![CDATA[</item></rss>]]></description></item>"
        for url in ENTRIES
    )
    + "</channel></rss>",
    "rdf": f"<rdf:RDF><channel><link>{OTHERS[0]}</link></channel>"
    + "".join(f'<item rdf:about="{url}"><title>x</title></item>' for url in ENTRIES)
    + "</rdf:RDF>",
    "atom": f'<feed><link href="{OTHERS[0]}"/><link rel="next" href="{OTHERS[1]}"/>'
    + "".join(f'<entry><link href="{url}"/></entry>' for url in ENTRIES)
    + "</feed>",
    "json": '{"version": "https://jsonfeed.org/version/1.1", "title": "x]}", "items": ['
    + ", ".join(f'{{"url": "{url}", "authors": [{{"name": "{{"}}]}}' for url in ENTRIES)
    + f'], "home_page_url": "{OTHERS[0]}"}}',
    "text": "".join(f"{url}\n" for url in ENTRIES),
    "text of Windows": "".join(f"{url}\r\n" for url in ENTRIES),
}


def read(body: bytes, truncated: str = "", limit: int = 1 << 20) -> PageParsed:
    is_json = body.startswith(b"{")
    kind, purpose = (
        ("application/feed+json", Purpose.PAGE) if is_json else ("text/plain", Purpose.SITEMAP)
    )
    page = page_response(body, ("Content-Type", kind), url=MAP, purpose=purpose)
    options = replace(OPTIONS, sitemap_limit=limit)
    return parse(replace(page, truncated=truncated), options, NOW)


def found(parsed: PageParsed) -> set[str]:
    return {entry.url for entry in parsed.entries} | {link.url for link in parsed.links}


def whole_before(text: str, end: int) -> set[str]:
    """Return the entries whose elements or lines end before *end*."""
    marks = ("</url>", "</x:URL>", "</sitemap>", "</item>", "</entry>", "}]}", "\n")
    mark = next(mark for mark in marks if mark in text)
    ends = {url: text.index(mark, text.index(url)) + len(mark) for url in ENTRIES}
    if "CDATA[</item>" in text:
        ends = {
            url: text.index("]]></description></item>", text.index(url)) + 24 for url in ENTRIES
        }
    return {url for url, at in ends.items() if at <= end}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing_that_is_cut_anywhere_has_its_whole_entries_only(name: str) -> None:
    """stormcrawler#756, #757; commoncrawl/nutch#10; crawler-commons#310."""
    text = LISTINGS[name]
    for end in range(1, len(text)):
        # The end of a text cannot be seen in it. XML shows it, whatever the connection says.
        parsed = read(text[:end].encode(), "disconnect" if "text" in name else "")
        assert found(parsed) <= {*ENTRIES, *OTHERS}, text[:end]
        assert whole_before(text, end) <= found(parsed), text[:end]
    assert found(read(text.encode())) >= {*ENTRIES}


@pytest.mark.parametrize("name", LISTINGS)
def test_packed_listing_that_is_cut_has_no_half_url(name: str) -> None:
    packed = gzip.compress(LISTINGS[name].encode(), mtime=0)
    for end in range(20, len(packed)):
        assert found(read(packed[:end])) <= {*ENTRIES, *OTHERS}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing_beyond_the_limit_has_no_half_url(name: str) -> None:
    text = LISTINGS[name].encode()
    for limit in range(30, len(text)):
        assert found(read(text, limit=limit)) <= {*ENTRIES, *OTHERS}


def test_last_line_of_a_whole_text_counts_without_a_line_end() -> None:
    assert found(read("\n".join(ENTRIES).encode())) == {*ENTRIES}


def test_missing_end_is_counted_and_keeps_the_other_entries() -> None:
    parsed = read(LISTINGS["sitemap"].removesuffix("</urlset>").encode())
    assert (found(parsed), parsed.hazards[-1]) == ({*ENTRIES}, Hazard.MALFORMED_LISTING)
    assert Hazard.MALFORMED_LISTING not in read(LISTINGS["sitemap"].encode()).hazards
    assert Hazard.MALFORMED_LISTING not in read(b"<urlset/>").hazards


STRAY_MARKUP = ("</", "</ ", "<!", "<!x>", "</x>", "</loc>", "</url>", "</urlset>", "<x>", "<br>")


@pytest.mark.parametrize("stray", STRAY_MARKUP)
def test_stray_markup_in_a_url_does_not_make_a_part_of_it_a_url(stray: str) -> None:
    text = LISTINGS["sitemap"]
    start, end = text.index(ENTRIES[1]), text.index(ENTRIES[1]) + len(ENTRIES[1])
    for at in range(start + 1, end):
        parsed = read((text[:at] + stray + text[at:]).encode())
        assert found(parsed) <= {*ENTRIES}, text[start:at] + stray
        assert ENTRIES[0] in found(parsed)
