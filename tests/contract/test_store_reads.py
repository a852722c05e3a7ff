"""The store's promises about reads of many rows at once."""

import pytest

from gossamer.store import Row, Store
from tests.contract.backends import Ports
from tests.contract.conftest import Data
from tests.contract.test_store import Settle, Simple, Single
from tests.contract.test_store import settle as settle


class Bucketed(Row, frozen=True):
    """A row of a large partition, which is stored in several buckets."""

    table = "scattered"
    partition_key, sort_key = "part", "at"
    newest_first = True
    buckets = 4
    part: str
    at: float


@pytest.fixture
def store(ports: Ports) -> Store:
    return ports.store


def test_everything_yields_all_flushed_rows(store: Store) -> None:
    rows = [Bucketed(f"p{n % 7}", n / 2) for n in range(2503)]
    for row in rows:
        store.table(Bucketed).put(row)
    store.table(Single).put(Single("p", "x"))
    store.flush()
    found = list(store.table(Bucketed).everything())
    assert sorted(found, key=lambda row: row.at) == rows
    assert list(store.table(Single).everything()) == [Single("p", "x")]
    assert list(store.table(Simple).everything()) == []


def test_get_many_finds_hundreds_of_rows(store: Store, settle: Settle) -> None:
    table = store.table(Simple)
    for n in range(1000):
        table.put(Simple("p", n))
    settle(store)
    assert sorted(row.n for row in table.get_many("p", range(0, 1000, 2))) == [*range(0, 1000, 2)]


def test_get_all_reads_rows_of_many_partitions(store: Store, settle: Settle) -> None:
    table = store.table(Simple)
    for n in range(500):
        table.put(Simple(f"p{n}", n, "old"))
    settle(store)
    table.put(Simple("p7", 7, "new"))
    table.put(Simple("fresh", 1, "new"))
    table.drop("p8")
    keys = [*((f"p{n}", n) for n in range(500)), ("fresh", 1), ("p3", 4), ("nobody", 1)]
    found = {(row.part, row.n): row.text for row in table.get_all(keys)}
    assert len(found) == 500 and ("p8", 8) not in found
    assert (found["p7", 7], found["fresh", 1], found["p499", 499]) == ("new", "new", "old")
    assert table.get_all([]) == []
    store.table(Single).put(Single("p", "one"))
    assert store.table(Single).get_all([("p", ""), ("q", "")]) == [Single("p", "one")]


def test_get_all_reads_rows_of_many_partitions_with_one_sort_key(
    store: Store, settle: Settle
) -> None:
    table = store.table(Simple)
    for n in range(40):
        table.put(Simple(f"p{n}", n % 2))
    settle(store)
    found = table.get_all([(f"p{n}", 1) for n in range(50)])
    assert {row.part for row in found} == {f"p{n}" for n in range(1, 40, 2)}
    assert {row.n for row in found} == {1}


def test_get_all_reads_hundreds_of_rows_of_two_partitions(store: Store, settle: Settle) -> None:
    """The sitemap of a site may list thousands of URLs of one host."""
    table = store.table(Bucketed)
    keys = [("pq"[n % 2], n / 2) for n in range(1200)]
    for part, at in keys[:1000]:
        table.put(Bucketed(part, at))
    settle(store)
    table.read_ahead(keys[:600])
    found = sorted(table.get_all(keys), key=lambda row: row.at)
    assert [(row.part, row.at) for row in found] == keys[:1000]
    assert all(table.get(*key) is None for key in keys[1000:1010])


def test_flush_clears_rows_read_ahead(data: Data) -> None:
    one, other = data.open().store, data.open().store
    one.table(Single).read_ahead([("p", "")])
    other.table(Single).put(Single("p", "other"))
    other.flush()
    one.flush()
    assert one.table(Single).get("p") == Single("p", "other")
