"""The timestamps of writes, and the rows that one request contains: `docs/design/store.md`, Why."""

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import clock
from gossamer.store.cassandra.writes import (
    BATCH_BYTES,
    BATCH_ROWS,
    SHARED_BYTES,
    SHARED_PARTITIONS,
    Timestamps,
    batches,
    by_partition_key,
)


class Clocks:
    """A time of day that a test sets, and a steady clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day, self.passed = 1_700_000_000.0, 0.0
        monkeypatch.setattr(clock, "now", lambda: self.day + self.passed)
        monkeypatch.setattr(clock, "steady", lambda: self.passed)
        monkeypatch.setattr(clock, "pause", self.pause)

    def pause(self, seconds: float) -> None:
        self.passed += seconds
        assert self.passed < 60, "it waits until the clock is where it was"


def test_clock_that_is_set_back_delays_no_write(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, stamps = Clocks(monkeypatch), Timestamps()
    first = stamps.next()
    clocks.day -= 600
    stamps.wait_to_pass()
    assert clocks.passed < 0.1
    assert stamps.next() > first


def test_timestamp_of_a_node_after_the_wait_is_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, stamps = Clocks(monkeypatch), Timestamps()
    last = stamps.next()
    stamps.wait_to_pass()
    in_whole_milliseconds = int((clocks.day + clocks.passed) * 1000) * 1000
    assert in_whole_milliseconds > last


Part = tuple[str, list[int]]
"""The nodes of a partition's rows, and the size of each row in bytes."""
sizes = st.lists(st.one_of(st.integers(0, 500), st.integers(0, 60_000)), min_size=1, max_size=120)


def make_rows(parts: list[Part]) -> list[tuple[str, list[Any]]]:
    return [
        (to, [SimpleNamespace(values=[b"x" * size], of=number) for size in rows])
        for number, (to, rows) in enumerate(parts)
    ]


@given(st.lists(st.tuples(st.sampled_from("ab"), sizes), max_size=30))
def test_each_row_is_in_one_batch_and_batches_are_bounded(parts: list[Part]) -> None:
    given_rows = make_rows(parts)
    found = [(to, rows) for to, rows in batches(given_rows)]
    assert Counter((to, id(row)) for to, rows in found for row in rows) == Counter(
        (to, id(row)) for to, rows in given_rows for row in rows
    )
    for _, rows in found:
        size = sum(len(row.values[0]) for row in rows)
        if len({row.of for row in rows}) > 1:
            assert size <= SHARED_BYTES
            assert len({row.of for row in rows}) <= SHARED_PARTITIONS
        else:
            assert len(rows) <= BATCH_ROWS
            assert len(rows) == 1 or size <= BATCH_BYTES


def test_small_rows_of_one_node_share_a_batch() -> None:
    parts = [(to, [100]) for _ in range(20) for to in "ab"]
    assert [len(rows) for _, rows in batches(make_rows(parts))] == [10, 10, 10, 10]


def test_rows_of_one_key_share_a_batch_whatever_their_table() -> None:
    def write(key: bytes, *rows: str) -> tuple[int, Iterator[Any]]:
        return 7, iter([SimpleNamespace(routing_key=key, values=[b""], name=row) for row in rows])

    writes = [
        write(b"a", "urls 1", "urls 2"),
        write(b"b", "urls"),
        write(b"c"),
        write(b"a", "plans"),
    ]
    found = by_partition_key(writes)
    assert [(at, key, [row.name for row in rows]) for at, key, rows in found] == [
        (7, b"a", ["urls 1", "urls 2", "plans"]),
        (7, b"b", ["urls"]),
    ]
