"""Contents and links of HTML documents."""

from html import escape

import pytest
from msgspec import json
from msgspec.structs import replace

from gossamer.services.parser.page import parse
from tests.parser.pages import NOW, OPTIONS, page_response, parse_response, targets

ROOT = "http://www.example.org"


def test_title_description_canonical_and_language() -> None:
    parsed = parse_response(
        "<html lang='PT-br'><head><title> A\n title </title>"
        "<meta name=Description content=' of  it '>"
        "<link rel='shortlink Canonical' href='/one#top'><p>Olá"
    )
    assert (parsed.title, parsed.description) == ("A title", "of it")
    assert (parsed.canonical, parsed.language) == (f"{ROOT}/one", "pt")
    assert [(link.url, link.kind) for link in parsed.links] == [(f"{ROOT}/one", "canonical")]


def test_svg_title_is_not_the_page_title() -> None:
    assert parse_response("<body><svg><title>picture</title></svg>").title == ""
    assert parse_response("<noscript><img></noscript><title>late</title>").title == "late"


@pytest.mark.parametrize(
    ("markup", "target"),
    [
        ("<a href='x'>", "/dir/x"),
        ("<a href=' \n/x\t '>", "/x"),
        ("<map><area href='../x'>", "/x"),
        ("<iframe src='/x'>", "/x"),
        ("<frameset><frame src='/x'>", "/x"),
        ("<link rel=next href=/x>", "/x"),
        ("<link rel='PREV' href=/x>", "/x"),
        ("<link rel=alternate type=application/rss+xml href=/x>", "/x"),
        ("<meta http-equiv=Refresh content='5; URL=/x'>", "/x"),
        ("<meta http-equiv=refresh content=\"0;url='/x'\">", "/x"),
        ("<meta http-equiv=refresh content='0,/x'>", "/x"),
        ("<a href=''>", ""),
        ("<a href='#f'>", ""),
        ("<a href='?p#f'>", "/dir/page?p"),
        ("<noscript><a href=/x></noscript>", "/x"),
        ("<svg><a href=/x></svg>", "/x"),
        ("<A HREF=/x", ""),
        ("<!-- <a href=/x> -->", ""),
        ("<script>'<a href=/x>'</script>", ""),
        ("<template><a href=/x></template>", ""),
        ("<a name=x>", ""),
        ("<link rel=stylesheet href=/x>", ""),
        ("<link rel='alternate stylesheet' href=/x>", ""),
        ("<link rel=icon href=/x>", ""),
        ("<img src=/x>", ""),
        ("<meta http-equiv=refresh content='300'>", ""),
        ("<meta http-equiv=content-type content='text/html; charset=utf-8'>", ""),
    ],
)
def test_elements_with_targets_are_links(markup: str, target: str) -> None:
    assert targets(parse_response(markup)) == ([ROOT + target] if target else [])


def test_links_are_relative_to_base() -> None:
    assert targets(parse_response("<base href=//other.org/deep/><a href=x>")) == [
        "http://other.org/deep/x"
    ]
    assert targets(parse_response("<base href=up/><base href=/no/><a href=x>")) == [
        f"{ROOT}/dir/up/x"
    ]
    assert targets(parse_response("<base target=_top><base href=/b/><a href=x>")) == [f"{ROOT}/b/x"]
    assert targets(parse_response("<base href=http://[bad><a href=x>")) == [f"{ROOT}/dir/x"]


def test_repeated_link_is_listed_once_with_first_text() -> None:
    parsed = parse_response(
        "<a href=/x><img></a> <a href='/x#f'> The\n <b>first</b> </a> <a href=/x>second</a>"
        "<area href=/y alt='a map'>" + "<a href=/z>" + "long " * 100
    )
    assert [link.text for link in parsed.links[:2]] == ["The first", "a map"]
    assert targets(parsed) == [f"{ROOT}/x", f"{ROOT}/y", f"{ROOT}/z"]
    assert len(parsed.links[2].text) == 200


def test_link_is_nofollow_if_every_occurrence_is() -> None:
    parsed = parse_response(
        "<a rel=nofollow href=/a></a><a rel='me UGC' href=/b></a><a rel=sponsored href=/c></a>"
        "<a rel=noopener href=/d></a><a href=/a></a><a rel=nofollow href=/d></a>"
    )
    assert [link.nofollow for link in parsed.links] == [False, True, True, False]


