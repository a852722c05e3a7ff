"""Metadata of pages: author, dates, languages, image, and whether they need rendering."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from gossamer.events import PageParsed
from gossamer.services.parser.dates import parse_web_date
from gossamer.services.parser.html.about import is_thread
from gossamer.services.parser.html.elements import Elements
from gossamer.services.parser.page import parse
from gossamer.web.validators import WEB_BEGAN_AT
from tests.parser.articles import ARTICLES
from tests.parser.pages import NOW, OPTIONS, URL, page_response

ROOT = "http://www.example.org"
DAY = 1542672000.0
"""2018-11-20."""
READ_AT = 1763856000.0
"""2025-11-23."""


def parse_body(body: str, url: str = URL, *headers: tuple[str, str]) -> PageParsed:
    kind = ("Content-Type", "text/html; charset=utf-8")
    page = page_response(body.encode(), kind, *headers, url=url)
    return parse(replace(page, started_at=READ_AT), OPTIONS, READ_AT)


def linked_data(thing: object) -> str:
    return f"<script type='application/ld+json'>{json.dumps(thing)}</script>"


ARTICLE = {"@type": "NewsArticle", "datePublished": "2018-11-20"}
OTHER = {"@type": "Thing", "datePublished": "2001-01-01"}
GRAPH = {"@graph": [OTHER, {"@type": ["WebPage"], "datePublished": "2018-11-20T00:00Z"}]}
PLAIN = "<meta name=date content=20181120>"


def script(text: str) -> str:
    return f"<script type='application/ld+json'>{text}</script>"


@pytest.mark.parametrize(
    ("markup", "by"),
    [
        (linked_data(ARTICLE), "linked data"),
        (linked_data(GRAPH), "linked data"),
        (linked_data([OTHER, GRAPH, ARTICLE]), "linked data"),
        (script(f"<!-- {json.dumps(ARTICLE)}\n-->"), "linked data"),
        (script(f"//<![CDATA[\n{json.dumps(ARTICLE)}\n//]]>"), "linked data"),
        (script('{"@type": oops}') + PLAIN, "meta"),
        (script("[" * 50_000) + PLAIN, "meta"),
        ("<meta property=article:published_time content=2018-11-20T01:00:00+01:00>", "open graph"),
        (
            "<meta property=og:pubdate content=never><meta name=dc.date content='20 Nov 2018'>",
            "meta",
        ),
        ("<meta itemprop=datePublished content='Nov 20, 2018'>", "meta"),
        ("<time>2001-01-01</time><time itemprop=datePublished>2018-11-20</time>", "time"),
        ("<time>2001-01-01</time><time class='entry published'>20 Nov 2018</time>", "time"),
        ("<time datetime='Tue, 20 Nov 2018 00:00:00 GMT'>", "time"),
        # Tests of htmldate.
        ("<meta property=dc:created content=2018-11-20>", "meta"),
        ("<meta name=DC.Issued content=2018-11-20>", "meta"),
        ("<meta name=created content=2018-11-20>", "meta"),
        ("<meta property=og:published_time content=2018-11-20>", "open graph"),
        ("<meta property=og:regDate content=20181120000000>", "open graph"),
        (
            "<time class=updated datetime=2018-11-21></time>"
            "<time class=entry-date datetime=2018-11-20></time>",
            "time",
        ),
        (linked_data({"@type": "VideoObject", "uploadDate": "2018-11-20"}), "linked data"),
        ("<abbr class=published title=2018-11-20T00:00:00Z>20 Nov</abbr>", "time"),
        ("<abbr itemprop=datePublished title=2018-11-20T00:00:00Z>Tuesday</abbr>", "time"),
        ("<time datetime=2018-11-20></time><time datetime=2018-11-21></time>", ""),
        ("<meta name=date content='in spring'><meta name=date content=1980-01-01>", ""),
        ("<meta name=date content=2035-01-01>", ""),
    ],
)
def test_publication_time_and_its_source(markup: str, by: str) -> None:
    parsed = parse_body(markup)
    assert (parsed.published_at, parsed.published_by) == (DAY if by else 0.0, by)


@pytest.mark.parametrize(
    "path",
    [
        *("/2018/11/20/x", "/news/2018-11-20", "/2018/nov/20/x"),
        # thelocal.se in the evaluation of adbar/htmldate, and www.gov.cn.
        *("/20181120/x", "/201811/20/x.html", "/201811/t20181120_5.htm"),
    ],
)
def test_date_in_url_is_publication_time(path: str) -> None:
    parsed = parse_body("<p>words", f"{ROOT}{path}")
    assert (parsed.published_at, parsed.published_by) == (DAY, "url")


@pytest.mark.parametrize(
    "path",
    [
        *("/2018/11/201/x", "/20181320/x", "/201811201/x", "/20181120", "/2018/1120/x"),
        "/log?next=/2018/11/20/x",
    ],
)
def test_number_in_url_is_not_a_date(path: str) -> None:
    assert parse_body("<p>words", f"{ROOT}{path}").published_at == 0.0


@pytest.mark.parametrize(
    ("markup", "by"),
    [
        (linked_data({"@type": "Article", "dateModified": "2018-11-20"}), "linked data"),
        ("<meta property=og:updated_time content=1542672000>", "open graph"),
        ("<meta name=last-modified content='2018-11-20 00:00:00 GMT'>", "meta"),
        ("<meta name=lastmodified content=2018-11-20>", "meta"),
        ("<time></time><time class=updated datetime='2018-11-20 00:00:00'>", "time"),
    ],
)
def test_modification_time_and_its_source(markup: str, by: str) -> None:
    parsed = parse_body(markup)
    assert (parsed.modified_at, parsed.modified_by) == (DAY, by)
    assert parsed.published_at == 0.0


@given(st.text(max_size=60) | st.from_regex(r"[0-9 T:/.+-]{4,30}"))
def test_any_text_parses_to_plausible_time_or_zero(text: str) -> None:
    results = parse_web_date(text, READ_AT)
    assert results == 0.0 or WEB_BEGAN_AT <= results <= READ_AT + 86400


@given(st.datetimes(datetime(1993, 1, 2), datetime(2025, 11, 22)))
def test_usual_time_formats_are_parsed(when: datetime) -> None:
    exact = when.replace(microsecond=0, tzinfo=UTC)
    day = exact.replace(hour=0, minute=0, second=0)
    for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%a, %d %b %Y %H:%M:%S GMT"):
        assert parse_web_date(exact.strftime(form), READ_AT) == exact.timestamp()
    for form in ("%Y%m%d", "%Y/%m/%d", "%d %B %Y", "%B %d, %Y"):
        assert parse_web_date(day.strftime(form), READ_AT) == day.timestamp()


CARD = "<span class='{}'>by <a class='url fn n' href=/a>A Writer</a></span>"
LINKED_TEXTS = (
    r"""{"@type": "Article", "description": "It\'s", "author": "A"}""",
    """{"@type": "Article", "author": "A"};""",
    """\ufeff{"@type": "Article", "author": "A"}""",
    """/*<![CDATA[*/{"@type": "Article", "author": "A"}/*]]>*/""",
    """//<![CDATA[\n{"@type": "Article", "author": "A"}\n//]]>""",
    """{"@type": "Article", /* the writer */ "author": "A", // and no editor\n}""",
    """{&quot;@type&quot;: &quot;Article&quot;, &quot;author&quot;: &quot;A&quot;}""",
)


