"""How much a text has changed, from two sketches."""

from collections import Counter
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.text.sketch import (
    MAX_EMPTY_BINS,
    SKETCH_BITS,
    SKETCH_SIZE,
    estimate_change,
    make_sketch,
)

WORDS = [f"word{n}" for n in range(1200)]
SD = 0.045
"""The estimate's standard deviation is nowhere larger."""


def changed(before: list[str], after: list[str]) -> float:
    return estimate_change(make_sketch(" ".join(before)), make_sketch(" ".join(after)))


def true_change(before: list[str], after: list[str]) -> float:
    shared = (Counter(before) & Counter(after)).total()
    return 1 - 2 * shared / (len(before) + len(after))


@given(st.integers(0, 600), st.integers(1, 600), st.integers(0, 400))
@settings(max_examples=30, deadline=None)
def test_it_says_how_many_words_were_exchanged(start: int, length: int, exchanged: int) -> None:
    before = WORDS[start : start + length]
    after = [f"new{n}" if n < exchanged else word for n, word in enumerate(before)]
    assert abs(changed(before, after) - true_change(before, after)) <= 5 * SD


def test_a_small_edit_of_a_long_text_is_a_small_change() -> None:
    assert changed(WORDS, [*WORDS[:600], "inserted", *WORDS[600:]]) < 0.02
    assert abs(changed(WORDS, WORDS[:600]) - 1 / 3) < 2 * SD


def test_another_text_has_changed_altogether() -> None:
    assert changed(WORDS[:500], WORDS[500:]) > 0.8
    assert changed(WORDS, []) == changed([], WORDS) == 1.0


@given(st.permutations(WORDS[:20]))
@settings(max_examples=20)
def test_a_change_is_never_none(words: list[str]) -> None:
    """Words in another order are another text, of which the sketch sees nothing."""
    assert 0 < changed(WORDS[:20], words) < 0.01


def test_how_often_a_word_comes_counts() -> None:
    few, many = ["spam"] * 10 + WORDS[:90], ["spam"] * 100 + WORDS[:90]
    assert abs(changed(few, many) - true_change(few, many)) <= 5 * SD


@given(st.text())
def test_a_sketch_is_always_as_small(text: str) -> None:
    assert len(make_sketch(text)) == (SKETCH_SIZE if text.split() else 0)


def test_sketches_are_the_same_everywhere() -> None:
    """They are kept for years and compared with those of other machines."""
    assert make_sketch("to be or not to be").hex()[:16] == "2a83f08771c14e3a"


@given(st.lists(st.sampled_from(WORDS), max_size=1000) | st.text().map(str.split))
@settings(max_examples=25, deadline=None)
def test_a_bin_has_the_first_element_that_was_dealt_to_it(words: list[str]) -> None:
    assert make_sketch(" ".join(words)) == by_its_definition(words)


def by_its_definition(words: list[str]) -> bytes:
    """Deal all elements into the bins that are still empty, round by round."""
    elements = [
        crc32(word.encode(errors="replace")) | nth << 32
        for word, count in Counter(words).items()
        for nth in range(count)
    ]
    bins: dict[int, tuple[int, int]] = {}
    rounds, wanted = 0, 1 + 8 * SKETCH_BITS // len(elements) if elements else 0
    while rounds < wanted:
        rounds += 1
        salt, found = rounds * 0x94D049BB133111EB, dict[int, int]()
        for element in elements:
            mixed = (element + salt) * 0x9E3779B97F4A7C15 % (1 << 64)
            mixed = (mixed ^ mixed >> 32) * 0xBF58476D1CE4E5B9 % (1 << 64)
            found[mixed >> 55] = min(mixed, found.get(mixed >> 55, mixed))
        bins = {at: (rounds, mixed) for at, mixed in found.items()} | bins
        if rounds == wanted and len(bins) < SKETCH_BITS - MAX_EMPTY_BINS:
            wanted *= 2
    last = (
        sorted(rounds for rounds, _ in bins.values())[SKETCH_BITS - MAX_EMPTY_BINS - 1]
        if bins
        else 0
    )
    kept = sum((mixed & 1) << at for at, (since, mixed) in bins.items() if since <= last)
    return kept.to_bytes(SKETCH_SIZE, "little") if bins else b""


def test_a_sketch_is_the_same_in_all_versions_of_the_program() -> None:
    """Sketches are kept for years, and compared with those of later visits."""
    assert make_sketch("a rose is a rose").hex() == (
        "60cf64a961d31cef02489ae77483876e0c25480f8906fc6aa463a5f784930399"
        "aa77ddb47553587383761dae2495c32a20c2a1c7935e25528cbc0e601c698831"
    )