@pytest.mark.parametrize(
    ("href", "hazard"),
    [
        ("http://[::bad", "malformed_url"),
        ("http://", "malformed_url"),
        ("mailto:a@b.org", "non_web_link"),
        ("tel:+351", "non_web_link"),
        ("JavaScript:go()", "non_web_link"),
        (" data:text/html," + "x" * 30_000, "non_web_link"),
        ("/" + "x" * 2100, "url_too_long"),
        ("/" + "x" * 30_000, "url_too_long"),
    ],
)
def test_bad_url_is_dropped_and_counted(href: str, hazard: str) -> None:
    parsed = parse_response(f"<a href='{href}'>x</a><a href='{href}'>x</a><a href=/good>")
    assert targets(parsed) == [f"{ROOT}/good"]
    assert parsed.hazards == (hazard,)


def test_query_is_encoded_in_page_encoding() -> None:
    body = "<meta charset=windows-1251><a href='/я?q=я日&amp;r=%41 b'>".encode(
        "cp1251", "xmlcharrefreplace"
    )
    assert targets(parse_response(body)) == [f"{ROOT}/%D1%8F?q=%FF%26%2326085%3B&r=A%20b"]


@pytest.mark.parametrize(
    ("head", "noindex", "nofollow"),
    [
        ("<meta name=robots content='NoIndex'>", True, False),
        ("<meta name=ROBOTS content='all, nofollow'>", False, True),
        ("<meta name=robots content=none>", True, True),
        ("<meta name=gossamer content=noindex>", True, False),
        ("<meta name=otherbot content=none>", False, False),
        ("<meta name=robots content=noindex><meta name=gossamer content=nofollow>", True, True),
        ("<meta name=robots>", False, False),
    ],
)
def test_robots_meta_elements_are_obeyed(head: str, noindex: bool, nofollow: bool) -> None:
    parsed = parse_response(head + "<a href=/x>")
    assert (parsed.noindex, parsed.nofollow) == (noindex, nofollow)
    assert targets(parsed) == [f"{ROOT}/x"]


@pytest.mark.parametrize(
    ("value", "noindex", "nofollow"),
    [
        ("noindex, nofollow", True, True),
        ("otherbot: noindex, nofollow", False, False),
        ("otherbot: noindex, gossamer: nofollow", False, True),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", True, False),
        ("max-snippet: 5, none", True, True),
    ],
)
def test_robots_headers_are_obeyed_for_every_media_type(
    value: str, noindex: bool, nofollow: bool
) -> None:
    for kind in ("text/html", "application/pdf"):
        parsed = parse_response("x", ("Content-Type", kind), ("x-robots-tag", value))
        assert (parsed.noindex, parsed.nofollow) == (noindex, nofollow)


def test_directives_for_another_product_are_ignored() -> None:
    other = replace(OPTIONS, product="OtherBot")
    body = b"<meta name=otherbot content=noindex><meta name=gossamer content=nofollow>"
    headers = [("Content-Type", "text/html"), ("X-Robots-Tag", "otherBot: nofollow")]
    for options, forbidden in ((other, (True, True)), (OPTIONS, (False, True))):
        parsed = parse(page_response(body, *headers), options, NOW)
        assert (parsed.noindex, parsed.nofollow) == forbidden


MALFORMED = [
    "<p><b><a href=/x>un<i>closed",
    "<A HREF='/x\" title=\"'>mixed</a><a href=/x>",
    "<table><a href=/x><tr><td></a>",
    "<a <a href=/x>>",
    "\0<a\0 href=/x><a href=/x>",
    "</p></div><!doctype html><html><html><a href=/x>",
    "<select><a href=/x></select><a href=/x>",
    "<![CDATA[ <a href=/x> ]]><a href=/x>",
]


@pytest.mark.parametrize("markup", MALFORMED)
def test_malformed_html_is_repaired_as_in_browsers(markup: str) -> None:
    assert f"{ROOT}/x" in targets(parse_response(markup))


@pytest.mark.slow
def test_links_of_page_are_limited() -> None:
    links = "".join(f"<a href=/{i}>" for i in range(10_000))
    once_more = parse_response(links + "<a href=/7 rel=nofollow>")
    assert (len(once_more.links), once_more.hazards) == (10_000, ())
    another = parse_response(links + "<a href=/another>")
    assert (another.links, another.hazards) == (once_more.links, ("too_many_links",))


