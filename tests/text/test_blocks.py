"""Folding of white space in any text."""

import re
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.text.blocks import SEPARATOR, fold_whitespace, split_pieces

SPACES = "".join(re.findall(r"\s", "".join(map(chr, range(sys.maxunicode + 1)))))


@settings(max_examples=50)
@given(st.text() | st.text(f"ab{SPACES}") | st.text("a "))
def test_white_space_is_folded(text: str) -> None:
    assert fold_whitespace(text) == " ".join(text.split())


@given(st.text(f"ab\0{SPACES}{SEPARATOR}") | st.text(f"a {SEPARATOR}"))
def test_pieces_are_the_folded_parts_that_contain_words(text: str) -> None:
    assert split_pieces(text) == [one for one in map(fold_whitespace, text.split(SEPARATOR)) if one]