@pytest.mark.parametrize(
    ("markup", "author"),
    [
        (linked_data({"@type": "Article", "author": {"name": " A.\n Writer "}}), "A. Writer"),
        (linked_data({"@type": "Article", "author": [{"name": "A"}, "B", {"name": "A"}]}), "A, B"),
        (linked_data({"@type": "Article", "author": {"url": 1}}), ""),
        ("<meta property=article:author content=//a.test/me><meta name=author content=A>", "A"),
        ("<meta name=author content=' '><a rel=author href=/me>A <b>Writer</b></a>", "A Writer"),
        (f"<meta name=author content='{'A' * 300}'>", "A" * 200),
        (
            "<meta name=citation_author content='B, A'><meta name=citation_author content=C>",
            "B, A, C",
        ),
        (linked_data({"@type": "Article", "author": {"name": ["A", "B"]}}), "A, B"),
        (CARD.format("author vcard"), "A Writer"),
        (CARD.format("comment-author vcard"), ""),
        ("<a class='p-author h-card' href=/a>A</a>", "A"),
        (f"{CARD.format('author vcard')}<a class=p-author>B</a>", ""),
        *((f"<script type=application/ld+json>{data}</script>", "A") for data in LINKED_TEXTS),
        ("<meta name=author content=a@example.org>", "a@example.org"),
        ("<p>by A", ""),
    ],
)
def test_author_is_found(markup: str, author: str) -> None:
    assert parse_body(markup).author == author


