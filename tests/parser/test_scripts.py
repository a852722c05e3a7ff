"""Texts in many scripts, with characters of other kinds in them, are kept whole."""

import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.parser.text import drop_misread_words
from tests.parser.pages import parse_response
from tests.parser.scripts import SPACED, SPACELESS

MAX_LETTERS = 30
OTHERS = [
    *"¥£¢€÷¨·0189٣๙\uff11!?,.-_/—…。、「」\uff05\ufffd\ufe0f\ufeff\u200b\u2060\u0301\ue001½ªº☕",
    "1️⃣",
    "❤️",
    "🇯🇵",
    "👍🏽",
]
"""Characters that are not letters, digits, and emoji, some of several characters."""
scripts = pytest.mark.parametrize("text", [*SPACELESS.values(), *SPACED.values()])
spaceless = pytest.mark.parametrize("text", SPACELESS.values(), ids=SPACELESS)


def insert(text: str, pieces: list[tuple[int, str]]) -> str:
    """Return *text* with each piece at its place."""
    for at, piece in pieces:
        text = text[: at % len(text)] + piece + text[at % len(text) :]
    return text


@scripts
def test_text_with_a_character_of_another_kind_is_whole(text: str) -> None:
    """dgtlmoon/changedetection.io#3952, #4125: one broken octet, a sign or an emoji."""
    for at, piece in product(range(0, len(text), 7), OTHERS):
        changed = insert(text, [(at, piece)])
        assert drop_misread_words(changed, MAX_LETTERS) == changed


@spaceless
@given(data=st.data())
def test_any_characters_of_other_kinds_leave_a_text_whole(text: str, data: st.DataObject) -> None:
    """dgtlmoon/changedetection.io#3952, #4125, the kind."""
    other = st.one_of(
        st.sampled_from(OTHERS),
        st.characters(blacklist_categories=("Cs", "Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No")),
    )
    pieces = st.lists(st.tuples(st.integers(0, 1000), other), max_size=20)
    changed = insert(text, data.draw(pieces))
    assert drop_misread_words(changed, MAX_LETTERS) == changed


@spaceless
def test_misread_word_within_a_run_is_dropped_alone(text: str) -> None:
    run = max(text.split(), key=len)
    before, behind = run[: len(run) // 2], run[len(run) // 2 :]
    assert drop_misread_words(before + "x" * 31 + behind, MAX_LETTERS) == f"{before} {behind}"
    assert drop_misread_words(before + "x" * 30 + behind, MAX_LETTERS) == before + "x" * 30 + behind


def test_letters_of_scripts_that_are_not_in_the_table_are_kept() -> None:
    for name in (
        "JAVANESE LETTER KA",
        "BALINESE LETTER KA",
        "TAI THAM LETTER LOW KA",
        "NEW TAI LUE LETTER LOW KA",
        "HENTAIGANA LETTER A-1",
        "VAI SYLLABLE EE",
        "EGYPTIAN HIEROGLYPH A001",
        "CUNEIFORM SIGN A",
    ):
        run = unicodedata.lookup(name) * 100
        assert drop_misread_words(run, MAX_LETTERS) == run, name


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
@spaceless
def test_paragraph_with_a_price_is_in_the_text_of_a_page(text: str, kind: str) -> None:
    """The kind of dgtlmoon/changedetection.io#3952: a price in a text without spaces."""
    price = insert(text, [(40, "¥1,000,000")])
    body = (
        f"<article><p>{price}</p><p>{text}</p></article>" if "html" in kind else f"{price}\n{text}"
    )
    parsed = parse_response(body, ("Content-Type", f"{kind}; charset=utf-8"))
    assert (parsed.text or "").split("\n") == [" ".join(price.split()), " ".join(text.split())]
    assert "misread_text" not in parsed.hazards


def test_dropped_word_leaves_other_lines_as_they_are() -> None:
    code = "def f():\n        return 1\n\n"
    assert drop_misread_words(f"{code}{'x' * 31}\n  a {'x' * 31} b", MAX_LETTERS) == f"{code}a b"
