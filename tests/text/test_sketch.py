"""The estimated change between two texts, from their sketches."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.text.sketch import (
    MAX_EMPTY_BINS,
    SKETCH_BITS,
    estimate_change,
    make_sketch,
)

WORDS = [f"word{n}" for n in range(1200)]
SD = 0.045
"""An upper bound of the estimate's standard deviation."""


def estimated_change(before: list[str], after: list[str]) -> float:
    return estimate_change(make_sketch(before), make_sketch(after))


def true_change(before: list[str], after: list[str]) -> float:
    shared = (Counter(before) & Counter(after)).total()
    return 1 - 2 * shared / (len(before) + len(after))


@given(st.integers(0, 600), st.integers(1, 600), st.integers(0, 400))
@settings(max_examples=30, deadline=None)
def test_estimate_is_near_true_change(start: int, length: int, exchanged: int) -> None:
    before = WORDS[start : start + length]
    after = [f"new{n}" if n < exchanged else word for n, word in enumerate(before)]
    assert abs(estimated_change(before, after) - true_change(before, after)) <= 5 * SD


def test_small_edit_of_long_text_is_small_change() -> None:
    assert estimated_change(WORDS, [*WORDS[:600], "inserted", *WORDS[600:]]) < 0.02
    assert abs(estimated_change(WORDS, WORDS[:600]) - 1 / 3) < 2 * SD


def test_different_texts_have_changed_entirely() -> None:
    assert estimated_change(WORDS[:500], WORDS[500:]) > 0.8
    assert estimated_change(WORDS, []) == estimated_change([], WORDS) == 1.0


@given(st.permutations(WORDS[:20]))
@settings(max_examples=20)
def test_estimate_is_never_zero(words: list[str]) -> None:
    """A sketch does not depend on the order of the words."""
    assert 0 < estimated_change(WORDS[:20], words) < 0.01


def test_estimate_counts_repeated_words() -> None:
    few, many = ["spam"] * 10 + WORDS[:90], ["spam"] * 100 + WORDS[:90]
    assert abs(estimated_change(few, many) - true_change(few, many)) <= 5 * SD


@given(st.text())
def test_sketch_has_fixed_size(text: str) -> None:
    assert len(make_sketch(text.split())) == (SKETCH_BITS // 8 if text.split() else 0)


def test_sketch_is_equal_on_all_machines() -> None:
    """Sketches are stored for years and compared with sketches of other machines."""
    assert make_sketch(["to be or", "not to be"]).hex()[:16] == "6d4eadc58fc25983"


@given(st.lists(st.sampled_from(WORDS), max_size=1000) | st.text().map(str.split))
@settings(max_examples=25, deadline=None)
def test_sketch_matches_its_definition(words: list[str]) -> None:
    assert make_sketch(words) == sketch_by_definition(words)


MIX, SPREAD, STEP = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MASK = (1 << 64) - 1


def hash_of(word: bytes) -> int:
    """Add the hashes of each eight octets of a *word* and its space."""
    word, hashed = word + b" ", 0
    for place in range(0, len(word), 8):
        number = int.from_bytes(word[place : place + 8].rjust(8, b"\0"), "little")
        mixed = number + (len(word) - place) * STEP & MASK
        mixed = (mixed ^ mixed >> 32) * MIX & MASK
        hashed += (mixed ^ mixed >> 32) * SPREAD
    return hashed & MASK


def sketch_by_definition(words: list[str]) -> bytes:
    """Deal all elements into the bins that are still empty, round by round."""
    elements = [
        hash_of(word.encode(errors="replace")) + nth * MIX & MASK
        for word, count in Counter(words).items()
        for nth in range(count)
    ]
    bins: dict[int, tuple[int, int]] = {}
    rounds, round_count = 0, 1 + 8 * SKETCH_BITS // len(elements) if elements else 0
    while rounds < round_count:
        rounds += 1
        salt, round_bins = rounds * STEP, dict[int, int]()
        for element in elements:
            mixed = (element + salt) * MIX & MASK
            mixed = (mixed ^ mixed >> 32) * SPREAD & MASK
            round_bins[mixed >> 55] = min(mixed, round_bins.get(mixed >> 55, mixed))
        bins = {at: (rounds, mixed) for at, mixed in round_bins.items()} | bins
        if rounds == round_count and len(bins) < SKETCH_BITS - MAX_EMPTY_BINS:
            round_count *= 2
    last = (
        sorted(rounds for rounds, _ in bins.values())[SKETCH_BITS - MAX_EMPTY_BINS - 1]
        if bins
        else 0
    )
    bits = sum((mixed & 1) << at for at, (since, mixed) in bins.items() if since <= last)
    return bits.to_bytes(SKETCH_BITS // 8, "little") if bins else b""


def test_sketch_is_equal_in_all_versions() -> None:
    """Sketches are stored for years and compared with sketches of later visits."""
    assert make_sketch(["a rose is a rose"]).hex() == (
        "ce41628341d08a892aabdb43cccca8990b3647a833d0ab4e137fa5f200e769c6"
        "b1a1ffdf3887ec54e408bd5c20fb01534e6ee1a963f5585da6940a4447692876"
    )
