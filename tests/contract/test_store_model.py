"""A table behaves like a dict after any operations, flushed or not, reopened or not."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NamedTuple

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

from gossamer.store import Partition, Row, Sort, keys_of, partition_fields, partition_values
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


class NewestFirst(Row, frozen=True):
    """A row ordered by a fraction, the newest first. The name of a column is a keyword of SQL."""

    table = "newest_first"
    partition_key, sort_key = "part", "sort"
    newest_first = True
    part: str
    sort: float
    value: int
    order: str = ""


class Whole(Row, frozen=True):
    """A row that is a whole partition, whose key has two fields."""

    table = "whole"
    partition_key = "owner", "part"
    part: str
    """The columns are in another order than the fields of the key."""
    owner: str
    value: int


class Spread(Row, frozen=True):
    """A row whose partition key has two fields, in several partitions of the store's own."""

    table = "spread"
    partition_key, sort_key = ("owner", "part"), "sort"
    buckets = 3
    owner: str
    part: str
    sort: str
    value: int


class SpreadByTime(Row, frozen=True):
    """A row in several partitions of the store's own, the newest first."""

    table = "spread_by_time"
    partition_key, sort_key = "part", "sort"
    buckets = 4
    newest_first = True
    part: str
    sort: float
    value: int


Key = tuple[Partition, Sort]


class Kind(NamedTuple):
    """A class of rows, with partition keys and sort keys."""

    row: type[Row]
    parts: tuple[Partition, ...]
    sorts: tuple[Sort, ...]

    def make(self, part: Partition, sort: Sort, value: int) -> Any:
        """Return a row with a *value*."""
        fields = dict(zip(partition_fields(self.row), partition_values(part), strict=True))
        key = {self.row.sort_key: sort} if self.row.sort_key else {}
        return self.row(**fields, **key, value=value)


ONE_FIELD = ("p", "q")
TWO_FIELDS = (("a", "p"), ("b", "p"), ("a", "q"))
FRACTIONS = (0.1, 1e-9, 1.5, 1.25, -2.0, 1763760000.123456, 1763760000.123457, 1e300, 3.0, inf)
NAMES = ("", "a", "A", "ab", "b", "é", "z", "\uffff", "\U0001f577", "a\0b", "a'b")
KINDS = (
    Kind(ByNumber, ONE_FIELD, (-1, 0, 1, 9, 10, 100, 2**40)),
    Kind(ByName, ONE_FIELD, NAMES),
    Kind(NewestFirst, ONE_FIELD, FRACTIONS),
    Kind(Whole, TWO_FIELDS, ("",)),
    Kind(Spread, TWO_FIELDS, (*"abcdefgh",)),
    Kind(SpreadByTime, ONE_FIELD, FRACTIONS),
)
machines: st.SearchStrategy[Any] = st.runner()
parts = machines.flatmap(lambda machine: st.sampled_from(machine.kind.parts))
sorts = machines.flatmap(lambda machine: st.sampled_from(machine.sorts))
keys = st.lists(st.tuples(parts, sorts), unique=True, min_size=1, max_size=6)
values = st.integers(0, 9)
limits = st.integers(0, 5)


