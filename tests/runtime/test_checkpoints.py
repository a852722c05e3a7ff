"""A restored store, or a log with lost records, is detected before any work, and aligned."""

from collections.abc import Mapping
from pathlib import Path
from shutil import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import GossamerError
from gossamer.events.topics import SEEDS, URLS_DISCOVERED
from gossamer.log import GroupOffsets, partition_of
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.checkpoints import Alignment, CheckpointRow, align, compare_group
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.frontier.service import Frontier
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.runtime.manual import append_seeds
from tests.runtime.processors import Discoverer


class AfterAnother(Discoverer):
    """Consumes its own events. Another engine may have handled records without checkpoints."""

    reads = (SEEDS, URLS_DISCOVERED)
    has_other_engine = True


def run(log: Path, store: Path, *urls: str, kind: type[Discoverer] = Discoverer) -> None:
    """Handle seeds with *urls* in a process with separate files for log and store."""
    databases = Database(log), Database(store)
    opened, rows = SqliteLog(databases[0]), SqliteStore(databases[1])
    append_seeds(opened, *urls)
    loop = sequential_loop(kind(rows), opened, rows, lambda: 1.0)
    while loop.step():
        pass
    loop.close()
    for database in databases:
        database.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_restart_with_same_store_is_accepted(log: Path, store: Path) -> None:
    run(log, store, "http://a.example/")
    run(log, store, "http://b.example/")
    run(log, store)


def test_older_store_is_refused(log: Path, store: Path, tmp_path: Path) -> None:
    run(log, store, "http://a.example/")
    copy(store, tmp_path / "backup.db")
    run(log, store, "http://b.example/", "http://c.example/")
    with pytest.raises(
        GossamerError, match=r"store is older .*offset 3 of seeds.* up to 1\..*--al"
    ):
        run(log, tmp_path / "backup.db")


def test_older_log_is_refused(log: Path, store: Path, tmp_path: Path) -> None:
    run(log, store, "http://a.example/")
    copy(log, tmp_path / "backup.db")
    run(log, store, "http://b.example/", "http://c.example/")
    with pytest.raises(GossamerError, match=r"log is older .*ends at offset 1, .* up to 3"):
        run(tmp_path / "backup.db", store)


def test_records_of_other_engine_count_as_stored(log: Path, store: Path) -> None:
    place = "same place, so in this order"  # Of all seeds.
    here, *_ = (url for url in map(str, range(9)) if partition_of(url, 4) == partition_of(place, 4))
    there, *_ = (url for url in map(str, range(9)) if partition_of(url, 4) != partition_of(here, 4))
    run(log, store.with_name("other.db"), here, kind=AfterAnother)
    run(log, store, there, kind=AfterAnother)
    run(log, store, kind=AfterAnother)


AT = ("visits.ended", 0)


def align_group(
    group_offsets: GroupOffsets, stored: int | None, may_be_missing: bool = False
) -> Alignment:
    rows = [] if stored is None else [CheckpointRow("frontier", "0", {AT[0]: stored})]
    return align("frontier", {AT: group_offsets}, rows, may_be_missing)


def checkpoints(found: Alignment) -> Mapping[str, int]:
    return found.rows[0].offsets if found.rows else {}


@pytest.mark.parametrize(
    ("committed", "end", "stored", "moved", "checkpoint", "counts"),
    [
        # A crash between flush and commit leaves the store ahead.
        *((70, 90, stored, None, None, (0, 0, 0)) for stored in (70, 75, 90)),
        # An older store.
        (70, 90, 60, 60, None, (10, 0, 0)),
        # Records are deleted: the next start finds both in step.
        (70, 90, 30, 50, 50, (20, 20, 0)),
        (70, 90, None, 50, 50, (20, 50, 0)),
        (40, 90, 40, 50, 50, (0, 10, 0)),
        (40, 90, 45, 50, 50, (0, 5, 0)),
        # An older log.
        (70, 80, 95, None, 70, (0, 0, 15)),
        (90, 80, 95, 80, 80, (0, 0, 15)),
    ],
)
def test_group_and_checkpoints_are_aligned(
    committed: int,
    end: int,
    stored: int | None,
    moved: int | None,
    checkpoint: int | None,
    counts: tuple[int, int, int],
) -> None:
    """The counts are those of repeated, deleted and lost records."""
    found = align_group(GroupOffsets(committed, 50, end), stored)
    assert (found.moved.get(AT), checkpoints(found).get(AT[0])) == (moved, checkpoint)
    assert (found.repeated, found.deleted, found.lost) == counts


def test_missing_checkpoints_of_other_engine_move_nothing() -> None:
    assert not align_group(
        GroupOffsets(committed=70, start=50, end=90), None, may_be_missing=True
    ).moved


def test_checkpoints_without_committed_offsets_are_forgotten() -> None:
    found = align(
        "frontier", {}, [CheckpointRow("frontier", "0", {AT[0]: 95})], may_be_missing=False
    )
    assert (found.moved, found.lost) == ({}, 95)
    assert checkpoints(found) == {AT[0]: 0}
    assert not align("frontier", {}, found.rows, may_be_missing=False).rows


@given(
    st.integers(0, 50),
    st.integers(0, 50),
    st.integers(0, 50),
    st.none() | st.integers(0, 200),
    st.booleans(),
)
def test_second_alignment_changes_nothing(
    start: int, more: int, committed: int, stored: int | None, may_be_missing: bool
) -> None:
    group_offsets = GroupOffsets(start + committed, start, start + more)
    found = align_group(group_offsets, stored, may_be_missing)
    moved = group_offsets._replace(committed=found.moved.get(AT, group_offsets.committed))
    assert moved.start <= moved.committed <= moved.end
    again = checkpoints(found).get(AT[0], stored)
    assert not align_group(moved, again, may_be_missing).moved


@pytest.mark.parametrize("other", ["urls.admitted", "pages.deduplicated"])
def test_other_topics_of_partition_keep_their_checkpoints(other: str) -> None:
    row = CheckpointRow("frontier", "0", {AT[0]: 40, other: 7})
    group_offsets = {AT: GroupOffsets(70, 50, 90), (other, 0): GroupOffsets(7, 0, 9)}
    (changed,) = align("frontier", group_offsets, [row], may_be_missing=False).rows
    assert changed.offsets == {AT[0]: 50, other: 7}


def test_running_group_compares_as_aligned() -> None:
    """The group commits further records between two queries."""
    log, store = SqliteLog(Database(":memory:")), SqliteStore(Database(":memory:"))
    asked = [
        GroupOffsets(committed=70, start=50, end=90),
        GroupOffsets(committed=130, start=120, end=140),
    ]
    log.group_offsets = lambda group, topics: {AT: asked.pop(0)}  # type: ignore[method-assign]
    store.table(CheckpointRow).put(CheckpointRow("frontier", "0", {AT[0]: 110}))
    found = compare_group(log, store, Frontier, is_new=False)
    assert (found.moved, found.repeated, found.deleted, found.lost) == ({}, 0, 0, 0)
