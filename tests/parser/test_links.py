"""Kinds of links, guesses and forms."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import Link
from gossamer.events.pages import Form
from gossamer.services.parser.html.links import MAX_GUESSES, find_url_literals
from gossamer.services.parser.links import TEXT_BUDGET, Resolver
from gossamer.services.parser.page import parse
from gossamer.web.url import BadUrl, canonicalize
from tests.parser.articles import ARTICLES
from tests.parser.pages import NOW, OPTIONS, page_response, parse_response, targets

ROOT = "http://www.example.org"


@pytest.mark.parametrize(
    ("markup", "link"),
    [
        ("<a href=/x rel='Author  EXTERNAL'>A</a>", Link(f"{ROOT}/x", "A", rel="author external")),
        ("<a href=/x rel=ugc>A</a>", Link(f"{ROOT}/x", "A", nofollow=True, rel="ugc")),
        ("<a href=/x><img alt='an image'></a>", Link(f"{ROOT}/x", "an image")),
        ("<a href=/x><img alt=left>word</a>", Link(f"{ROOT}/x", "word")),
        ("<svg><a xlink:href=/x>A</a></svg>", Link(f"{ROOT}/x", "A")),
        ("<iframe src=/x title='a map'>", Link(f"{ROOT}/x", "a map", kind="frame")),
        ("<frameset><frame src=/x>", Link(f"{ROOT}/x", kind="frame")),
        ("<object data=/x>", Link(f"{ROOT}/x", kind="embed")),
        ("<object type=application/pdf data=/x>", Link(f"{ROOT}/x", kind="embed")),
        ("<embed src=/x type=text/html>", Link(f"{ROOT}/x", kind="embed")),
        ("<meta http-equiv=refresh content='0; /x'>", Link(f"{ROOT}/x", kind="refresh")),
        ("<link rel=canonical href=/x>", Link(f"{ROOT}/x", rel="canonical", kind="canonical")),
        ("<link rel=next href=/x>", Link(f"{ROOT}/x", rel="next", kind="next")),
        ("<link rel=previous href=/x>", Link(f"{ROOT}/x", rel="previous", kind="prev")),
        ("<link rel=amphtml href=/x>", Link(f"{ROOT}/x", rel="amphtml", kind="amphtml")),
        (
            "<link rel=alternate hreflang=de href=/x>",
            Link(f"{ROOT}/x", rel="alternate", kind="alternate"),
        ),
        (
            "<link rel=alternate type='Application/RSS+xml; charset=x' title=News href=/x>",
            Link(f"{ROOT}/x", "News", rel="alternate", kind="feed"),
        ),
    ],
)
def test_kind_text_and_relations_of_link(markup: str, link: Link) -> None:
    assert parse_response(markup).links == (link,)


PLACEHOLDER = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
LAZY_FRAMES = {
    # Markup of lazy frames: in reports about lazyload scripts, and in the scripts themselves.
    "aFarkas/lazysizes#942": ("class=lazyload data-src=/x loading=lazy", "/x"),
    "aFarkas/lazysizes#705": ("data-src='\n/x?rel=0' src='' class=lazyload", "/x?rel=0"),
    "aFarkas/lazysizes#994": (f"class=lazyload src={PLACEHOLDER} data-src=/x", "/x"),
    "verlok/vanilla-lazyload#19": ("data-original=iframes/i01.html", "/dir/iframes/i01.html"),
    "WP Rocket": ("src=about:blank data-lazy-src=/x", "/x"),
    "wp-media/wp-rocket#1184": ("src=/x data-lazy-src=/x", "/x"),
    "litespeedtech/lscache_wp#595": ("data-litespeed-src=/x src='about:blank'", "/x"),
    "Codeinwp/optimole-wp#257": ("src=About:Blank data-opt-src=/x", "/x"),
    "kiprotect/klaro#30": ("type=opt-in data-src=/x data-name=maps", "/x"),
    "Cookiebot": ("data-cookieconsent=marketing data-cookieblock-src=//www.example.org/x", "/x"),
    "Complianz": ("data-src-cmplz=/x src=about:blank", "/x"),
    "consentmanager": ("src=about:blank class=cmplazyload data-cmp-src=/x", "/x"),
    # A source of its own is the document, whatever else the element has.
    "source and lazy source": ("src=/x data-src=/y", "/x"),
    "two lazy sources": ("data-lazy-src=/y data-src=/x", "/x"),
    # Values that are not written as a URL.
    "dkern/jquery.lazy#163": ("data-loader=youtube data-src=1AYGnw6MwFM", None),
    "template": ("data-src='/embed/{{ id }}'", None),
    "word and URL": ("data-src=map data-lazy-src=/x", "/x"),
    "only a placeholder": ("src=about:blank", None),
    "thumbnail": ("data-thumbnail-url=/x.jpg", None),
}


@pytest.mark.parametrize("tag", ["iframe", "frame"])
@pytest.mark.parametrize(("attributes", "path"), LAZY_FRAMES.values(), ids=LAZY_FRAMES)
def test_lazy_frame_is_link_to_its_document(tag: str, attributes: str, path: str | None) -> None:
    element = f"<{tag} {attributes}>"
    parsed = parse_response(f"<frameset>{element}" if tag == "frame" else f"{element}</iframe>")
    expected = (Link(f"{ROOT}{path}", kind="frame"),) if path else ()
    assert parsed.links == expected
    assert not path or not parsed.hazards


def test_checkpoint_of_link() -> None:
    parsed = parse_response(
        "<header><nav><a href=/menu>A</a></nav><a href=/logo>A</a></header><a href=/nowhere>A</a>"
        "<main><article><header><a href=/byline>A</a></header><a href=/text>A</a>"
        "<a href=/logo>B</a><aside><a href=/related>A</a></aside></article></main>"
        "<footer><a href=/about>A</a></footer>"
    )
    assert {link.url.removeprefix(ROOT): link.position for link in parsed.links} == {
        "/menu": "navigation",
        "/logo": "header",
        "/nowhere": "",
        "/byline": "main",
        "/text": "main",
        "/related": "aside",
        "/about": "footer",
    }


def test_nested_parts_are_searched_up_to_limit() -> None:
    page = "<nav>" * 100 + "".join(f"<a href=/{n}>A</a>" for n in range(3000))
    positions = [link.position for link in parse_response(page).links]
    assert positions == ["navigation"] * 3000


OTHERS = (
    "https://www.b-c.test/", "http://a.xn--a.test/x", "http://xn--tst-qla.de/", "http://1.2.3.4/",
    "http://a.0x1/", "http://a..test/", "http://A.test/", "http://-a-.test/", "http://a_b.test/",
    "http://a.test:80/", "http://a.test./",
)  # fmt: skip
BASES = ("http://a.test/", "https://a.test:8443/dir/page.html?q", "http://127.0.0.1/x//y/")


@given(
    st.sampled_from(BASES),
    st.sampled_from(["", "/", *BASES, *OTHERS]),
    st.lists(st.sampled_from([*"/.?&=~-_%:@;\\ aZ9é", "..", "/./"])).map("".join),
)
def test_resolver_agrees_with_canonicalize(base: str, start: str, end: str) -> None:
    try:
        canonical = canonicalize(start + end, base)
    except BadUrl:
        canonical = ""
    assert Resolver(base, "utf-8").resolve(start + end) == canonical


@pytest.mark.parametrize(
    "markup",
    [
        "<link rel=alternate type=application/json+oembed href=/x>",
        "<link rel=alternate type=application/json href=/x>",
        "<link rel=alternate media=handheld href=/x>",
        "<link rel='alternate stylesheet' type=application/rss+xml href=/x>",
        "<link rel=dns-prefetch href=//x.org>",
        "<link rel=canonical href='/dir/page?q'>",
        "<link rel=alternate hreflang=en href='?q'>",
        "<object type=application/x-shockwave-flash data=/x>",
        "<embed type=video/mp4 src=/x>",
        "<template><a href=/x></template>",
    ],
)
def test_elements_without_document_are_not_links(markup: str) -> None:
    assert parse_response(markup).links == ()


def test_clickable_link_precedes_link_element() -> None:
    parsed = parse_response(
        "<link rel=next href=/x><a href=/x>more</a><a href=/y>one</a><iframe src=/y>"
    )
    assert parsed.links == (
        Link(f"{ROOT}/x", "more", rel="next", kind="link"),
        Link(f"{ROOT}/y", "one"),
    )


def test_links_of_declarative_shadow_trees_are_in_document_order() -> None:
    parsed = parse_response(
        "<a href=/1></a><div><template shadowrootmode=open>Shadow <a href=/2></a><p>"
        "<template shadowrootmode=closed><a href=/3></a></template></template></div>"
        "<template><a href=/no></a></template><a href=/4>"
    )
    assert targets(parsed) == [f"{ROOT}/{n}" for n in range(1, 5)]
    seen = parse_response("<p>Shadow</p>")
    assert (
        parse_response("<p><template shadowrootmode=open>Shadow</template></p>").digest
        == seen.digest
    )


@pytest.mark.parametrize(
    ("markup", "target"),
    [
        ("<p onclick=\"location.href='/next'\">", "/next"),
        ("<img onmousedown='go(\"next.php?id=1\")'>", "/dir/next.php?id=1"),
        ("<a href=\"javascript:open('../next.html')\">", "/next.html"),
        ("<a href=' \nJavaScript:open(\"/next\")'>", "/next"),
        ("<form onsubmit=\"return send('/next')\">", "/next"),
        ("<select onchange='go(this)'><option value=/next></select>", "/next"),
        ("<select onchange='go(this)'><option value=3></select>", ""),
        ("<select><option value=/next></select>", ""),
        ("<script>const more = '/next';</script>", "/next"),
        ("<script type=module>load(`/next`)</script>", "/next"),
        ('<script type=application/json>{"a":"http:\\/\\/m.example.org\\/"}</script>', "http://m.example.org/"),
        ('<script type=application/ld+json>{"url":"/next"}</script>', ""),
        ("<script type=text/template>'/next'</script>", ""),
        ("<script src=x.js>'/next'</script>", ""),
        ("<script>get('/page/' + n)</script>", ""),
        ("<script>get(root + '/next')</script>", ""),
        ("<script>get('/page?n=')</script>", ""),
        ("<script>get('/page/%d/')</script>", ""),
        ("<script>load('/app.js', '/style.css?1', '/logo.png')</script>", ""),
        ("<script>'http://tracker.example/next'</script>", ""),
        ("<script>'/' + '//' + 'text/html' + 'a b.html'</script>", ""),
        ("<script>s.replace('/dir/page?q', '#top')</script>", ""),
    ],
)  # fmt: skip
def test_url_of_same_site_in_script_is_a_guess(markup: str, target: str) -> None:
    parsed = parse_response(markup)
    url = target if target.startswith("http") else ROOT + target
    assert parsed.links == ((Link(url, kind="script"),) if target else ())
    assert ("script_links" in parsed.hazards) == bool(target)


def test_guesses_come_last_are_limited_and_exclude_links() -> None:
    many = "".join(f"'/guess/{n}';" for n in range(MAX_GUESSES + 10))
    parsed = parse_response(
        f"<script>'/known';{many}</script><a href=/known>known</a><a href=/last>"
    )
    assert targets(parsed)[:2] == [f"{ROOT}/known", f"{ROOT}/last"]
    assert [link.kind for link in parsed.links] == ["link"] * 2 + ["script"] * MAX_GUESSES


def test_script_links_can_be_disabled() -> None:
    page = page_response(b"<script>'/next'</script>")
    parsed = parse(page, replace(OPTIONS, script_links=False), NOW)
    assert (parsed.links, parsed.hazards) == ((), ("needs_rendering",))


@given(st.text("/.ahtml\"'`+?=:% \\\n", max_size=200))
def test_url_literals_are_parts_of_script_without_quotes(script: str) -> None:
    for literal in find_url_literals(script):
        assert literal in script.replace("\\/", "/")
        assert not re.search(r"[\"'`\s+]", literal)


def test_forms_with_method_get_are_recorded() -> None:
    parsed = parse_response(
        "<form action='/search#x'><input name=q><input name=q><select name=in></select><input>"
        "</form><form method=POST action=/login><input name=user></form>"
        "<form method=GET><textarea name=words></textarea></form><form action=mailto:x></form>"
    )
    assert parsed.forms == (
        Form(f"{ROOT}/search", ("q", "in")),
        Form(f"{ROOT}/dir/page?q", ("words",)),
    )
    assert parsed.links == ()


def test_forms_are_limited() -> None:
    fields = "".join(f"<input name={'n' * 200}{n}><input name=f{n}>" for n in range(100))
    parsed = parse_response("".join(f"<form action=/{n}>{fields}</form>" for n in range(20)))
    assert len(parsed.forms) == 10
    assert {len(form.fields) for form in parsed.forms} == {50}


KINDS = {"link", "canonical", "feed", "amphtml", "frame", "script"}
"""Kinds of links in articles."""


def test_article_has_links_of_each_kind() -> None:
    parsed = parse_response(ARTICLES["news with linked data"].html)
    assert {link.kind for link in parsed.links} == KINDS
    assert "malformed_url" not in parsed.hazards


@pytest.mark.slow
def test_real_pages_have_links_of_each_kind(suite_folder: Callable[[str], Path]) -> None:
    kinds: set[str] = set()
    for file in sorted((suite_folder("pages") / "pages").glob("*.html.gz"))[:60]:
        headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip")]
        page = page_response(file.read_bytes(), *headers)
        parsed = parse(page, replace(OPTIONS, text="off"), NOW)
        kinds |= {link.kind for link in parsed.links}
        assert "malformed_url" not in parsed.hazards or len(parsed.links) > 5
    assert kinds >= KINDS


def test_texts_of_nested_links_are_limited() -> None:
    words = "word " * (TEXT_BUDGET // 50)
    links = parse_response("<svg>" + "".join(f"<a href=/{n}>" for n in range(100)) + words).links
    has_text = [bool(link.text) for link in links]
    assert has_text == sorted(has_text, reverse=True) and 10 <= sum(has_text) <= 12
    assert len(links) == 100


@pytest.mark.parametrize(
    "rel", ["canonical", "Canonical nofollow", "alternate canonical' hreflang='de"]
)
@pytest.mark.parametrize(
    "before", ["", "<title>a</title>", "<html><head>", "<head><style></style>"]
)
def test_canonical_url_is_named_in_the_head_only(before: str, rel: str) -> None:
    """A comment may contain an element, and search engines read it in the head only."""
    link = f"<link rel='{rel}' href=/x>"
    assert parse_response(f"{before}{link}<p>words").canonical == f"{ROOT}/x"
    behind = parse_response(f"{before}<body><p>words<div class=comment>{link}</div>")
    assert (behind.canonical, [one.kind for one in behind.links]) == ("", ["link"])
    for stray in (
        "<div></div>",
        "<img src=x>",
        "<center><script>x()</script></center><meta name=a>",
    ):
        assert parse_response(f"{before}{stray}{link}<p>words").canonical == f"{ROOT}/x"
        assert parse_response(f"{before}{stray}words{link}").canonical == ""
        assert parse_response(f"{before}<div>{stray}{link}</div>").canonical == ""
    empty = parse_response(f"<link rel=canonical href=' '>{before}{link}<p>words")
    assert empty.canonical == f"{ROOT}/x"
    both = parse_response(f"{before}{link}<p>words<link rel=canonical href=/y>")
    assert both.canonical == f"{ROOT}/x"
