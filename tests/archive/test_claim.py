"""On Cassandra the newest run's writes win by their timestamps, for any clock."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.services.archive.service import Archive
from gossamer.settings import ArchiveSettings
from gossamer.store import Partition, R, Row, Sort, keys_of
from gossamer.store.cassandra import writes
from gossamer.store.overlay import BufferedTable
from tests.archive.harness import NOW, page, responses

Disk = dict[tuple[str, Partition, Sort], tuple[int, Row]]
"""Table, partition key and sort key → the write timestamp of the row, and the row."""


class StampedStore:
    """The tables of one process on shared nodes, with a timestamp for each write."""

    def __init__(self, disk: Disk) -> None:
        self._disk, self._timestamps = disk, writes.Timestamps()
        self._tables: dict[type[Row], StampedTable[Any]] = {}

    def table(self, row: type[R]) -> "StampedTable[R]":
        found: StampedTable[R] = self._tables.setdefault(row, StampedTable(self._disk, row))
        return found

    def write(self, rows: Sequence[Row], timestamp: int) -> None:
        for row in rows:
            key = (row.table, *keys_of(row))
            if timestamp > self._disk.get(key, (0, row))[0]:
                self._disk[key] = timestamp, row

    def stamp(self, first: int, end: int) -> None:
        self._timestamps.stamp(first, end)

    def guard(self, check: Callable[[], None]) -> None:
        self._check = check

    def flush(self) -> None:
        self._check()
        stamp = self._timestamps.next()
        for table in self._tables.values():
            for partition, rows in table.rows.items():
                for sort, row in rows.items():
                    key = (table.row.table, partition, sort)
                    if stamp > self._disk.get(key, (0, row))[0]:
                        self._disk[key] = stamp, row
            table.clear()


class StampedTable(BufferedTable[R]):
    """The rows of one class, with the methods of `gossamer.store.Table` that an archive uses."""

    def __init__(self, disk: Disk, row: type[R]) -> None:
        super().__init__(row)
        self._disk = disk

    def _read(self, partition: Partition, sort: Sort) -> R | None:
        return self._disk.get((self.row.table, partition, sort), (0, None))[1]  # type: ignore[return-value]

    def _read_partition(self, partition: Partition, after: Sort | None, limit: int) -> list[R]:
        return []  # There are no erasures, and no earlier captures.

    def get_all(self, keys: Sequence[tuple[Partition, Sort]]) -> list[R]:
        return [row for key in keys if (row := self.get(*key))]

    def scan_all(
        self, partitions: Sequence[Partition], after: Sort | None = None, limit: int = 1000
    ) -> list[R]:
        return []

    def everything(self) -> Iterator[R]:
        return iter(())  # No capture waits for a volume.


class Fleet:
    """A sequence of archives with one writer's name; each has its own clock, and is killed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.disk, self.pages = folder, Disk(), 0
        self.now = NOW
        monkeypatch.setattr("gossamer.clock.now", lambda: self.now)

    def run(self, clock: float, count: int) -> None:
        """Archive and commit *count* pages, starting at the time *clock*."""
        self.now = clock
        store: Any = StampedStore(self.disk)
        archive = Archive(
            self.folder, store, ArchiveSettings(), "me@example.org", "gossamer", "archive-0"
        )
        archive.assign(frozenset({0}), self.now)
        archive.settle()
        store.flush()
        for _ in range(count):
            archive.handle(page(self.pages), self.now)
            archive.settle()
            store.flush()
            self.pages += 1
            self.now += 0.1
        archive.release()

    def assert_nothing_lost(self) -> None:
        """Restart, and check that each committed page is in a complete file."""
        self.run(self.now, 0)
        found = responses(self.folder / "archive-0")
        assert sorted(found) == sorted(page(i).visit.url for i in range(self.pages))


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(tmp_path, monkeypatch)


def test_clock_that_is_behind_loses_no_segment(fleet: Fleet) -> None:
    fleet.run(NOW, 5)
    fleet.run(NOW - 60, 5)
    fleet.assert_nothing_lost()


runs = st.lists(
    st.tuples(st.floats(NOW - 90_000, NOW + 90_000), st.integers(0, 3)), min_size=1, max_size=6
)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(runs)
def test_no_sequence_of_clocks_loses_a_page(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[float, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fleet = Fleet(tmp_path_factory.mktemp("fleet"), patch)
        for clock, count in runs:
            fleet.run(clock, count)
        fleet.assert_nothing_lost()
