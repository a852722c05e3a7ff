"""Changes of pages: all count, except in volatile blocks."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import md5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.text.blocks import MAX_BLOCKS, SEPARATOR, make_blocks, split_pieces, unpack_blocks
from gossamer.text.volatile import (
    CELL_COUNT,
    MAX_SCORE,
    MAX_STATE_SIZE,
    PART_COUNT,
    TABLE_LAYOUT,
    TABLE_SIZE,
    VOLATILE_SCORE,
    compare,
    make_table,
    mix,
    subtract_tables,
)

ARTICLE = [f"Sentence {n} of an article that stays as it is for years." for n in range(24)]


def blocks(pieces: Iterable[str]) -> Sequence[int]:
    return unpack_blocks(make_blocks(split_pieces(SEPARATOR.join(pieces))))


class Page:
    """A page that is visited."""

    def __init__(self) -> None:
        self.state = b""

    def same(self, *pieces: str) -> bool:
        """Visit the page; return whether it is unchanged."""
        results = compare(self.state, blocks(pieces))
        self.state = results.state
        assert len(self.state) <= MAX_STATE_SIZE <= 300
        return results.same


def date(visit: int) -> list[str]:
    now = datetime.fromtimestamp(1.7e9 + visit * 86400, UTC)
    return [*ARTICLE, f"Last updated: {now:%A, %d %B %Y}", "Imprint", "Privacy"]


def counter(visit: int) -> list[str]:
    return [*ARTICLE[:3], "Visitors:", f"{1000 + visit * 37}", *ARTICLE[3:]]


def advert(visit: int) -> list[str]:
    number = visit * 7919 % 1000
    shown = [f"Offer {number}", f"Only today: {number} things for the price of {number + 1}"]
    return [*ARTICLE[:8], "Advertisement", *shown, *ARTICLE[8:]]


def session(visit: int) -> list[str]:
    link = f"http://shop.test/basket?sid={visit * 0x9E3779B97F4A7C15 % 2**64:x}"
    return [*ARTICLE, "Your basket:", link, "Help"]


def all_of_them(visit: int) -> list[str]:
    parts = (kind(visit) for kind in (date, counter, advert, session))
    return [piece for part in parts for piece in part]


KINDS = [date, counter, advert, session, all_of_them]
Kind = Callable[[int], list[str]]


@pytest.mark.parametrize("kind", KINDS)
def test_volatile_content_is_ignored_after_three_visits(kind: Kind) -> None:
    page = Page()
    results = [page.same(*kind(visit)) for visit in range(12)]
    assert results == [False] * (VOLATILE_SCORE + 1) + [True] * (11 - VOLATILE_SCORE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(
    st.integers(VOLATILE_SCORE, 10),
    st.sampled_from(["replaced", "removed", "written before", "written behind", "split"]),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_other_changes_are_seen_beside_volatile_content(
    kind: Kind, visits: int, how: str, data: st.DataObject
) -> None:
    page = Page()
    for visit in range(visits):
        page.same(*kind(visit))
    pieces = kind(visits)
    at = data.draw(st.sampled_from([at for at, piece in enumerate(pieces) if piece in kind(0)]))
    now = {
        "replaced": ["Another sentence."],
        "removed": [],
        "written before": ["One more.", pieces[at]],
        "written behind": [pieces[at], "One more."],
        "split": [pieces[at][:3], pieces[at][3:]],
    }[how]
    assert not page.same(*pieces[:at], *now, *pieces[at + 1 :])


def test_changes_beside_volatile_content_are_seen_each_time() -> None:
    page = Page()
    for visit in range(8):
        page.same(*advert(visit))

    def with_note(visit: int, note: str) -> list[str]:
        at = advert(visit).index("Advertisement")
        return [*advert(visit)[: at + 1], note, *advert(visit)[at + 1 :]]

    assert not page.same(*with_note(8, "The shop is closed today."))
    assert not page.same(*with_note(9, "The shop is open again."))


@given(st.lists(st.booleans(), max_size=40))
def test_changes_of_place_below_volatile_score_are_seen(changes: list[bool]) -> None:
    """A short block of its own, for example a price, is not volatile for that."""
    page, price, ahead = Page(), 0, 0
    page.same(*ARTICLE, f"{price} €", "Buy")
    for changed in changes:
        price += changed
        same = page.same(*ARTICLE, f"{price} €", "Buy")
        if ahead < VOLATILE_SCORE:
            assert same is not changed
        ahead = min(MAX_SCORE, ahead + 1) if changed else max(0, ahead - 1)


def test_place_that_stays_equal_counts_again() -> None:
    page = Page()
    for visit in range(8):
        page.same(*counter(visit))
    for _ in range(MAX_SCORE):
        assert page.same(*counter(8))
    assert not page.same(*counter(9))


def test_page_of_numbers_is_not_ignored() -> None:
    page = Page()
    assert not any(page.same("Goals:", f"{n}", "Minutes:", f"{90 - n}", "End") for n in range(12))


def test_page_that_changes_everywhere_has_changed() -> None:
    page = Page()
    assert not any(page.same(*(f"{visit} {n}" for n in range(30))) for visit in range(8))


def test_equal_lines_are_distinguished() -> None:
    page, lines = Page(), ["More", "Share"] * 20
    for visit in range(6):
        page.same(*lines[:9], f"{visit} views", *lines[9:])
    assert page.same(*lines[:9], "7 views", *lines[9:])
    assert not page.same(*lines[:19], "7 views", *lines[19:])


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), max_size=30))
def test_repeated_comparison_has_equal_result(versions: list[list[str]]) -> None:
    page = Page()
    for version in versions:
        before, results = page.state, page.same(*version)
        assert compare(before, blocks(version)) == (results, page.state)
        assert page.same(*version), "an unchanged version equals the previous one"


def test_long_pieces_are_split_into_blocks_of_sixteen_words() -> None:
    words = " ".join(f"w{n}" for n in range(40))
    assert len(blocks([words, "", " \n ", "end"])) == 4
    assert blocks(["a  b\nc"]) == blocks(["a b c"]) != blocks(["a b", "c"])


def test_too_long_text_has_no_blocks_and_no_state() -> None:
    lines = [f"line {n}" for n in range(MAX_BLOCKS + 1)]
    page = Page()
    assert len(blocks(lines[:-1])) == MAX_BLOCKS
    assert not page.same(*lines)
    assert not page.same(*lines) and page.state == b""


def test_state_is_equal_in_all_versions() -> None:
    """The state is compared with versions of years later."""
    before = [*range(7, 2000, 3), 7, 7, 10, (1 << 32) - 1, (1 << 32) - 1, 0]
    kept = compare(b"", before).state
    later = compare(kept, [*before[:50], 99999, *before[51:]]).state
    assert md5(kept + later).hexdigest() == "e220f8e14569c4765c4f0b5819e12502"


element = st.integers(0, (1 << 32) - 1)


@pytest.mark.slow
@given(st.sets(element), st.sets(element, max_size=3), st.sets(element, max_size=3))
def test_few_differences_are_found_in_sets_of_any_size(
    both: set[int], old: set[int], new: set[int]
) -> None:
    shared = {*both, *range(1000)} - old - new
    found = subtract_tables(make_table(shared | old), make_table(shared | new))
    if found:
        assert (set(found.added), set(found.removed)) == (new - old, old - new)


def test_twelve_differences_are_nearly_always_found() -> None:
    found = 0
    for start in range(0, 100_000, 1000):
        shared = range(start, start + 500)
        old, new = range(start + 500, start + 506), range(start + 600, start + 606)
        difference = subtract_tables(make_table([*shared, *old]), make_table([*shared, *new]))
        found += difference is not None and (difference.added, difference.removed) == (
            frozenset(new),
            frozenset(old),
        )
    assert found >= 95


@pytest.mark.slow
@given(st.sets(element, max_size=50), st.sets(element, min_size=100, max_size=300))
def test_too_many_differences_are_none(old: set[int], new: set[int]) -> None:
    assert subtract_tables(make_table(old), make_table(new - old)) is None


@given(st.sets(element))
def test_table_has_fixed_size(elements: set[int]) -> None:
    assert len(make_table(elements)) == TABLE_SIZE == 216


Single = tuple[int, int, int]


@given(
    st.lists(
        st.tuples(
            st.integers(0, CELL_COUNT - 1), st.integers(0, 2**32 - 1), st.sampled_from((1, 255))
        ),
        max_size=12,
    )
)
def test_subtraction_ends_with_false_single_cells(false_singles: list[Single]) -> None:
    """With many differences some cells seem to have a single element by chance."""
    counts, checks, elements = [0] * CELL_COUNT, [0] * CELL_COUNT, [0] * CELL_COUNT
    for cell, element, count in false_singles:
        counts[cell], elements[cell] = count, element
        checks[cell] = mix(element, PART_COUNT) & 255
    found = subtract_tables(make_table([]), TABLE_LAYOUT.pack(*counts, *checks, *elements))
    assert found is None or len(found.added) + len(found.removed) <= len(false_singles)
