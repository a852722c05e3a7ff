"""The difference of two texts in words."""

import random
from difflib import SequenceMatcher
from itertools import pairwise

import pytest

from gossamer.text.differences import MARKUP, Budget, Difference, Kind, compare_texts, find_runs


def marked(found: Difference) -> str:
    marks = {Kind.EQUAL: "{}", Kind.REMOVED: "[-{}-]", Kind.ADDED: "[+{}+]"}
    return "".join(marks[piece.kind].format(piece.text) for piece in found.pieces)


CASES = [
    ("", "", ""),
    ("one two", "one two", "one two"),
    ("one two", "one  two\n", "one  two\n"),
    ("", "one two", "[+one two+]"),
    ("one two", "", "[-one two-]"),
    ("one two three", "one 2 three", "one [-two -][+2 +]three"),
    ("a b\nc d\ne f\n", "a b\nc x\ne f\n", "a b\nc [-d\n-][+x\n+]e f\n"),
    ("a\nb\n", "x\ny\n", "[-a\nb\n-][+x\ny\n+]"),
    ("今天天气好", "今天天气不好", "今天天气[+不+]好"),
    ("price: 10 EUR.", "price: 12 EUR.", "price: [-10 -][+12 +]EUR."),
]


@pytest.mark.parametrize(("old", "new", "expected"), CASES)
def test_texts_differ_in_these_words(old: str, new: str, expected: str) -> None:
    found = compare_texts(old, new)
    assert marked(found) == expected
    assert found.is_complete


def test_change_is_the_share_of_words_that_differ() -> None:
    assert compare_texts("a b c d", "a b c d").change == 0
    assert compare_texts("a b c d", "a b c x").change == 0.25
    assert compare_texts("a b", "c d").change == 1


def test_tags_of_markup_are_compared_as_words() -> None:
    old, new = '<p class="a b">One</p>', '<p class="a c">One</p>'
    assert (
        marked(compare_texts(old, new, MARKUP)) == '[-<p class="a b">-][+<p class="a c">+]One</p>'
    )


def test_runs_are_a_longest_common_subsequence() -> None:
    source = random.Random(7)
    for _ in range(300):
        old = [source.choice("abc") for _ in range(source.randrange(12))]
        new = [source.choice("abc") for _ in range(source.randrange(12))]
        budget = Budget(10_000)
        runs = find_runs(old, new, budget)
        for run in runs:
            assert old[run.old : run.old + run.length] == new[run.new : run.new + run.length]
        assert all(
            one.old + one.length <= two.old and one.new + one.length <= two.new
            for one, two in pairwise(runs)
        )
        assert sum(run.length for run in runs) == longest(old, new)
        assert not budget.is_exceeded


def longest(old: list[str], new: list[str]) -> int:
    """Return the length of the longest common subsequence, by dynamic programming."""
    row = [0] * (len(new) + 1)
    for one in old:
        before = row[:]
        for at, two in enumerate(new):
            row[at + 1] = before[at] + 1 if one == two else max(before[at + 1], row[at])
    return row[-1]


@pytest.mark.parametrize("unit", ["a ", "a\n", "a b ", "a b\n"])
def test_hostile_texts_stop_at_the_budget(unit: str) -> None:
    old, new = unit * 200_000, "b " + unit[::-1] * 200_000 + " c"
    found = compare_texts(old, new)
    joined = {
        kind: "".join(piece.text for piece in found.pieces if piece.kind in (Kind.EQUAL, kind))
        for kind in (Kind.REMOVED, Kind.ADDED)
    }
    assert joined[Kind.REMOVED].split() == old.split()
    assert joined[Kind.ADDED].split() == new.split()


def test_different_texts_are_replaced_as_a_whole() -> None:
    old = " ".join(str(n) for n in range(50_000))
    new = " ".join(f"x{n}" for n in range(50_000))
    found = compare_texts(f"same {old} end", f"same {new} end")
    assert not found.is_complete and found.change > 0.99
    assert [piece.kind for piece in found.pieces] == ["equal", "removed", "added", "equal"]


def test_few_differences_in_a_long_text_are_found_as_difflib_finds_them() -> None:
    source = random.Random(3)
    old = [f"word{source.randrange(500)}" for _ in range(3000)]
    new = old[:]
    for at in source.sample(range(3000), 30):
        new[at] = f"new{at}"
    budget = Budget(100_000)
    found = sum(run.length for run in find_runs(old, new, budget))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    assert found >= sum(block.size for block in matcher.get_matching_blocks())