def test_image_open_graph_and_linked_data_are_published() -> None:
    parsed = parse_body(
        "<meta property=og:image content='/i.png#x'><meta property=OG:Type content=article>"
        "<meta property=og:type content=second><meta name=twitter:card content=' a  card '>"
        "<meta property=fb:pages content=1>"
        + linked_data({"@type": "Article", "image": ["/no.png"]})
    )
    assert parsed.image == f"{ROOT}/i.png"
    open_graph_properties = {"og:image": "/i.png#x", "og:type": "article", "twitter:card": "a card"}
    assert parsed.open_graph == open_graph_properties
    assert [json.loads(text)["@type"] for text in parsed.linked_data] == ["Article"]
    for thing in ({"url": "/o.png"}, ["/o.png"], [{"contentUrl": "/o.png"}]):
        assert parse_body(linked_data({"@type": "Recipe", "image": thing})).image == f"{ROOT}/o.png"
    assert parse_body("<link rel=image_src href=/l.png>").image == f"{ROOT}/l.png"


def test_metadata_is_limited() -> None:
    body = "".join(f"<meta property=og:x{n} content={'y' * 900}>" for n in range(100))
    body += "".join(f"<link rel=alternate hreflang=x{n} href=/{n}>" for n in range(300))
    parsed = parse_body(
        body + linked_data(["x" * 60_000]) + linked_data(["y" * 60_000]) + linked_data({}) * 50
    )
    assert len(parsed.open_graph) == 50
    assert {len(value) for value in parsed.open_graph.values()} == {500}
    assert len(parsed.alternates) == 200
    assert len(parsed.linked_data) == 20


@pytest.mark.parametrize(
    ("markup", "language"),
    [
        ("<html lang=fr><meta http-equiv=content-language content=de>", "fr"),
        ("<meta http-equiv=content-language content=de><body lang=fr>", "fr"),
        ("<meta http-equiv=Content-Language content=de-CH>", "de-CH"),
        ("<meta http-equiv=Content-Language content='de, en'>", ""),
        ("<meta property=og:locale content=es_ES>", "es-ES"),
    ],
)
def test_language_is_declared_by_the_first_element_that_names_one(
    markup: str, language: str
) -> None:
    assert parse_body(f"{markup}<p>words").declared_language == language


@pytest.mark.parametrize(
    ("markup", "sent", "language"),
    [
        ("", "de-CH", "de-CH"),
        ("<html lang=fr>", "de", "fr"),
        ("<meta http-equiv=content-language content=fr>", "de", "fr"),
        ("<meta property=og:locale content=es_ES>", "de", "de"),
        ("", "de, en", ""),
        ("", "German (Swiss)", ""),
        ("", "x" * 5000, ""),
    ],
)
def test_language_is_declared_by_a_header_if_no_element_names_one(
    markup: str, sent: str, language: str
) -> None:
    parsed = parse_body(f"{markup}<p>words", URL, ("Content-Language", sent))
    assert parsed.declared_language == language


def test_declared_language_and_alternates_are_published() -> None:
    parsed = parse_body(
        "<html lang=de-CH><link rel=alternate hreflang=EN-gb href=/en>"
        "<link rel=alternate hreflang=de href='/dir/page?q'>"
        "<link rel=alternate hreflang=x-default href=/>"
        "<link rel=alternate hreflang=en-GB href=/later><link rel=alternate hreflang='' href=/no>"
        "<p>Words in English, which are enough to tell: "
        "the quick brown fox jumps over the lazy dog, and then it does so once more."
    )
    assert (parsed.language, parsed.declared_language) == ("en", "de-CH")
    assert parsed.alternates == {"en-gb": f"{ROOT}/en", "de": URL, "x-default": f"{ROOT}/"}


