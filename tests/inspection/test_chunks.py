"""Chunks of Markdown: places to cut, offsets and ids, on texts that were written for people."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.inspection.exports.chunks import Chunk, count_tokens, split_markdown

DOCUMENTS = sorted((Path(__file__).parents[2] / "docs").glob("**/*.md"))
FENCE = re.compile(r"[ >]*(?:[-*]|\d+\.)?[ ]*(`{3,}|~{3,})")


def split(markdown: str, most: int) -> list[Chunk]:
    return [*split_markdown(markdown, most, "trace")]


def check(markdown: str, most: int) -> list[Chunk]:
    """Return the chunks, which have everything but blank lines, each in one place."""
    chunks = split(markdown, most)
    assert [markdown[one.start : one.end] for one in chunks] == [one.text for one in chunks]
    at = [(0, 0), *((one.start, one.end) for one in chunks), (len(markdown), 0)]
    assert all(not markdown[one[1] : other[0]].strip() for one, other in pairwise(at))
    assert len({one.id for one in chunks}) == len(chunks)
    return chunks


@pytest.mark.parametrize("most", [15, 100, 500])
@pytest.mark.parametrize("part", range(4))
def test_documents_are_complete_and_code_is_whole(part: int, most: int) -> None:
    for path in DOCUMENTS[part::4]:
        for chunk in check(path.read_text(), most):
            assert sum(1 for line in chunk.text.split("\n") if FENCE.match(line)) % 2 == 0
            if chunk.tokens > most:
                lines = chunk.text.split("\n")
                assert any(line.lstrip().startswith(("```", "|", "#")) for line in lines), path


def test_sections_that_fit_are_whole() -> None:
    text = "# A\n\nOne.\n\n## B\n\nTwo.\n\n### C\n\nThree.\n\n## D\n\n### E\n\nFour.\n"
    assert [one.text for one in split(text, 100)] == [text.strip()]
    found = split(text, 8)
    assert [one.text.split("\n")[0] for one in found] == ["# A", "## B", "## D"]
    assert [one.headings for one in found] == [("A",), ("A", "B"), ("A", "D")]
    # A heading stays with what follows it.
    assert "## D\n\n### E\n\nF" in [one.text for one in split(text, 1)]


def test_headings_in_code_are_code() -> None:
    text = "# A\n\n```py\n# not B\n\n# nor C\n```\n\n- item\n  ~~~\n  # nor D\n  ~~~\n\nEnd."
    assert all(one.headings == ("A",) for one in split(text, 3))


@pytest.mark.parametrize("fence", ["```", "````", "~~~", "> ```", "1. ```", "- > ~~~"])
def test_code_is_not_cut(fence: str) -> None:
    indent = "> " * fence.count(">") if fence.startswith(">") else "   "
    marks = fence.split()[-1]
    code = f"{fence}\n" + f"{indent}a long line of code. Another one.\n\n" * 20 + f"{indent}{marks}"
    (chunk,) = [one for one in split(f"Text.\n\n{code}\n\nText.", 10) if "code" in one.text]
    assert chunk.text == code
    assert chunk.tokens > 10


def test_rows_of_tables_are_not_cut() -> None:
    row = "| a long cell with many words. And more words. | another |"
    table = "\n".join(["| a | b |", "| --- | --- |", *[row] * 5])
    found = split(f"Text.\n\n{table}\n\nText.", 15)
    assert found[0].text == "Text.\n\n| a | b |\n| --- | --- |"
    rows = [line for one in found for line in one.text.split("\n") if line.startswith("|")]
    assert rows == table.split("\n")


def test_long_paragraphs_are_cut_at_sentences_words_and_characters() -> None:
    sentence = "This is a sentence of some words. "
    found = split(sentence * 20, 20)
    assert all(one.text.endswith("words.") or one.text.endswith("words. ") for one in found)
    assert all(one.tokens <= 20 for one in split("word " * 200, 20))
    assert all(one.tokens <= 20 for one in split("\u3042" * 500, 20))


def test_ids_stay_with_their_sections() -> None:
    text = "# A\n\n## B\n\nOne two three.\n\n## C\n\nFour five six.\n"
    before, after = split(text, 6), split(text.replace("# A\n\n", "# A\n\nNew words.\n\n"), 6)
    assert before[-1].id == after[-1].id
    assert before[-1].start != after[-1].start
    equal = split("# A\n\n" + "Same.\n\n" * 3, 3)
    assert len({one.id for one in equal}) == len(equal) == 3


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("#`~|->. \n1a\u3042"), max_size=200), st.integers(1, 30))
def test_any_text_is_complete(text: str, most: int) -> None:
    check(text, most)


def test_tokens_are_estimated_by_bytes() -> None:
    assert [count_tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