class TableMachine(RuleBasedStateMachine):
    """A table beside a dict. *flushed* is the dict at the last flush."""

    data: Data
    kind: Kind
    sorts: Sequence[Sort] = ()
    """The sort keys of an example: few, so that its operations meet."""
    touched: Sequence[Key] = ()
    """The keys of the last operation."""

    @initialize(some=st.data())
    def start(self, some: st.DataObject) -> None:
        few = st.lists(st.sampled_from(self.kind.sorts), min_size=1, max_size=4, unique=True)
        self.sorts = some.draw(few)
        self.model: dict[Key, Row] = {}
        self.flushed: dict[Key, Row] = {}
        self.dropped: set[Partition] = set()
        self.erased: set[Key] = set()
        self.open()
        for part in self.kind.parts:
            self.table.drop(part)
        self.ports.store.flush()

    def open(self) -> None:
        self.ports = self.data.open()
        self.table: Any = self.ports.store.table(self.kind.row)

    @rule(keys=keys, value=values, last=st.booleans())
    def put(self, keys: Sequence[Key], value: int, last: bool) -> None:
        for key in keys:
            self.model[key] = row = self.kind.make(*key, value)
            self.table.put(row, last=last)
        self.touched = keys

    @rule(keys=keys, value=values)
    def put_if_absent(self, keys: Sequence[Key], value: int) -> None:
        rows = [self.kind.make(*key, value) for key in keys]
        missing = [key for key in keys if key not in self.model]
        expected = [self.model.setdefault(keys_of(row), row) for row in rows]
        if len(rows) == 1:
            assert self.table.put_if_absent(rows[0]) == expected[0]
        else:
            assert self.table.put_all_if_absent(rows) == expected
        for part, sort in missing if self.data.backend.decides_at_once else ():
            if part not in self.dropped and (part, sort) not in self.erased:
                self.flushed[part, sort] = self.model[part, sort]
        self.touched = keys

    @rule(part=parts)
    def drop(self, part: Partition) -> None:
        self.table.drop(part)
        self.dropped.add(part)
        self.model = {key: row for key, row in self.model.items() if key[0] != part}

    @rule(keys=keys)
    def erase(self, keys: Sequence[Key]) -> None:
        for key in keys:
            self.table.erase(*key)
            self.erased.add(key)
            self.model.pop(key, None)
        self.touched = keys

    @rule()
    def flush(self) -> None:
        self.ports.store.flush()
        self.flushed = dict(self.model)
        self.dropped.clear()
        self.erased.clear()
        assert self.by_key(self.table.everything()) == self.model

    @rule(crashes=st.booleans())
    def discard(self, crashes: bool) -> None:
        if crashes:
            self.teardown()
            self.open()
        else:
            self.ports.store.discard()
        self.model = dict(self.flushed)
        self.dropped.clear()
        self.erased.clear()

    @rule(keys=keys, limit=st.integers(1, 5))
    def read_ahead(self, keys: Sequence[Key], limit: int) -> None:
        """Read rows, and the first rows of partitions, ahead: no later read differs."""
        self.table.read_ahead(keys)
        self.table.scan_ahead({part for part, _ in keys}, limit)
        self.touched = keys

    @rule(some=st.lists(parts, unique=True), limit=limits)
    def scan_several(self, some: list[Partition], limit: int) -> None:
        expected = [row for part in some for row in self.rows(part)[:limit]]
        assert self.table.scan_all(some, None, limit) == expected

    @invariant()
    def reads_match(self) -> None:
        """Assert that the keys that were used last, and their partitions, read as in the dict."""
        for part in {part for part, _ in self.touched}:
            sorts = [sort for at, sort in self.touched if at == part]
            assert [self.table.get(part, s) for s in sorts] == [
                self.model.get((part, s)) for s in sorts
            ]
            known = {(part, s): self.model[part, s] for s in sorts if (part, s) in self.model}
            assert self.by_key(self.table.get_many(part, sorts)) == known
            assert self.by_key(self.table.get_all([(part, s) for s in sorts])) == known
            after = sorts[0] if self.kind.row.sort_key else None
            assert self.table.scan(part) == self.rows(part)
            assert self.table.scan(part, None, 2) == self.rows(part)[:2]
            assert self.table.scan(part, after, 2) == self.rows(part, after)[:2]

    def rows(self, part: Partition, after: Any = None) -> list[Row]:
        """Return the rows of a partition beyond *after*, in their order."""
        down = self.kind.row.newest_first
        found: list[Any] = [sort for at, sort in self.model if at == part]
        if after is not None:
            found = [sort for sort in found if (sort < after if down else sort > after)]
        return [self.model[part, sort] for sort in sorted(found, reverse=down)]

    def by_key(self, rows: Iterable[Row]) -> dict[Key, Row]:
        """Return the rows by their keys, each of which occurs once."""
        found = [(keys_of(row), row) for row in rows]
        assert len(found) == len({key for key, _ in found})
        return dict(found)

    def teardown(self) -> None:
        if hasattr(self, "ports"):
            self.ports.close()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.row.__name__)
def test_table_behaves_like_a_dict(data: Data, kind: Kind) -> None:
    machine = type("Machine", (TableMachine,), {"data": data, "kind": kind})
    # Reopening takes time across a network.
    examples = 3 if data.server else 12
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=40, deadline=None)
    )