WORDS = "<p>" + "These words can be read without any script. " * 10
SCRIPT = "<script src=/app.js></script>"


@pytest.mark.parametrize(
    ("body", "needs"),
    [
        (f"<title>App</title><div id=root></div>{SCRIPT}", True),
        (f"<div id=root><script>x</script>\n</div>{SCRIPT}", True),
        (f"<header>Shop <a href=/>Home</a></header><app-root></app-root>{SCRIPT}", True),
        (f"<body><noscript>Enable JavaScript to run this.</noscript><p>x{SCRIPT}", True),
        (f"<body><noscript>Bitte aktivieren Sie JavaScript</noscript>{SCRIPT}", True),
        (f"Loading…{SCRIPT}", True),
        ("<script>location = '/x'</script>", True),
        (f"{WORDS}<div id=root></div>{SCRIPT}", False),
        (f"<div id=root>Rendered.</div>{SCRIPT}", False),
        (f"<noscript><img src=/pixel></noscript><p>Short.{SCRIPT}", False),
        ("<div id=root></div>", False),
        (f"<p>Closed.{SCRIPT}", False),
        (f"<img src=/photo.jpg>{SCRIPT}", False),
        (f"<frameset><frame src=/x></frameset>{SCRIPT}", False),
        (linked_data({"@type": "Article"}), False),
    ],
)
def test_page_without_content_but_scripts_needs_rendering(body: str, needs: bool) -> None:
    parsed = parse_body(body)
    assert parsed.needs_rendering == needs
    assert ("needs_rendering" in parsed.hazards) == needs


@pytest.mark.parametrize("name", ARTICLES)
def test_articles_have_publication_time_and_author(name: str) -> None:
    article = ARTICLES[name]
    page = parse_body(article.html)
    assert page.published_at == datetime.fromisoformat(article.published).timestamp()
    assert page.author == article.author
    assert page.image and not page.needs_rendering


@pytest.mark.slow
def test_most_real_pages_have_publication_time_and_author(
    suite_folder: Callable[[str], Path],
) -> None:
    results = []
    for file in sorted((suite_folder("pages") / "pages").glob("*.html.gz")):
        headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")]
        page = replace(page_response(file.read_bytes(), *headers), started_at=time.time())
        results.append(parse(page, replace(OPTIONS, text="off"), NOW))
    assert len(results) == 181
    assert sum(bool(page.published_at) for page in results) >= 150
    assert sum(bool(page.author) for page in results) >= 125
    assert sum(bool(page.image) for page in results) >= 170
    assert not any(page.needs_rendering for page in results)


BY_ID = {"@type": "Article", "author": {"@id": "#a"}, "image": {"@id": "#i"}}
PERSON = {"@type": "Person", "@id": "#a", "name": "A. Doe"}
IMAGE = {"@type": "ImageObject", "@id": "#i", "url": "/i.png"}


@pytest.mark.parametrize(
    "things",
    [
        [{"@context": "https://schema.org", "@graph": [BY_ID, PERSON, IMAGE]}],
        [BY_ID, [PERSON, IMAGE]],
        [{"@type": "WebSite", "publisher": {"x": [PERSON, IMAGE]}}, BY_ID],
        [{"@graph": [{**BY_ID, "author": [{"@id": "#a", "@type": "Person"}]}, PERSON, IMAGE]}],
        [{"@graph": [{**BY_ID, "author": "#a", "image": "#i"}, PERSON, IMAGE]}],
        [{**BY_ID, "author": {"@id": "#a", "name": {"@value": "A. Doe"}}}, IMAGE],
        [{**BY_ID, "author": PERSON, "image": [IMAGE]}],
    ],
)
def test_thing_that_is_named_by_its_id_is_found(things: list[object]) -> None:
    """mozilla/readability#617, the kind: the form of plug-ins for WordPress."""
    parsed = parse_body("".join(map(linked_data, things)))
    assert (parsed.author, parsed.image) == ("A. Doe", f"{ROOT}/i.png")


