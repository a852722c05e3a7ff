"""XML that is not well-formed, as the Web has it: no URL is read that its author did not write.

The situations are those of `tests/reports/README.md`.
"""

import re
from io import BytesIO
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gossamer.events import Listing, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.services.parser.page import parse
from gossamer.web.url import BadUrl, canonicalize
from gossamer.web.usage.rsl import read_rsl
from tests.parser.pages import NOW, OPTIONS, page_response

MAP = "http://h.test/map.xml"
XML = "application/xml"


def read(body: str | bytes, kind: str = XML, purpose: Purpose = Purpose.SITEMAP) -> PageParsed:
    encoded = body.encode() if isinstance(body, str) else body
    response = page_response(encoded, ("Content-Type", kind), url=MAP, purpose=purpose)
    return parse(response, OPTIONS, NOW)


def urls(parsed: PageParsed) -> list[str]:
    return [entry.url for entry in parsed.entries]


def sitemap(*locations: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{loc}</loc></url>" for loc in locations) + "</urlset>"


def rss(*targets: str) -> str:
    items = "".join(f"<item><link>{target}</link></item>" for target in targets)
    return f"<rss><channel>{items}</channel></rss>"


def atom(*targets: str) -> str:
    entries = "".join(f'<entry><link href="{target}"/></entry>' for target in targets)
    return f"<feed>{entries}</feed>"


WRITERS = {"sitemap": sitemap, "rss": rss, "atom": atom}
REFERENCES = """
/list?a=1&b=2
/list?a=1&amp;b=2
/list?a=1&amp;amp;b=2
/list?a=1&copy=2
/list?a=1&copy;=2
/list?a=1&copy
/list?a=1&copyright=2
/list?a=1&copyright;
/list?a=1&lang=de
/list?a=1&lang;de
/list?a=1&reg=x&region=y
/list?a=1&not=2
/list?a=1&notit;
/list?a=1&notin;
/list?a=1&para=2&sect=3&times=4
/list?a=1&ampb=2
/list?a=1&amp=2
/list?a=1&amp
/list?a=1&AMP;b
/list?a=1&lt=5
/list?a=1&lt;5
/list?a=1&LT;5
/list?a=1&quot=x
/list?a=1&order=asc&order2=desc
/caf&eacute;
/caf&eacute
/caf&eacutes
/n&ordm;5
/n&Ouml;l
/x&frac12;y
/x&there4;y
/x&nosuch;y
/x&nosuch
/x&;y
/x&
/x&&y
/x&&amp;y
/x& y
/x&#38;y
/x&#x26;y
/x&#X26;y
/x&#38y=2
/x&#x26y
/x&#233;
/x&#xe9;
/x&#xE9
/x&#150;y
/x&#128;
/x&#
/x&#;y
/x&#x;y
/x&#xg;y
/x&#0000038;y
/x&#128512;
/x&apos;y
/x&Tab;y
/x&NewLine;y
/x&nbsp;y
/x&ThickSpace;y
/x&acE;y
/d&utm_source=rss&utm_medium=feed
/x]]y
/x]]>y
/a%26b&c
""".strip().splitlines()


_unreadable = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffd-\uffff]")
"""Characters that XML cannot contain, and the one in place of others."""


def as_browsers_read(target: str) -> list[str]:
    """Return the URL of a link to *target* in HTML; nothing if a character of it is unreadable."""
    link = LexborHTMLParser(f'<a href="{target}">x</a>').css_first("a")
    href = (link.attributes["href"] or "") if link else ""
    try:
        return [] if _unreadable.search(href) else [canonicalize(href.strip(), MAP)]
    except BadUrl:
        return []


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("target", REFERENCES)
def test_references_in_a_url_are_read_as_browsers_read_them(target: str, writer: str) -> None:
    """crawler-commons#24, #148; news-crawl#13; feedbin/support#590; k9mail.app#214."""
    parsed = read(WRITERS[writer](target, "/z"))
    assert urls(parsed) == [*as_browsers_read(target), "http://h.test/z"]


