"""The store's promises for partition keys with several fields."""

import pytest

from gossamer.store import Row, Store
from tests.contract.backends import Ports
from tests.contract.test_store import Owned, Settle, Shared
from tests.contract.test_store import settle as settle


class Spread(Row, frozen=True):
    """A row whose partition key has two fields, in several partitions of the store's own."""

    table = "shared_and_spread"
    partition_key, sort_key = ("owner", "part"), "n"
    buckets = 4
    owner: str
    part: str
    n: int


@pytest.fixture
def store(ports: Ports) -> Store:
    return ports.store


def test_rows_that_differ_in_one_field_of_the_key_are_independent(
    store: Store, settle: Settle
) -> None:
    table = store.table(Shared)
    rows = [Shared(owner, part, 1, owner + part) for owner in "ab" for part in "pq"]
    for row in rows:
        table.put(row)
    settle(store)
    assert [table.get((row.owner, row.part), 1) for row in rows] == rows
    assert table.get(("b", "r"), 1) is None
    assert [table.scan((row.owner, row.part)) for row in rows] == [[row] for row in rows]


def test_scan_orders_rows_by_the_sort_key(store: Store, settle: Settle) -> None:
    table = store.table(Shared)
    for n in (3, 1, 2):
        table.put(Shared("a", "p", n))
        table.put(Shared("b", "p", n + 1))
    settle(store)
    assert [row.n for row in table.scan(("a", "p"))] == [1, 2, 3]
    assert [row.n for row in table.scan(("a", "p"), 1, 1)] == [2]


def test_drop_uses_all_fields_of_the_key(store: Store, settle: Settle) -> None:
    table = store.table(Shared)
    for owner in "ab":
        table.put(Shared(owner, "p", 1))
    settle(store)
    table.drop(("a", "p"))
    settle(store)
    assert table.scan(("a", "p")) == []
    assert table.scan(("b", "p")) == [Shared("b", "p", 1)]


def test_get_all_reads_rows_of_many_partitions(store: Store, settle: Settle) -> None:
    shared, owned = store.table(Shared), store.table(Owned)
    for n in range(100):
        shared.put(Shared("ab"[n % 2], f"p{n}", n))
        owned.put(Owned(f"p{n}", "ab"[n % 2], "old"))
    settle(store)
    owned.put(Owned("p1", "b", "new"))
    keys = [(owner, f"p{n}") for owner in "ab" for n in range(100)]
    found = {(row.owner, row.part): row.text for row in owned.get_all([(key, "") for key in keys])}
    assert len(found) == 100 and found["b", "p1"] == "new" and found["a", "p2"] == "old"
    assert len(shared.get_all([(key, n % 100) for n, key in enumerate(keys)])) == 100
    assert owned.get_all([]) == []


def test_rows_read_ahead_equal_rows_read_one_by_one(store: Store, settle: Settle) -> None:
    table = store.table(Owned)
    table.put(Owned("p", "a", "old"))
    table.put(Owned("q", "a", "old"))
    settle(store)
    table.put(Owned("q", "a", "new"))
    table.read_ahead([(("a", "p"), ""), (("a", "q"), ""), (("b", "p"), "")])
    assert table.get(("a", "p")) == Owned("p", "a", "old")
    assert table.get(("a", "q")) == Owned("q", "a", "new")
    assert table.get(("b", "p")) is None
    assert table.get_many(("a", "p"), [""]) == [Owned("p", "a", "old")]


def test_put_if_absent_keeps_the_first_row(store: Store, settle: Settle) -> None:
    table, row = store.table(Owned), Owned("p", "a", "one")
    assert table.put_if_absent(row) == row
    settle(store)
    assert table.put_if_absent(Owned("p", "a", "two")) == row
    assert table.put_if_absent(Owned("p", "b", "two")) == Owned("p", "b", "two")


def test_table_with_several_key_fields_may_have_buckets(store: Store, settle: Settle) -> None:
    table = store.table(Spread)
    for n in range(40):
        table.put(Spread("ab"[n % 2], "p", n))
    settle(store)
    even = [*range(0, 40, 2)]
    assert [row.n for row in table.scan(("a", "p"))] == even
    assert sorted(row.n for row in table.get_many(("a", "p"), range(40))) == even
    table.read_ahead([(("a", "p"), n) for n in range(40)])
    assert table.get(("a", "p"), 4) == Spread("a", "p", 4)
    assert table.get(("a", "p"), 5) is None
    table.drop(("a", "p"))
    settle(store)
    assert table.scan(("a", "p")) == [] and len(table.scan(("b", "p"))) == 20


def test_everything_has_each_row_once(store: Store) -> None:
    rows = [Spread("ab"[n % 2], f"p{n % 3}", n) for n in range(2100)]
    for row in rows:
        store.table(Spread).put(row)
    store.flush()
    assert sorted(store.table(Spread).everything(), key=lambda row: row.n) == rows
