"""Listings from reports about other readers, which `tests/reports/README.md` names."""

import gzip

import pytest

from gossamer.events import PageParsed, Purpose
from gossamer.services.parser.page import parse
from tests.parser.pages import NOW, OPTIONS, page_response

MAP = "http://h.test/map.xml"
ITEM = "<item><link>/1</link></item>"
REPORTS: dict[str, str | bytes] = {
    "gofeed#50": '<feed/>\n<feed><entry><link href="/1"/></entry></feed>',
    "feedparser#254": f"<rss><channel></channel></rss><rss><channel>{ITEM}</channel></rss>",
    "FreshRSS#9019": f"<rss><channel>{ITEM}</channel></rss><script src='/x'></script><!-- c -->",
    "FeedKit#53": f"<rss><channel>{ITEM}</channel></rss>[]",
    "rssguard#1788": f"<rss><channel>{ITEM}</channel></rss><br />\n<b>Warning</b>: x() & y<br />",
    "feedsmith#260, simplepie#677": f"<rss><channel><link>/</link></channel>{ITEM}</rss>",
    "commafeed#60": f"<rss><channel><title><![CDATA[a\x08b]]></title>{ITEM}</channel></rss>",
    "miniflux#52, #546": f"<rss><channel><title>a\x18b</title>{ITEM}</channel></rss>",
    "sitemap.js#445": "<urlset><url><loc><![CDATA[http://h.test/1]]></loc></urlset>",
    "wpull#491": "<urlset><url><loc>\n     http://h.test/1\n   </loc></url></urlset>",
    "feedparser#156": f"<rss><channel><itunes:author>x</itunes:author>{ITEM}</channel></rss>",
    "pixelfed#1512": '<feed><entry><link media:width="120" href="/1"/></entry></feed>',
    "feedsmith#262": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    ' xmlns:rss="http://purl.org/rss/1.0/"><rss:item><rss:link>/1</rss:link></rss:item></rdf:RDF>',
    "feedsmith#77": '<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:link href="/1"/>'
    "</a:entry></a:feed>",
    "zend-feed#69": f"<!DOCTYPE rss PUBLIC '-//N//DTD RSS 0.91//EN' 'x.dtd'><rss>{ITEM}</rss>",
    "cache-warmup#247": "<urlset><url><loc>/1</loc><lastmod>2023-03-30</lastmod></url></urlset>",
    "an id that is the URL": "<feed><entry><id>http://h.test/1</id></entry></feed>",
    "crawler-commons#305": "<urlset><url><loc>h.test/1</loc></url></urlset>",
    "host in capitals": "<rss><item><link>H.test/1</link></item></rss>",
    "fluent-reader#587": '<rss><item><guid isPermaLink="true">/1</guid></item></rss>',
    "SHARE#73": f'<rss><item><guid isPermaLink="true">post-7</guid></item>{ITEM}</rss>',
    "content elsewhere": '<feed><entry><id>tag:1</id><content src="/1"/></entry></feed>',
    "a relation as IRI": '<feed><entry><link rel="http://www.iana.org/assignments/relation/'
    'alternate" href="/1"/></entry></feed>',
    "wpull#484": gzip.compress(b"<urlset><url><loc>/1</loc></url></urlset>") + b"<!-- cached -->",
}


def urls(parsed: PageParsed) -> list[str]:
    return [entry.url for entry in parsed.entries]


@pytest.mark.parametrize("report", REPORTS)
def test_listing_of_a_report_is_read(report: str) -> None:
    text = REPORTS[report]
    body = text if isinstance(text, bytes) else text.encode()
    page = page_response(
        body, ("Content-Type", "application/xml"), url=MAP, purpose=Purpose.SITEMAP
    )
    assert urls(parse(page, OPTIONS, NOW)) == ["http://h.test/1"]


def test_host_without_a_scheme_is_of_the_site_of_the_listing() -> None:
    locations = ["www.a.example.org/x", "a.example.org", "example.org?q", "index.html", "v1.2/x"]
    body = "".join(f"<url><loc>{one}</loc></url>" for one in locations)
    page = page_response(
        f"<urlset>{body}</urlset>".encode(),
        ("Content-Type", "application/xml"),
        url="http://a.example.org/d/map.xml",
        purpose=Purpose.SITEMAP,
    )
    assert urls(parse(page, OPTIONS, NOW)) == [
        "http://www.a.example.org/x",
        "http://a.example.org/",
        "http://example.org/?q",
        "http://a.example.org/d/index.html",
        "http://a.example.org/d/v1.2/x",
    ]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (
            '<title type="html">A &amp;lt;b&amp;gt; &amp;amp; &lt;i&gt;B&lt;/i&gt;</title>',
            "A <b> & B",
        ),
        ("<title>A &amp;amp; B</title>", "A &amp; B"),
        ('<title type="xhtml"><div>A <b>B</b></div></title>', "A B"),
    ],
)
def test_title_of_atom_may_be_html(title: str, expected: str) -> None:
    """RFC 4287, 3.1.1."""
    page = page_response(f"<feed>{title}</feed>".encode(), ("Content-Type", "application/atom+xml"))
    assert parse(page, OPTIONS, NOW).title == expected
