"""A table behaves like a dict after any operations, flushed or not, reopened or not."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from gossamer.store import Row
from tests.contract.conftest import Data


class ByNumber(Row, frozen=True):
    """A row ordered by a number."""

    table = "by_number"
    partition_key, sort_key = "part", "sort"
    part: str
    sort: int
    value: int


class ByName(Row, frozen=True):
    """A row ordered by a text."""

    table = "by_name"
    partition_key, sort_key = "part", "sort"
    part: str
    sort: str
    value: int


class Spread(Row, frozen=True):
    """A row in several partitions of the store's own, ordered by a number."""

    table = "spread"
    partition_key, sort_key = "part", "sort"
    buckets = 3
    part: str
    sort: str
    value: int


KINDS: dict[Any, Any] = {
    ByNumber: st.integers(-3, 3),
    ByName: st.sampled_from("aAbz"),
    Spread: st.sampled_from("abcdefgh"),
}
PARTS = ("o", "p", "q")
parts = st.sampled_from(PARTS)


class TableMachine(RuleBasedStateMachine):
    """A table beside a dict of dicts. *flushed* is the dict at the last flush."""

    data: Data

    @initialize(kind=st.sampled_from(list(KINDS)))
    def start(self, kind: Any) -> None:
        self.kind = kind
        self.model: dict[tuple[str, Any], Row] = {}
        self.flushed: dict[tuple[str, Any], Row] = {}
        self.dropped: set[str] = set()
        self.erased: set[tuple[str, Any]] = set()
        self.open()
        for part in PARTS:
            self.table.drop(part)
        self.ports.store.flush()

    def open(self) -> None:
        self.ports = self.data.open()
        self.table: Any = self.ports.store.table(self.kind)

    def sort(self, data: st.DataObject) -> Any:
        return data.draw(KINDS[self.kind])

    @rule(data=st.data(), part=parts, value=st.integers(0, 9))
    def put(self, data: st.DataObject, part: str, value: int) -> None:
        row = self.kind(part, self.sort(data), value)
        self.table.put(row)
        self.model[part, row.sort] = row

    @rule(data=st.data(), part=parts, value=st.integers(0, 9))
    def put_if_absent(self, data: st.DataObject, part: str, value: int) -> None:
        row = self.kind(part, self.sort(data), value)
        missing = (part, row.sort) not in self.model
        assert self.table.put_if_absent(row) == self.model.setdefault((part, row.sort), row)
        is_buffered = part in self.dropped or (part, row.sort) in self.erased
        if missing and self.data.backend.decides_at_once and not is_buffered:
            self.flushed[part, row.sort] = row

    @rule(part=parts)
    def drop(self, part: str) -> None:
        self.table.drop(part)
        self.dropped.add(part)
        self.model = {key: row for key, row in self.model.items() if key[0] != part}

    @rule(data=st.data(), part=parts)
    def erase(self, data: st.DataObject, part: str) -> None:
        sort = self.sort(data)
        self.table.erase(part, sort)
        self.erased.add((part, sort))
        self.model.pop((part, sort), None)

    @rule()
    def flush(self) -> None:
        self.ports.store.flush()
        self.flushed = dict(self.model)
        self.dropped.clear()
        self.erased.clear()

    @rule()
    def crash(self) -> None:
        self.teardown()
        self.model = dict(self.flushed)
        self.dropped.clear()
        self.erased.clear()
        self.open()

    @rule(data=st.data(), part=parts)
    def get(self, data: st.DataObject, part: str) -> None:
        sort = self.sort(data)
        assert self.table.get(part, sort) == self.model.get((part, sort))

    @rule(data=st.data(), part=parts, limit=st.integers(0, 5))
    def scan_beyond(self, data: st.DataObject, part: str, limit: int) -> None:
        after = self.sort(data)
        beyond = [row for row in self.rows(part) if row.sort > after]
        assert self.table.scan(part, after, limit) == beyond[:limit]

    @rule(data=st.data(), some=st.lists(parts, unique=True), limit=st.integers(0, 5))
    def scan_all(self, data: st.DataObject, some: list[str], limit: int) -> None:
        after = self.sort(data)
        beyond = [[row for row in self.rows(part) if row.sort > after][:limit] for part in some]
        assert self.table.scan_all(some, after, limit) == [row for rows in beyond for row in rows]

    @rule(some=st.lists(parts, unique=True), limit=st.integers(1, 5))
    def scan_ahead(self, some: list[str], limit: int) -> None:
        """Read the first rows of several partitions ahead: no later read differs."""
        self.table.scan_ahead(some, limit)

    @invariant()
    def scans_are_whole(self) -> None:
        """Assert that every partition reads as in the dict."""
        if hasattr(self, "table"):
            assert self.table.scan("p") == self.rows("p")

    def rows(self, part: str) -> list[Any]:
        return [self.model[key] for key in sorted(self.model) if key[0] == part]

    def teardown(self) -> None:
        if hasattr(self, "ports"):
            self.ports.close()


@pytest.mark.slow
def test_table_behaves_like_a_dict(data: Data) -> None:
    machine = type("Machine", (TableMachine,), {"data": data})
    # Reopening takes time across a network.
    examples = 10 if data.server else 60
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=40, deadline=None)
    )