@pytest.mark.slow
def test_links_with_long_base_are_limited_in_bytes() -> None:
    base = f"<base href='{ROOT}/{'b/' * 900}'>"
    text = "\1" * 250
    parsed = parse_response(base + "".join(f"<a href={i}>{text}</a>" for i in range(10_000)))
    assert "too_many_links" in parsed.hazards
    assert targets(parsed) == [f"{ROOT}/{'b/' * 900}{i}" for i in range(len(parsed.links))]
    size = len(json.encode(parsed.links))
    assert OPTIONS.links_bytes - 10_000 < size < OPTIONS.links_bytes + 2 * len(parsed.links)


def test_pages_with_few_words_are_told_apart_by_their_pictures() -> None:
    def digest(picture: str, words: str) -> str:
        return parse_response(f"<title>T</title><p>{words}<img src={picture}.jpg>").digest

    assert digest("1", "A photo") != digest("2", "A photo")
    article = "These are many words of one article. " * 9
    assert digest("1", article) == digest("2", article)


def test_digest_is_of_visible_text() -> None:
    page = "<title>T</title><p>Some <b>words</b></p><script>{}</script><!-- {} --><p class='{}'>"
    digests = {parse_response(page.replace("{}", word)).digest for word in ("a", "b")}
    assert len(digests) == 1
    assert parse_response("<title>T</title>\n\n<p>Some \n words").digest in digests
    assert parse_response("<title>T</title><p>Other words").digest not in digests


def test_page_without_text_has_digest_of_bytes() -> None:
    assert parse_response("<img src=a>").digest != parse_response("<img src=b>").digest


def test_article_in_linked_data_is_extracted() -> None:
    article = "All that is said here stands in a script, for search engines. " * 5
    data = json.encode({"@type": "NewsArticle", "articleBody": article}).decode()
    parsed = parse_response(f"<script type=application/ld+json>{data}</script><div id=app></div>")
    assert (parsed.text or "").strip() == article.strip()


def frame(document: str, attributes: str = "") -> str:
    return f'<iframe {attributes} srcdoc="{escape(document)}"></iframe>'


def test_document_in_a_frame_belongs_to_the_page() -> None:
    """gocolly/colly#214: a frame without an address has the text in its `srcdoc`."""
    inner = (
        "<!DOCTYPE html><html><head><title>Frame</title><meta name=robots content=noindex>"
        "<meta name=description content=frame><link rel=canonical href=/other>"
        "<meta http-equiv=refresh content='0;url=/refresh'><style>p{}</style>"
        "<script>var secret</script><script type='application/ld+json'>"
        '{"@type":"Article","author":"Eve"}</script></head>'
        "<body><h1>The bridge</h1><p>It is closed.<a href=x>why</a>"
    )
    for parts in ("{}", "<main><p>before{}<p>after</main>"):
        parsed = parse_response(f"<title>Page</title>{parts.format(frame(inner))}")
        assert "The bridge\nIt is closed.why" in (parsed.text or "")
        assert "secret" not in (parsed.text or "") and "p{}" not in (parsed.text or "")
        assert (parsed.title, parsed.description, parsed.author) == ("Page", "", "")
        assert targets(parsed) == [f"{ROOT}/dir/x"] and not parsed.noindex
        assert [heading.text for heading in parsed.headings] == ["The bridge"]


def test_links_of_a_frame_are_relative_to_its_base() -> None:
    inner = "<base href=/base/><a href=x>x</a><iframe src=y></iframe><a href='//['>z</a>"
    outer = f"<base href=/page/><a href=z>z</a>{frame(inner)}"
    assert {*targets(parse_response(outer))} == {
        f"{ROOT}/page/z",
        f"{ROOT}/base/x",
        f"{ROOT}/base/y",
    }


def test_frames_are_read_to_a_depth() -> None:
    nested, names = "", "abcde"
    for name in reversed(names):
        nested = f"<p>level-{name} <a href={name}>{name}</a>" + (frame(nested) if nested else "")
    parsed = parse_response(nested)
    assert [name for name in names if f"level-{name}" in (parsed.text or "")] == [*"abcd"]
    assert len(parsed.links) == 4 and "malformed_html" in parsed.hazards
    assert "malformed_html" not in parse_response(frame(frame("<p>two levels"))).hazards


def test_costly_frame_is_cut() -> None:
    costly = frame("<p>first</p>" + "<div>" * 100_000) + frame("<p>second</p>")
    parsed = parse_response(costly)
    assert (parsed.text or "").startswith("first") and "malformed_html" in parsed.hazards