SCHEMA = "https://schema.org/"
PREFIXED = {
    "@type": "schema:Recipe",
    "schema:author": {"@type": "schema:Person", "schema:name": "A. Doe"},
    "schema:image": {"@id": "#i"},
}


@pytest.mark.parametrize(
    "thing",
    [
        {"@context": {"schema": SCHEMA}, **PREFIXED},
        {"@context": "https://schema.org", **PREFIXED},
        json.loads(json.dumps(PREFIXED).replace("schema:", SCHEMA)),
        json.loads(json.dumps(PREFIXED).replace("schema:", "http://schema.org/")),
        json.loads(
            json.dumps({"@context": ["x", {"s": SCHEMA}], **PREFIXED}).replace("schema:", "s:")
        ),
        {"@context": {"@vocab": SCHEMA}, "@type": "Recipe", "author": "A. Doe", "image": "#i"},
        {
            "@context": {"id": "@id", "type": "@type", "@vocab": SCHEMA, "graph": "@graph"},
            "graph": [{"type": "Recipe", "author": {"id": "#a"}, "image": {"id": "#i"}}],
        },
        {**PREFIXED, "@type": ["schema:Thing", "schema:Recipe"]},
    ],
)
def test_names_of_schema_org_have_a_prefix_or_are_urls(thing: object) -> None:
    """JSON-LD 1.1, 4.1 and 4.1.2; the kind of weblyzard/weblyzard_api#181."""
    picture = {"@type": SCHEMA + "ImageObject", "@id": "#i", "schema:url": "/i.png"}
    parsed = parse_body("".join(map(linked_data, [thing, PERSON, picture])))
    assert (parsed.author, parsed.image) == ("A. Doe", f"{ROOT}/i.png")


def test_name_of_another_vocabulary_is_not_one_of_schema_org() -> None:
    thing = {"@context": {"x": "https://x.test/"}, "@type": "Article", "x:author": "Eve"}
    assert parse_body(linked_data(thing)).author == ""
    both = {"@type": "Article", "author": "A. Doe", "schema:author": "Eve"}
    assert parse_body(linked_data(both)).author == "A. Doe"


@pytest.mark.parametrize(
    "name", ["schema:QAPage", SCHEMA + "QAPage", "http:\\/\\/schema.org\\/QAPage"]
)
def test_discussion_is_stated_with_a_prefix(name: str) -> None:
    assert is_thread([f'{{"@type": "{name}"}}'], Elements(LexborHTMLParser("")))


@pytest.mark.parametrize(
    "named",
    [
        {"url": f"{ROOT}/a"},
        {"@id": f"{ROOT}/a#article"},
        {"mainEntityOfPage": {"@type": "WebPage", "@id": f"{ROOT}/a"}},
        {"mainEntityOfPage": "/a"},
    ],
)
def test_article_that_names_the_page_is_the_page(named: dict[str, object]) -> None:
    other = {"@type": "NewsArticle", "url": f"{ROOT}/b", "author": "B"}
    own = {"@type": "NewsArticle", "author": "A", **named}
    for things in ([other, own], [own, other], [{"@graph": [other, other, own]}]):
        assert parse_body("".join(map(linked_data, things)), url=f"{ROOT}/a").author == "A"
    assert parse_body(linked_data([{**own, "@type": "WebPage"}, other])).author == "B"


def test_unknown_id_is_not_an_author() -> None:
    thing = {**BY_ID, "@id": "#a", "author": {"@id": "#a"}}
    for one in (BY_ID, thing):
        assert parse_body(linked_data(one)).author == ""


def test_title_of_linked_data_has_no_tags() -> None:
    """hypothesis/h#7968."""
    for headline, title in (("<em>Old</em> &amp; new", "Old & new"), ("1 <b 2", "1 <b 2")):
        assert parse_body(linked_data({**ARTICLE, "headline": headline})).title == title


