"""Headings, and text that only looks like a heading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import Heading
from gossamer.services.parser.html.headings import MAX_HEADING_LENGTH, MAX_HEADINGS
from gossamer.services.parser.page import parse
from tests.parser.pages import NOW, OPTIONS, page_response, parse_response


def test_heading_weight_follows_level() -> None:
    parsed = parse_response("".join(f"<h{n}>Level {n}</h{n}><p>text</p>" for n in range(1, 7)))
    assert parsed.headings == tuple(Heading(f"Level {n}", 7 - n) for n in range(1, 7))
    assert "physical_markup" not in parsed.hazards


@pytest.mark.parametrize(
    ("markup", "weight"),
    [
        ('<div align="center"><font size="+1" color="red">Important\nfacts</font></div>', 5),
        ("<font size=6>Important facts</font><br>", 6),
        ("<p><b>Important facts</b></p>", 3),
        ("<center><b>Important facts</b></center>", 4),
        ("<center><font size=5><b>Important facts</b></font></center>", 6),
        ("<p><span style='font-size: 24px'>Important facts</span></p>", 5),
        ("<div style='font-weight: 700; text-align: center'>Important facts</div>", 4),
        ("<p><big>Important facts</big></p>", 4),
        ("text before<br><strong>Important facts</strong><br>and text behind", 3),
        ("<table><tr><td><font size=5>Important facts</font></table>", 5),
    ],
)
def test_lookalike_is_a_physical_heading(markup: str, weight: int) -> None:
    parsed = parse_response(f"{markup}<p>Read this ...</p>")
    assert parsed.headings == (Heading("Important facts", weight, physical=True),)
    assert "physical_markup" in parsed.hazards


@pytest.mark.parametrize(
    "markup",
    [
        "<p>Some <b>bold</b> words",
        "<p>Some <em>bold</em> words",
        "<ul><li><strong>bold</strong><li>other</ul>",
        "<p><font size=7>bold</font> words",
    ],
)
def test_inline_emphasis_has_weight_1(markup: str) -> None:
    parsed = parse_response(markup)
    assert parsed.headings == (Heading("bold", 1),)
    assert "physical_markup" not in parsed.hazards


@pytest.mark.parametrize(
    "markup",
    [
        "<center>Words in the middle</center>",
        "<p><font size=2>small</font></p>",
        "<p><b>***</b></p>",
        f"<p><b>{'A whole paragraph in bold type. ' * 10}</b></p>",
        "<div style='font-size: 10px'>small</div>",
    ],
)
def test_ordinary_text_is_not_a_heading(markup: str) -> None:
    assert parse_response(markup).headings == ()


def test_bold_link_is_not_a_heading() -> None:
    parsed = parse_response("<div><a href=a><b>Home</b></a></div><p><b><a href=b>News</a></b></p>")
    assert {heading.weight for heading in parsed.headings} == {1}


def test_physical_headings_can_be_disabled() -> None:
    page = page_response(b"<p><b>Facts</b></p><h2>Title</h2>")
    parsed = parse(page, replace(OPTIONS, physical_markup=False), NOW)
    assert parsed.headings == (Heading("Title", 5),)
    assert "physical_markup" not in parsed.hazards


@pytest.mark.slow
@given(st.integers(0, 200), st.text("ab <b>", max_size=300))
def test_headings_are_bounded(times: int, words: str) -> None:
    parsed = parse_response(f"<h2>{words}</h2>" * times + "<p><b>x</b></p>" * times)
    assert len(parsed.headings) <= MAX_HEADINGS
    assert all(
        0 < len(one.text) <= MAX_HEADING_LENGTH and 1 <= one.weight <= 6 for one in parsed.headings
    )


def test_nested_candidates_take_linear_time() -> None:
    deep = "<div style='font-size:20px'>" * 1500 + "words " * 100_000
    assert parse_response(deep).headings == ()