REFERENCE_PIECES = "& && &amp; &copy &copy; &eacute &lang &no &#38 &#x26; &#233; &#55357; &#1; &#0;"
TEXT_PIECES = "a b 1 z /x ? % < > = == ; # &# &#x ]] ]]> é \u4e2d \U0001f600 \x01 \ufffe"
PIECES = st.sampled_from([*REFERENCE_PIECES.split(), *TEXT_PIECES.split(" ")])


@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from([*WRITERS]))
def test_any_text_is_read_as_browsers_read_it(text: str, writer: str) -> None:
    """`<` is left out where HTML would begin a tag, which an attribute cannot show."""
    target = "/" + "".join(
        one for at, one in enumerate(text) if one != "<" or text[at + 1 : at + 2] in ("=", "1", "%")
    )
    if "&#55357;" not in target:
        assert urls(read(WRITERS[writer](target))) == as_browsers_read(target)


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("<![CDATA[/a?b=1&c=2]]>", "/a?b=1&c=2"),
        ("<![CDATA[/a?b=1&amp;c=2]]>", "/a?b=1&amp;c=2"),
        ("/a<!-- & &copy; -->b&c", "/ab&c"),
        ("/fair&#55357;&#56842;", "/fair%F0%9F%98%8A"),
        ("/fair&#xD83D;&#xde0a;", "/fair%F0%9F%98%8A"),
        ("/a?q=1< 2", "/a?q=1%3C%202"),
    ],
)
def test_text_that_is_not_a_reference_stays(target: str, url: str) -> None:
    """scrapinghub/extruct and crawler-commons: sections of CDATA; emoji in two references."""
    assert urls(read(sitemap(target, "/z"))) == [f"http://h.test{url}", "http://h.test/z"]


@pytest.mark.parametrize(
    "target",
    [
        "/a&#55357;b", "/a&#1;b", "/a\x01b", "/a\0b", "/a&#xFFFFFFFFFFFFFFFFFFFF;b", "/a<b",
        "/a<i>b</i>",
    ],
)  # fmt: skip
def test_url_with_an_unreadable_part_is_skipped_and_counted(target: str) -> None:
    parsed = read(sitemap("/y", target, "/z"))
    assert "http://h.test/y" in urls(parsed)
    assert set(urls(parsed)) <= {"http://h.test/y", "http://h.test/z"}
    assert Hazard.MALFORMED_URL in parsed.hazards


def test_element_without_its_end_does_not_join_two_urls() -> None:
    parsed = read("<urlset><url><loc>/1<url><loc>/2</loc></url></url></urlset>")
    assert urls(parsed) == ["http://h.test/2", "http://h.test/1"]
    feed = read("<rss><channel><item><link>/1<guid>/2</guid></item></channel></rss>")
    assert urls(feed) == ["http://h.test/1"]


NOISE = {
    "notice": "<br />\n<b>Notice</b>:  Undefined index: x in <b>/var/www/a.php</b> on line <b>3</b>"
    "<br />\n",
    "xdebug": "<font size='1'><table class='xdebug-error'><tr><th>( ! )</th></tr></table></font>",
    "comment": "<!-- cached <urlset> -->\n",
    "blank lines": "\n\r\n\n",
    "text": "Deprecated: foo() & bar() in /srv/x.php\n",
    "mark": "\ufeff",
    "two marks": "\ufeff\n\ufeff",
    "script": "<script>var a = '<rss>';</script>",
}


@pytest.mark.parametrize("declared", ["", '<?xml version="1.0" encoding="UTF-8"?>\n'])
@pytest.mark.parametrize("noise", NOISE)
def test_noise_before_the_first_element_is_skipped(noise: str, declared: str) -> None:
    """google-sitemap-generator#88, ukwa-heritrix#44, rssguard#1403, feedjira#196, xml2#181."""
    body = NOISE[noise] + declared + sitemap("/a&b")
    assert urls(read(body)) == ["http://h.test/a&b"]
    feed = read(NOISE[noise] + declared + rss("/a&b"), purpose=Purpose.PAGE)
    assert (feed.listing, urls(feed)) == (Listing.FEED, ["http://h.test/a&b"])