SCOPE = "<div itemscope itemtype='https://schema.org/{}'>{}</div>"
DATED = "<span itemprop=datePublished content=2018-11-20>November</span>"
OTHER_DATED = "<span itemprop=datePublished>2001-01-01</span>"


@pytest.mark.parametrize(
    "markup",
    [
        DATED,
        "<p itemprop=datePublished>20 Nov 2018",
        "<abbr itemprop='datePublished dateCreated' title=x content=2018-11-20>x</abbr>",
        "<data itemprop=datePublished value=2018-11-20>x</data>",
        "<time itemprop=datePublished datetime=2018-11-20>x</time><time>2001-01-01</time>",
        SCOPE.format("Comment", OTHER_DATED) + SCOPE.format("BlogPosting", DATED),
        SCOPE.format("WebPage", OTHER_DATED + SCOPE.format("NewsArticle", DATED)),
        SCOPE.format("CreativeWork", DATED) + SCOPE.format("Review", OTHER_DATED),
        SCOPE.format("Article", "<div itemscope><i itemprop=name>x</i></div>" + DATED),
        # RDFa: Drupal 7, Drupal 8, schema.org.
        "<span property='dc:date dc:created' content='2018-11-20T00:00:00Z' "
        "datatype=xsd:dateTime>Submitted on Tue</span>",
        "<article about=/node/1 typeof=schema:Article>"
        "<span property=schema:dateCreated content=2018-11-20 class='rdf-meta hidden'></span>"
        "<article typeof=schema:Comment><span property=schema:dateCreated content=2001-01-01>"
        "</span></article></article>",
        "<div vocab=https://schema.org/ typeof=BlogPosting>"
        "<time property=datePublished datetime=2018-11-20>x</time></div>"
        "<div typeof='sioc:Post sioct:Comment'><i property=dc:created content=2001-01-01></div>",
    ],
)
def test_property_of_any_element_has_the_time(markup: str) -> None:
    """HTML standard, 5.2: an element of any name may be a property."""
    parsed = parse_body(markup)
    assert (parsed.published_at, parsed.published_by) == (DAY, "time")


@pytest.mark.parametrize("kind", ["Comment", "Review", "ImageObject", "UserComments"])
def test_microdata_of_another_thing_is_not_that_of_the_page(kind: str) -> None:
    """ageitgey/node-unfluff#93: the time of a comment."""
    time = "<time itemprop=datePublished datetime=2018-11-20>x</time>"
    author = "<b itemprop=author>Commenter</b>"
    parsed = parse_body(SCOPE.format(kind, DATED + time + author))
    assert (parsed.published_at, parsed.author) == (0.0, "")


OG_TITLE = "<meta property=og:title content=' Of OpenGraph '>"


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        (f"<title>Own</title>{OG_TITLE}<h1>Heading</h1>", "Own"),
        (f"<title> </title><title>Second</title>{OG_TITLE}", "Second"),
        (f"<title></title>{OG_TITLE}<h1>Heading</h1>", "Of OpenGraph"),
        (f"{OG_TITLE}<svg><title>Menu</title></svg><h1>Heading</h1>", "Of OpenGraph"),
        (
            "<meta property=og:title content=''><h1><img src=x></h1><h1>A <b>heading</b></h1>",
            "A heading",
        ),
        ("<svg><title>Menu</title></svg><h2>Second level</h2>", ""),
        ("<meta name=twitter:title content=Tw><h1>Heading</h1>", "Tw"),
        ("<meta name=DC.title content=DC><h1>Heading</h1>", "DC"),
        ("<meta name=citation_title content=Paper><h1>Heading</h1>", "Paper"),
        (linked_data({"@type": "NewsArticle", "headline": "A &amp; B"}) + "<h1>H</h1>", "A & B"),
        ("<h1><img src=x alt='The name'></h1>", "The name"),
    ],
)
def test_title_is_the_first_one_with_words(markup: str, title: str) -> None:
    """codelucas/newspaper#113, mozilla/readability#175, fb55/readabilitySAX#45."""
    assert parse_body(f"{markup}<p>words").title == title


