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
    "feedparser#367": '<feed><entry><link href="/1"/><link rel="enclosure">/2.jpg</link></entry>'
    "</feed>",
    "node-feedparser#146": '<feed><entry><link rel="self" href="/2"/><link rel="alternate"'
    ' href="/1"/></entry></feed>',
    "FastFeed#10": '<feed><entry><link rel="replies" type="text/html" href="/1#c2"/>'
    '<link href="/1"/></entry></feed>',
    "node-feedparser#171": "<rss><item><link><![CDATA[\n /1 ]]></link></item></rss>",
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


FEED = ("Content-Type", "application/xml")


def read_feed(text: str, *headers: tuple[str, str]) -> PageParsed:
    page = page_response(text.encode(), *(headers or (FEED,)), url="http://h.test/d/feed.xml")
    return parse(page, OPTIONS, NOW)


@pytest.mark.parametrize(
    "entry",
    [
        # feedbin/support#338, NetNewsWire#3662, Feeder#883, rome#38: on a link, too.
        "<entry xml:base='/c/'><link xml:base='d/' href='e'/></entry>",
        "<entry><link xml:base='http://h.test/c/d/' href='e'/></entry>",
    ],
)
def test_link_has_the_base_of_xml(entry: str) -> None:
    text = f"<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/a/'>{entry}</feed>"
    assert urls(read_feed(text)) == ["http://h.test/c/d/e"]


def test_text_of_a_link_with_an_address_is_not_a_url() -> None:
    """`lr.xml` of rometools/rome: a link of iTunes to an image."""
    link = '<itunes:link rel="image" href="/cover.jpg">Left &amp;amp; Right</itunes:link>'
    parsed = read_feed(f"<rss><channel><link>/show</link>{link}{ITEM}</channel></rss>")
    assert [one.url for one in parsed.links] == ["http://h.test/show"]


def test_tag_in_a_link_is_not_a_url() -> None:
    link = "<link>&lt;a href='http://h.test/1'>http://h.test/1&lt;/a></link>"
    parsed = read_feed(f"<rss><channel><item>{link}</item>{ITEM}</channel></rss>")
    assert urls(parsed) == ["http://h.test/1"]


@pytest.mark.parametrize(
    ("header", "title", "description"),
    [
        ("<title>A &amp;amp; B</title>", "A & B", ""),
        ("<title>A &amp;lt;b> &lt;b></title>", "A <b> <b>", ""),
        ("<title>?a=1&amp;copy=2</title>", "?a=1&copy=2", ""),
        ("<itunes:title>Short</itunes:title><title>Whole</title>", "Whole", ""),
        (
            "<description><![CDATA[<p>One<br>two</p><script>x()</script> &amp; th<b>re</b>e]]>"
            "</description>",
            "",
            "One two & three",
        ),
        ("<description>1 &lt; 2</description>", "", "1 < 2"),
    ],
)
def test_header_of_rss_is_what_readers_show(header: str, title: str, description: str) -> None:
    """Podcasts have HTML in descriptions; references of HTML in titles: `lr.xml` of rome."""
    parsed = read_feed(f"<rss><channel>{header}{ITEM}</channel></rss>")
    assert (parsed.title, parsed.description) == (title, description)


def test_feed_has_the_language_of_its_headers() -> None:
    """`http_content_language.xml` of kurtmckee/feedparser."""
    parsed = read_feed("<feed><entry/></feed>", FEED, ("Content-Language", "de-AT"))
    assert parsed.language == "de"


def test_header_of_a_json_feed_is_what_readers_show() -> None:
    """`jsonfeed_elastic_1.1.json` of feed-rs/feed-rs."""
    text = '{"version": "https://jsonfeed.org/version/1", "title": "A &#8211; B", "items": []}'
    headers = (("Content-Type", "application/feed+json"), ("Content-Language", "de"))
    parsed = read_feed(text, *headers)
    assert (parsed.title, parsed.language) == ("A \u2013 B", "de")


def test_json_of_the_type_of_feeds_is_a_feed() -> None:
    text = '{"title": "T", "items": [{"url": "/1", "date_published": "2004-01-02"}]}'
    [entry] = read_feed(text, ("Content-Type", "application/feed+json")).entries
    assert (entry.url, entry.changed_at) == ("http://h.test/1", 1073001600.0)