def test_repair_is_counted_and_a_well_formed_listing_is_not() -> None:
    for body in (sitemap("/a&b"), NOISE["notice"] + sitemap("/a")):
        assert read(body).hazards == (Hazard.MALFORMED_LISTING,)
    whole = '<?xml version="1.0"?>\n<!-- x --><!DOCTYPE u []>' + sitemap("/a&amp;&#38;&#233;")
    assert read(whole).hazards == read(rss("/a") + "\n").hazards == ()


def test_declared_encoding_behind_noise_is_used() -> None:
    """kurtmckee/feedparser#508: a blank line before the declaration."""
    body = '\n<?xml version="1.0" encoding="koi8-r"?>' + sitemap("/п")
    assert urls(read(body.encode("koi8-r"))) == ["http://h.test/%D0%BF"]


@pytest.mark.parametrize(
    "body",
    [
        "<URLSET><URL><LOC>/a?Q=R</LOC></URL></URLSET>",
        "<UrlSet><Url><Loc>/a?Q=R</loc></url></urlset>",
        "<sm:urlset><sm:url><sm:loc>/a?Q=R</sm:loc></sm:url></sm:urlset>",
        '<urlset xmlns="wrong"><url xmlns=""><loc>/a?Q=R</loc></url></urlset>',
        "<RSS><CHANNEL><ITEM><LINK>/a?Q=R</LINK></ITEM></CHANNEL></RSS>",
        '<FEED><ENTRY><LINK HREF="/a?Q=R" REL="Alternate"/></ENTRY></FEED>',
        '<a:feed><a:entry><a:link href="/a?Q=R"/></a:entry></a:feed>',
        '<rdf:RDF><item rdf:about="/a?Q=R"><title>x</title></item></rdf:RDF>',
    ],
)
def test_case_and_namespaces_of_names_do_not_matter(body: str) -> None:
    assert urls(read(body)) == ["http://h.test/a?Q=R"]


@pytest.mark.parametrize("name", ["utf-16", "UTF-16LE", "utf-16be", "unicode", "ISO-10646-UCS-2"])
def test_utf_8_that_is_declared_as_utf_16_is_utf_8(name: str) -> None:
    """ForNeVeR/fornever.me#278: .NET writes the encoding of its strings."""
    declaration = f'<?xml version="1.0" encoding="{name}"?>'
    assert urls(read(declaration + sitemap("/é"))) == ["http://h.test/%C3%A9"]
    page = f"{declaration}<!DOCTYPE html><html><title>Opening hours é</title><a href=/leaf>x</a>"
    for kind in ("text/html", "text/html; charset=utf-16"):
        parsed = read(page, kind, Purpose.PAGE)
        assert (parsed.title, [link.url for link in parsed.links]) == (
            "Opening hours é",
            ["http://h.test/leaf"],
        )


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read(encoding: str) -> None:
    """HTML standard, 13.2.3.2: the first bytes of an XML declaration."""
    body = '<?xml version="1.0" encoding="utf-16"?>' + sitemap("/é")
    assert urls(read(body.encode(encoding))) == ["http://h.test/%C3%A9"]


OCTETS = [
    "<urlset><url><loc>http://h.test/café?q=é</loc></url></urlset>",
    "<urlset><url><loc>/café?q=é</loc></url></urlset>",
    "<urlset><url><loc><![CDATA[http://h.test/café?q=é]]></loc></url></urlset>",
    "<rss><channel><title>é</title><item><link>http://h.test/café?q=é</link></item></channel></rss>",
    "<feed><entry><link rel='alternate' href='/café?q=é'/></entry></feed>",
    "http://h.test/café?q=é\n",
]


@pytest.mark.parametrize("declaration", ["", '<?xml version="1.0" encoding="utf-8"?>\n'])
@pytest.mark.parametrize("body", OCTETS)
def test_octets_of_a_url_that_are_not_utf_8_are_kept(body: str, declaration: str) -> None:
    """The kind of scrapy#2321 in a `loc`: the octets are the name of the file."""
    text = body if body.startswith("http") else declaration + body
    assert urls(read(text.encode("latin-1"))) == ["http://h.test/caf%E9?q=%E9"]
    assert urls(read(text.encode())) == ["http://h.test/caf%C3%A9?q=%C3%A9"]