@pytest.mark.parametrize(
    ("markup", "description"),
    [
        ("<meta name=description content=Own><meta property=og:description content=Other>", "Own"),
        (
            "<meta name=description content=' '><meta property=og:description content=' O  G '>",
            "O G",
        ),
        ("<meta property=og:description content=Other><meta name=Description content=Own>", "Own"),
        ("<meta name=twitter:description content=Tw>", "Tw"),
        ("<meta name=DCTERMS.abstract content=Abstract>", "Abstract"),
        (linked_data({"@type": "Article", "description": "Linked"}), "Linked"),
        ("<p>words", ""),
    ],
)
def test_description_is_the_first_one_with_words(markup: str, description: str) -> None:
    assert parse_body(markup).description == description


OWN_TIME = "<time class=published datetime=2018-11-20>x</time>"
OTHER_TIME = "<time class=published datetime=2001-01-01>x</time>"
CITED = (
    "<ol><li itemprop=citation itemscope itemtype='https://schema.org/ScholarlyArticle'>"
    "<meta itemprop=datePublished content=2001-01-01><meta itemprop=author content=Cited>"
    "<meta itemprop=description content=Cited></ol>"
)


def test_header_names_translations() -> None:
    """As Google reads them: a PDF has no elements for them. An element wins."""
    header = "</de>; rel=alternate; hreflang=DE, </en>; rel=alternate; hreflang=en, </x>; rel=next"
    parsed = parse_body("<link rel=alternate hreflang=en href=/english>", URL, ("Link", header))
    assert parsed.alternates == {"de": f"{ROOT}/de", "en": f"{ROOT}/english"}


@pytest.mark.parametrize("name", ["prism.publicationDate", "bepress_citation_date", "sw-pubdate"])
def test_meta_element_of_publishers_has_the_date(name: str) -> None:
    """Pages in the evaluation of adbar/htmldate."""
    assert parse_body(f"<meta name='{name}' content=2018-11-20>").published_at == DAY


@pytest.mark.parametrize(
    "markup",
    [
        # la-bas.org, resonator-podcast.de and limespace.de in the evaluation of adbar/htmldate.
        f"<div class='comment hreview'>{OTHER_TIME}</div>{OWN_TIME}",
        f"<section id=comments><time datetime=2001-01-01>x</time></section>{OWN_TIME}",
        f"<li><h4><a rel=bookmark href=/older>A</a></h4>{OTHER_TIME}</li>{OWN_TIME}",
        f"<article><a rel=bookmark href='/story?x'>A</a>{OWN_TIME}</article>",
        f"<article><a rel=bookmark href='story'>A</a>{OWN_TIME}</article>",
        f"<article><a rel=bookmark href='http://[x'>A</a><a rel=bookmark href='/story'>{OWN_TIME}",
        f"<article><a rel=bookmark href='/story-two'>A</a>{OTHER_TIME}</article>{OWN_TIME}",
        f"<body class='single comments-open'>{OWN_TIME}",
        # link.springer.com there.
        SCOPE.format("ScholarlyArticle", CITED + DATED),
        # kinra.de there: a time in words, whose exact form is not a date, or is ambiguous.
        "<abbr class=published title='Dienstag, x'>20.11.2018</abbr>",
        "<time datetime=2018-11-20>x</time><time datetime=2018-11-20>x</time>",
    ],
)
def test_time_is_that_of_the_page(markup: str) -> None:
    parsed = parse_body(f"<p>x</p>{markup}", "http://www.example.org/story")
    assert parsed.published_at == DAY


@pytest.mark.parametrize(
    "markup",
    [
        f"<div class=comment-body>{OTHER_TIME}</div>",
        "<ol class=commentlist><li><time datetime=2001-01-01>x</time></ol>",
        f"<article><h2><a rel=bookmark href=/a>A</a></h2>{OTHER_TIME}</article>",
        "<p>x</p><footer>© <time datetime=2001>2001</time></footer>",
        SCOPE.format("ScholarlyArticle", CITED),
    ],
)
def test_time_of_another_thing_is_not_that_of_the_page(markup: str) -> None:
    parsed = parse_body(markup, "http://www.example.org/")
    assert (parsed.published_at, parsed.author, parsed.description) == (0.0, "", "")


