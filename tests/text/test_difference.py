"""The difference of two sets, from their tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.text.difference import (
    CELL_COUNT,
    PART_COUNT,
    TABLE_LAYOUT,
    TABLE_SIZE,
    make_table,
    mix,
    subtract_tables,
)

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