def test_letters_of_a_url_in_a_declared_encoding_are_utf_8() -> None:
    """URL standard, 4.4: only the query is in the encoding of the document."""
    declaration = '<?xml version="1.0" encoding="iso-8859-1"?>'
    body = (declaration + OCTETS[0]).encode("latin-1")
    assert urls(read(body)) == ["http://h.test/caf%C3%A9?q=%E9"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    ("declaration", "url"),
    [
        ("<!ENTITY base 'http://h.test/'>", "http://h.test/page"),
        ('<!ENTITY % x SYSTEM "x.dtd"> %x; <!ENTITY base "/a?b&#38;c&amp;d=">', "/a?b&c&d=page"),
        ('<!-- <!ENTITY base "/no/"> --><!ENTITY base "/x/"><!ENTITY base "/y/">', "/x/page"),
        ('<!ENTITY base "caf&eacute;/">', "/caf%C3%A9/page"),
        ('<!ENTITY amp "no"><!ENTITY base "/?a&amp;b=">', "/?a&b=page"),
    ],
)
def test_entity_of_the_document_is_its_text(declaration: str, url: str, writer: str) -> None:
    parsed = read(f"<!DOCTYPE x [{declaration}]>" + WRITERS[writer]("&base;page", "/z"))
    assert urls(parsed) == [canonicalize(url, MAP), "http://h.test/z"]
    assert set(parsed.hazards) <= {Hazard.MALFORMED_LISTING}


def test_title_with_declared_entities_is_read_without_a_hazard() -> None:
    declared = '<!DOCTYPE rss [<!ENTITY nbsp "&#160;"><!ENTITY co "A &amp; B">]>'
    parsed = read(f"{declared}<rss><channel><title>&co;&nbsp;C</title></channel></rss>")
    assert (parsed.title, parsed.hazards) == ("A & B C", ())


LAUGHS = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 12))


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY base SYSTEM "file:///etc/passwd">',
        '<!ENTITY base PUBLIC "-//X//EN" "http://h.test/x">',
        f'<!ENTITY l0 "/ha">{LAUGHS}<!ENTITY base "&l11;">',
        '<!ENTITY base "&base;">',
        '<!ENTITY base "/<b>x</b>">',
        "<!ENTITY base '/\"'>",
        f'<!ENTITY base "/{"x" * 2000}">',
    ],
)
@pytest.mark.parametrize("writer", WRITERS)
def test_entry_with_another_entity_is_skipped(declaration: str, writer: str) -> None:
    parsed = read(f"<!DOCTYPE x [{declaration}]>" + WRITERS[writer]("/y", "&base;page", "/z"))
    assert urls(parsed) == ["http://h.test/y", "http://h.test/z"]
    assert Hazard.MALFORMED_URL in parsed.hazards


def test_entities_of_a_document_have_a_limit_together() -> None:
    targets = [f"/{'&x;' * 5_000}", "/z"]
    body = f"<!DOCTYPE urlset [<!ENTITY x '{'x' * 1_000}'>]>" + sitemap(*targets)
    assert urls(read(body)) == ["http://h.test/z"]


def test_title_with_references_of_html_is_read() -> None:
    """miniflux#416: `D&D`; rust-syndication/rss#53: `A & B`; news-crawl#13: undeclared entities."""
    body = "<rss><channel><title>A & B&nbsp;D&D caf&eacute;</title></channel></rss>"
    assert read(body, purpose=Purpose.PAGE).title == "A & B D&D café"


def test_office_metadata_with_references_of_html_is_read() -> None:
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr(
            "docProps/core.xml", "\n<core><title>R&D caf&eacute; &#55357;</title></core>"
        )
    parsed = read(buffer.getvalue(), "application/zip", Purpose.PAGE)
    assert parsed.title == "R&D café \ufffd"


def test_license_file_with_bare_ampersand_is_read() -> None:
    body = (
        '<rsl xmlns="https://rslstandard.org/rsl"><content url="/list?a=1&b=2"><license>'
        "<prohibits>ai-train</prohibits></license></content></rsl>"
    )
    (found,) = read_rsl(body.encode(), "http://h.test/license.xml", "http://h.test").statements
    assert found.pattern == "/list?a=1&b=2"