@pytest.mark.parametrize("url", ["http://www.example.org/?p=7", "http://www.example.org/a/b/2"])
def test_permanent_link_of_a_page_may_have_a_query_or_a_part_behind_it(url: str) -> None:
    href = "/?p=7" if "?" in url else "/a/b"
    parsed = parse_body(f"<article><a rel=bookmark href='{href}'>A</a>{OWN_TIME}</article>", url)
    assert parsed.published_at == DAY


@pytest.mark.parametrize(
    "markup",
    [
        # JSON-LD 1.1, 4.3.
        linked_data({**ARTICLE, "author": {"@list": [{"name": "A. Doe"}]}}),
        linked_data({**ARTICLE, "author": {"@set": ["A. Doe"]}}),
        # extruct#34.
        linked_data([[{**ARTICLE, "author": "A. Doe"}]]),
        # mastodon#33647.
        linked_data({**ARTICLE, "author": [[]], "creator": "A. Doe"}) + PLAIN,
        # turbohtml#389.
        script("null") + linked_data({**ARTICLE, "author": "A. Doe"}),
        # trafilatura#226, #374.
        linked_data({**ARTICLE, "author": {"name": None}}) + "<meta name=author content='A. Doe'>",
        # Objects in a row.
        script('{"@type": "WebSite"}\n{"@type": "Article", "author": "A. Doe"}'),
        # trafilatura#110.
        "<meta name=author content=a@example.org><meta name=dc.creator content='A. Doe'>",
        # edsu/microdata#19.
        "<div itemscope itemtype=https://schema.org/Article><p itemprop=author itemscope>"
        "<i itemprop=worksFor itemscope><b itemprop=name>Acme</b></i><b itemprop=name>A. Doe</b>",
        # turbohtml#387, edsu/microdata#12.
        "<div itemscope itemtype=https://schema.org/Article itemref=x></div>"
        "<p id=x><b itemprop=author>A. Doe</b></p>",
        # Microdata.
        "<b itemprop=author>A. Doe</b>",
        "<b itemprop=author itemscope><i itemprop=name>A. Doe</i><i itemprop=url>/a</i></b>",
        "<b itemprop=author itemscope><meta itemprop=name content='A. Doe'></b>",
        SCOPE.format("Comment", "<b itemprop=author>B</b>") + "<b itemprop=creator>A.\nDoe</b>",
        # RDFa Lite 1.1.
        "<div typeof=Article>by <span property=author>A. Doe</span></div>",
        "<div typeof=Article><b property=schema:author typeof=schema:Person>"
        "<i property=schema:name>A. Doe</i></b></div>",
        "<div typeof=Comment><i property=author>B</i></div><b property=author>A. Doe</b>",
        # pitchfork.com, www.wired.com and medium.com of the fixtures of postlight/parser.
        "<meta name=author content='By A. Doe'>",
        "<a rel=author href=/a>by\n A. Doe</a>",
        "<meta name=author content=Publisher><meta property=article:author content='A. Doe'>",
        "<meta property=article:author content='/@adoe'><meta name=author content='A. Doe'>",
        "<meta property=article:author content=10000123456789><meta name=author content='A. Doe'>",
        "<meta name=author content='&lt;a href=/a>A. Doe&lt;/a>'>",
        # codelucas/newspaper#619: nytimes.com.
        "<meta name=byl content='By A. Doe'>",
        # Test pages 003 and 004 of mozilla/readability.
        "<meta name='DC:creator' content='A. Doe'>",
        "<meta property='dc:creator twitter:site_name' content='A. Doe'>",
        "<meta property='x:author dcterms:creator' content='A. Doe'>",
        linked_data({"@type": "Article", "author": [{"name": "By A. Doe"}, {"name": "A. Doe"}]}),
        linked_data({"@type": "Article", "author": True}) + "<meta name=author content='A. Doe'>",
    ],
)
def test_author_is_found_by_name(markup: str) -> None:
    assert parse_body(markup).author == "A. Doe"


def test_names_that_begin_like_by_stay() -> None:
    """AndyTheFactory/newspaper4k#83."""
    assert parse_body("<meta name=author content='Byron Abby'>").author == "Byron Abby"