NEWS = (
    "<news:news><news:publication_date>2004-01-02</news:publication_date>"
    "<news:title>x</news:title></news:news>"
)


def test_location_of_an_image_beside_it_is_not_that_of_the_page() -> None:
    image = "<image:loc>/cat.jpg</image:loc><image:title>x</image:title>"
    assert urls(read_feed(f"<urlset><url>{image}<loc>/1</loc></url></urlset>")) == [
        "http://h.test/1"
    ]


def test_sitemap_that_is_packed_twice_is_read() -> None:
    body = gzip.compress(gzip.compress(b"<urlset><url><loc>/1</loc></url></urlset>"))
    page = page_response(
        body, ("Content-Type", "application/gzip"), url=MAP, purpose=Purpose.SITEMAP
    )
    assert urls(parse(page, OPTIONS, NOW)) == ["http://h.test/1"]


HTML, XHTML = "<title type='html'>", "<title type='xhtml'>"


@pytest.mark.parametrize(
    ("title", "text"),
    [
        # RFC 4287, 3.1.1.
        (f"{HTML}A &amp;lt;b&amp;gt; &amp;amp; &lt;i&gt;B&lt;/i&gt;</title>", "A <b> & B"),
        ("<title>A &amp;amp; B</title>", "A &amp; B"),
        (f"{XHTML}<div>A <b>B</b></div></title>", "A B"),
        (f"{XHTML}<div>A <b>bold</b><br/>move</div></title>", "A bold move"),
        # `feed_title_script.xml` and `xml_unclosed_comment.xml` of kurtmckee/feedparser.
        (f"{HTML}sa&lt;b>fe&lt;/b>&lt;script>x()&lt;/script>&lt;!-- c --></title>", "safe"),
        (f"{XHTML}<div xmlns='http://www.w3.org/1999/xhtml'>sa<b>fe</b></div></title>", "safe"),
        (f"{HTML}<![CDATA[safe<style>b {{]]></title>", "safe"),
    ],
)
def test_title_of_atom_is_what_readers_show(title: str, text: str) -> None:
    assert read_feed(f"<feed>{title}<entry/></feed>").title == text


@pytest.mark.parametrize(
    "feed",
    [
        *(
            f"<feed><entry><link href='/1'/><{name}>2004-01-02T00:00:00Z</{name}></entry></feed>"
            for name in ("issued", "created", "dcterms:issued")
        ),
        # commoncrawl/news-crawl reads the date of the news.
        f"<urlset><url><loc>/1</loc>{NEWS}</url></urlset>",
        f"<urlset><url><loc>/1</loc><lastmod>2004-01-02</lastmod>{NEWS}</url></urlset>",
    ],
)
def test_entry_has_the_date_of_atom_0_3_or_of_its_news(feed: str) -> None:
    [entry] = read_feed(feed).entries
    assert entry.changed_at == 1073001600.0


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("<title>=?UTF-8?B?QnLDvGNrZQ==?=</title>", "Brücke"),
        ("<title>=?utf-8?q?Br=C3=BCcke?= and =?ISO-8859-1?Q?F=E4hre?=</title>", "Brücke and Fähre"),
        ("<title>=?UTF-8?B?QnLD?=\n =?UTF-8?B?vGNrZQ==?=</title>", "Brücke"),
        ("<title>=?x-no?B?QnLDvGNrZQ==?=</title>", "=?x-no?B?QnLDvGNrZQ==?="),
        ("<title>=?UTF-8?B?Q?=</title>", "=?UTF-8?B?Q?="),
        ("<title>is a=?b or not?=</title>", "is a=?b or not?="),
        ("<title mode='base64' type='text/plain'>\nQnLD\nvGNrZQ==</title>", "Brücke"),
        ("<title mode='base64' type='text/html'>PGI+QnLDvGNrZTwvYj4=</title>", "Brücke"),
        ("<title mode='base64'>no base</title>", "no base"),
        ("<title mode='escaped'>Brücke</title>", "Brücke"),
    ],
)
def test_title_of_a_feed_is_decoded(title: str, text: str) -> None:
    """Base64 in Atom 0.3, and encoded words of gateways of mail (RFC 2047)."""
    for feed in (f"<feed>{title}</feed>", f"<rss><channel>{title}</channel></rss>"):
        assert read_feed(feed).title == text
