"""Archived pages in a frame: nothing in them runs, loads or leads anywhere."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import GossamerError
from gossamer.inspection.archive.archived_html import (
    FRAME_HEADERS,
    clean_css,
    image_type,
    read_archived_page,
    write_html,
)
from gossamer.inspection.archive.captures import NotArchived
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.services.parser.display import ATTRIBUTES, ELEMENTS, DisplayNode
from tests.console.archived import PAGE, Archived

HTML = (("Content-Type", "text/html; charset=utf-8"),)
HOSTILE = b"""<!doctype html><html lang=en><head><title>x</title>
<base href=http://evil.test/><meta http-equiv=refresh content="0;url=http://evil.test/">
<link rel=stylesheet href=http://evil.test/a.css><script>alert(1)</script>
<style>body{background:url(http://evil.test/b.png)} @import 'http://evil.test/c.css';
p{color:red} </style></head>
<body onload=alert(1) background=http://evil.test/d.png class=wide>
<h1 onclick=alert(1)>A page</h1>
<p style="color: green; background: u\\72l(http://evil.test/e.png)">Some &lt;b&gt; text</p>
<a href="http://evil.test/link" ping=http://evil.test/ping target=_top>a link</a>
<img src=http://evil.test/f.png srcset="http://evil.test/g.png 2x" alt="a picture" onerror=alert(1)>
<iframe src=http://evil.test/h srcdoc="<script>alert(1)</script>"></iframe>
<form action=http://evil.test/i><input name=q value=1><button formaction=http://evil.test/j>Go
</button></form><object data=http://evil.test/k></object><embed src=http://evil.test/l>
<svg><a xlink:href=http://evil.test/m><text>svg text</text></a><script>alert(1)</script></svg>
<video src=http://evil.test/n poster=http://evil.test/o></video><template><p>hidden</p></template>
<noscript><p title="</noscript><img src=x onerror=alert(1)>">fallback</noscript>
<unknown-element>kept words</unknown-element><details open><summary>More</summary>words</details>
<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)></style></math>
<textarea></textarea><plaintext><script>alert(1)</script>
"""
ACTIVE = re.compile(r"(?i)\bon[a-z]+\s*=|javascript:")


class Outline(HTMLParser):
    """The elements and attributes of a document."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = set[str](), set[str](), list[str]()
        self.values = list[str]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def assert_harmless(html: str) -> Outline:
    """Assert that a document without its own head has no active element or attribute."""
    outline = Outline(html)
    assert outline.tags <= ELEMENTS - {"img"} | {"style"}
    assert outline.attributes <= ATTRIBUTES
    return outline


def body_of(html: str) -> str:
    return html.partition("</head>")[2].removesuffix("</html>")


@pytest.fixture
def archived(tmp_path: Path) -> Archived:
    return Archived(tmp_path)


def read(archived: Archived) -> str:
    data = archived.end()
    with open_crawl(None, data) as crawl:
        return read_archived_page(crawl, PAGE).html


def test_hostile_page_keeps_its_words_and_nothing_active(archived: Archived) -> None:
    archived.add(PAGE, 0, HOSTILE, headers=HTML)
    html = read(archived)
    outline = assert_harmless(body_of(html))
    text = " ".join(" ".join(outline.texts).split())
    for words in ("A page", "Some <b> text", "a link", "[image: a picture]", "kept words", "More"):
        assert words in text
    for words in ("hidden", "svg text"):
        assert words not in text
    assert 'title="http://evil.test/link"' in html, "the address of a link is its title"
    assert "color: green" in html and "p{color:red}" in html and 'class="wide"' in html
    assert not re.search(r"(?i)url\s*\(|@import|<base|refresh", html)


def test_frame_forbids_requests_and_scripts(archived: Archived) -> None:
    policy = FRAME_HEADERS["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none';") and "script" not in policy
    archived.add(PAGE, 0, b"<p>x", headers=HTML)
    assert "default-src &#x27;none&#x27;" in read(archived), "also in a saved document"


def test_other_documents_are_shown_as_text(archived: Archived) -> None:
    text = b"plain <script>alert(1)</script> words " * 5
    archived.add(PAGE, 0, text, headers=(("Content-Type", "text/plain"),))
    html = read(archived)
    assert "plain &lt;script&gt;" in html and "<script" not in html


def test_image_is_shown_and_svg_is_not(archived: Archived) -> None:
    archived.add(PAGE, 0, b"\x89PNG\r\n\x1a\nxyz", headers=(("Content-Type", "text/html"),))
    archived.add(PAGE, 1, b"<svg onload=alert(1)>", headers=(("Content-Type", "image/svg+xml"),))
    data = archived.end()
    with open_crawl(None, data) as crawl:
        svg = read_archived_page(crawl, PAGE)
        png = read_archived_page(crawl, PAGE, svg.position.fetched_at - 1.0)
    assert png.content_type == "image/png" and 'src="data:image/png;base64,' in png.html
    assert "<svg" not in svg.html and "data:" not in body_of(svg.html)


def test_page_that_is_not_archived_is_an_error(archived: Archived) -> None:
    archived.add(PAGE, 0, b"<p>x", headers=HTML)
    data = archived.end()
    with open_crawl(None, data) as crawl:
        with pytest.raises(NotArchived):
            read_archived_page(crawl, "http://other.test/")
        for path in (data / "warc").iterdir():
            path.unlink()
        with pytest.raises(GossamerError, match="missing"):
            read_archived_page(crawl, PAGE)


names = st.one_of(
    st.sampled_from(["p", "a", "img", "style", "script", "iframe", "svg", "td", "br", "", "body"]),
    st.text(max_size=8),
)
hostile_text = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ['"><script>alert(1)</script>', "</style><script>", "' onload=alert(1) '", "<!--", "]]>"]
    ),
)
attributes = st.dictionaries(
    st.one_of(st.sampled_from(["style", "title", "href", "onload", "alt"]), hostile_text),
    hostile_text,
    max_size=3,
)
any_nodes = st.lists(
    st.builds(DisplayNode, st.integers(-5, 400), names, hostile_text, attributes), max_size=30
)


@given(any_nodes)
def test_nodes_of_a_controlled_child_make_no_active_document(nodes: list[DisplayNode]) -> None:
    assert_harmless(write_html(nodes))


@given(st.text(alphabet="url(src@import \\<\n/*'\":;-U0RLIMAGEset", max_size=60))
def test_clean_style_loads_nothing_and_does_not_end(text: str) -> None:
    cleaned = clean_css(text)
    assert "<" not in cleaned and "\\" not in cleaned
    assert not re.search(r"(?i)(url|src|image|image-set)\s*\(|@\s*import", cleaned)


def test_type_of_an_image_is_that_of_its_bytes() -> None:
    assert image_type(b"RIFF\0\0\0\0WEBPVP8 ") == "image/webp"
    assert image_type(b"GIF89a...") == "image/gif"
    assert image_type(b"<svg>") == image_type(b"%PDF") == image_type(b"") == ""
