"""Alignment of a group when log and store disagree."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.log import GroupPosition
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.alignment import Alignment, align, compare_group
from gossamer.runtime.positions import PositionRow
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from services.frontier.service import Frontier

AT = ("visits.ended", 0)


def aligned(standing: GroupPosition, stored: int | None, may_lack: bool = False) -> Alignment:
    rows = [] if stored is None else [PositionRow("frontier", "0", {AT[0]: stored})]
    return align("frontier", {AT: standing}, rows, may_lack)


def positions(found: Alignment) -> Mapping[str, int]:
    return found.rows[0].offsets if found.rows else {}


def test_aligned_log_and_store_do_not_change() -> None:
    for stored in (70, 75, 90):
        found = aligned(GroupPosition(committed=70, start=50, end=90), stored)
        assert (found.moved, found.rows, found.repeated, found.deleted, found.lost) == (
            {},
            [],
            0,
            0,
            0,
        ), "a crash between flush and commit leaves the store ahead"


def test_group_returns_to_position_of_older_store() -> None:
    found = aligned(GroupPosition(committed=70, start=50, end=90), 60)
    assert (found.moved, found.repeated, found.deleted) == ({AT: 60}, 10, 0)


def test_deleted_records_are_reported() -> None:
    found = aligned(GroupPosition(committed=70, start=50, end=90), 30)
    assert (found.moved, found.repeated, found.deleted) == ({AT: 50}, 20, 20)
    assert positions(found) == {AT[0]: 50}, "the next start finds both in step"


def test_empty_store_repeats_all_retained_records() -> None:
    found = aligned(GroupPosition(committed=70, start=50, end=90), None)
    assert (found.moved, found.repeated, found.deleted) == ({AT: 50}, 20, 50)


def test_missing_positions_of_other_engine_move_nothing() -> None:
    assert not aligned(GroupPosition(committed=70, start=50, end=90), None, may_lack=True).moved


def test_group_before_deleted_records_moves_past_them() -> None:
    for stored in (40, 45):
        found = aligned(GroupPosition(committed=40, start=50, end=90), stored)
        assert (found.moved, found.repeated, found.deleted) == ({AT: 50}, 0, 50 - stored)
        assert positions(found) == {AT[0]: 50}


def test_positions_beyond_end_of_older_log_return_to_the_group() -> None:
    found = aligned(GroupPosition(committed=70, start=50, end=80), 95)
    assert (found.moved, found.lost) == ({}, 15)
    assert positions(found) == {AT[0]: 70}


def test_group_beyond_end_of_older_log_returns_to_the_end() -> None:
    found = aligned(GroupPosition(committed=90, start=50, end=80), 95)
    assert (found.moved, found.lost) == ({AT: 80}, 15)


def test_positions_without_committed_offsets_are_forgotten() -> None:
    found = align("frontier", {}, [PositionRow("frontier", "0", {AT[0]: 95})], may_lack=False)
    assert (found.moved, found.lost) == ({}, 95)
    assert positions(found) == {AT[0]: 0}
    assert not align("frontier", {}, found.rows, may_lack=False).rows


@given(
    st.integers(0, 50),
    st.integers(0, 50),
    st.integers(0, 50),
    st.none() | st.integers(0, 200),
    st.booleans(),
)
def test_second_alignment_changes_nothing(
    start: int, more: int, committed: int, stored: int | None, may_lack: bool
) -> None:
    standing = GroupPosition(start + committed, start, start + more)
    found = aligned(standing, stored, may_lack)
    moved = standing._replace(committed=found.moved.get(AT, standing.committed))
    assert moved.start <= moved.committed <= moved.end
    again = positions(found).get(AT[0], stored)
    assert not aligned(moved, again, may_lack).moved


@pytest.mark.parametrize("other", ["urls.admitted", "pages.judged"])
def test_other_topics_of_partition_keep_their_positions(other: str) -> None:
    row = PositionRow("frontier", "0", {AT[0]: 40, other: 7})
    standing = {AT: GroupPosition(70, 50, 90), (other, 0): GroupPosition(7, 0, 9)}
    (changed,) = align("frontier", standing, [row], may_lack=False).rows
    assert changed.offsets == {AT[0]: 50, other: 7}


def test_running_group_compares_as_aligned() -> None:
    """The group commits further records between two queries."""
    log, store = SqliteLog(Database(":memory:")), SqliteStore(Database(":memory:"))
    asked = [
        GroupPosition(committed=70, start=50, end=90),
        GroupPosition(committed=130, start=120, end=140),
    ]
    log.group_positions = lambda group, topics: {AT: asked.pop(0)}  # type: ignore[method-assign]
    store.table(PositionRow).put(PositionRow("frontier", "0", {AT[0]: 110}))
    found = compare_group(log, store, Frontier, is_new=False)
    assert (found.moved, found.repeated, found.deleted, found.lost) == ({}, 0, 0, 0)
