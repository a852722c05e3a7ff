"""Costly documents are truncated, real ones are not, and the scan is fast."""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.parser.html.cost import (
    FOREIGN_ELEMENTS,
    FORMATTING_ELEMENTS,
    MAX_CHEAP_TAGS,
    MAX_SECONDS,
    RAW_TEXT_ELEMENTS,
    scan_tags,
    truncate_costly,
)
from tests.parser.pages import QUADRATIC, parse_response, targets
from tests.parser.shapes import LINEAR, SHAPES

ROOT = "http://www.example.org"
TAG_COUNT = 2 * MAX_CHEAP_TAGS
BEFORE, AFTER = "<title>Before</title><a href=/x>words</a>", "<a href=/y>"


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_costly_document_is_truncated(shape: Any) -> None:
    left = truncate_costly(BEFORE + shape(24_000) + AFTER)
    assert left.startswith(BEFORE) and AFTER not in left


READ = ["options", "attributes", "end tags of paragraphs"]
"""Reading another truncated document takes up to three seconds."""


def in_their_time() -> Iterator[ParameterSet]:
    for name in SHAPES:
        yield pytest.param(name, marks=[] if name in READ else pytest.mark.long)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*in_their_time()])
def test_truncated_document_is_read(name: str) -> None:
    parsed = parse_response(BEFORE + SHAPES[name](24_000) + AFTER)
    assert parsed.title == "Before"
    assert targets(parsed)[:1] == [f"{ROOT}/x"] and f"{ROOT}/y" not in targets(parsed)
    assert parsed.hazards == ("malformed_html",)


CARD = r'"<div class=\"card\"><a href=\"\/x\">One<\/a><\/div>",'
ABOUT = "Deep tables: "
SANE = {
    "closed": "<div></div>" * TAG_COUNT,
    "never nested": "<ul>" + "<li>item<p>text<br>" * TAG_COUNT,
    "sloppy": "<table>" + "<tr><td><font size=1>cell" * TAG_COUNT,
    "rows without a table": "<tr><td><font size=1>cell" * MAX_CHEAP_TAGS,
    "svg": "<svg>" + "<path d='M0 0'/>" * TAG_COUNT + "</svg>",
    "deep as people may": "<div>" * 1500 + "</div>" * 1500,
    "deep tables": "<table><tr><td>" * 300 + "words" + "</table>" * 300,
    "data": "<img src='data:image/png;base64," + "A/b+" * 30_000 + "'>",
    "props": "<div data-props='" + '{"a": "b/c", "d": 1}, ' * 5_000 + "'></div>",
    "script": "<script>if (a<b) {" + "x = y / z; " * 10_000 + "}</script>",
    "cards in a script": "<script>var cards = [" + CARD * TAG_COUNT + "]</script>",
    "cards in an attribute": "<div data-cards='" + CARD * TAG_COUNT + "'></div>",
    "comments": "<!-- <div> -->" * TAG_COUNT,
    "a script in a comment in a script": "<script><!--<script></script>" + "<div>" * TAG_COUNT
    + "--></script>",
    "CDATA": "<svg><![CDATA[" + "<div>" * TAG_COUNT + "]]></svg>",
    "a text field": "<textarea>" + "<div>" * TAG_COUNT + "</textarea>",
    "a style sheet": "<STYLE>" + "<div>" * TAG_COUNT + "</Style >",
    "paragraphs with formatting": "<p><b class=x>One</b> and <i>another</i>" * TAG_COUNT,
    "misnested": "<p><b class=x><i>One</b></i> and <span>another</p>" * MAX_CHEAP_TAGS,
}  # fmt: skip


@pytest.mark.parametrize("middle", SANE.values(), ids=SANE)
def test_large_cheap_documents_are_not_truncated(middle: str) -> None:
    page = middle + "<p><a href=/end>"
    assert truncate_costly(page) == page
    assert parse_response(page).hazards == ()


def test_real_pages_are_not_truncated(pages: list[bytes]) -> None:
    texts = [page.decode("utf-8", "replace") for page in pages]
    assert [text for text in texts if truncate_costly(text) != text] == []
    together = "".join(texts)
    assert truncate_costly(together) == together


PIECES = r"""
<a href= /x ' " > <b id= </b> <div> <table> <td> <svg> </svg> <template> <!-- --> --!> =
<script> </script> <!--<script> <title> </title> <![CDATA[ ]]> <plaintext> <li> <p> / <html a= </x>
< </ <? <br/> <STYLE> </style > é"""
MARKUP = st.lists(st.sampled_from([*PIECES.split(), "\0", " ", "\n", "x"])).map("".join)


@given(MARKUP, st.booleans())
def test_tags_are_found_once_and_in_order(markup: str, ordinary: bool) -> None:
    before = 0
    for tag in scan_tags(markup, ordinary):
        assert tag.start >= before and markup[tag.start] == "<"
        end = tag.start + 1 + tag.is_end + len(tag.name) + len(tag.attributes)
        assert markup[tag.start + 1 : end].lower().startswith("/" * tag.is_end + tag.name)
        assert markup[end:][:1] in (">", "")
        before = end + 1


@given(MARKUP)
def test_unusual_tags_are_a_subset_of_tags(markup: str) -> None:
    assert {*scan_tags(markup, ordinary=False)} <= {*scan_tags(markup)}


NAMES = (*RAW_TEXT_ELEMENTS, *FOREIGN_ELEMENTS, *FORMATTING_ELEMENTS, "plaintext")


@given(st.data(), st.sampled_from(NAMES))
def test_unusual_tags_are_found_in_any_case(data: st.DataObject, name: str) -> None:
    upper = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    spelt = "".join(c.upper() if up else c for c, up in zip(name, upper, strict=True))
    # Without an end tag, so that the fast patterns do not skip it as a raw text element.
    found = [*scan_tags(f"<p><{spelt} class='a'>", ordinary=False)]
    assert [tag.name for tag in found] == [name]


@given(MARKUP)
def test_small_documents_are_never_truncated(markup: str) -> None:
    assert truncate_costly(markup) == markup


@given(MARKUP, st.sampled_from([*SHAPES.values(), *LINEAR.values()]))
def test_truncated_document_is_a_prefix(markup: str, shape: Any) -> None:
    text = markup + shape(3000)
    assert text.startswith(truncate_costly(text))


def steps(text: str) -> int:
    """Return the number of Python lines that a scan executes. Its patterns never backtrack."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        truncate_costly(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", [*SHAPES.values(), *LINEAR.values()], ids=[*SHAPES, *LINEAR])
def test_scan_takes_linear_time(shape: Any) -> None:
    once, twice, fourfold = (steps("<p>" * MAX_CHEAP_TAGS + shape(n)) for n in (1000, 2000, 4000))
    assert twice - once <= 200 + 2.2 * max(once, 1000)
    assert fourfold <= 5 * once + 1000


@pytest.mark.parametrize("end", ["", ">", "x", "x>", "='>"])
def test_white_space_in_tag_is_scanned_once(end: str) -> None:
    """A second scan from each position would take hours."""
    spaces = "<a x" + " " * (2 << 20) + end
    assert truncate_costly(spaces) == spaces
    assert truncate_costly(f"<a title='{spaces}'") == f"<a title='{spaces}'"


def test_underestimated_document_is_not_truncated() -> None:
    """The tests of the time limit need this document whole."""
    assert truncate_costly(QUADRATIC.decode()) == QUADRATIC.decode()
    assert MAX_SECONDS < 10
