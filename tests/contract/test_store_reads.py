"""The store's promises about reads: several rows at once, newest first, unusual keys."""

from math import inf

import pytest

from gossamer.store import Row, Store
from tests.contract.backends import Ports
from tests.contract.conftest import Data
from tests.contract.test_store import Settle, Simple, Single
from tests.contract.test_store import settle as settle


class Moment(Row, frozen=True):
    """A row ordered by a fraction."""

    table = "moments"
    partition_key, sort_key = "part", "at"
    part: str
    at: float
    text: str = ""


class Version(Row, frozen=True):
    """A row whose newest version is read first."""

    table = "versions"
    partition_key, sort_key = "part", "at"
    newest_first = True
    part: str
    at: float
    order: str = ""
    """The name of the column is a keyword of SQL."""


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
    assert list(store.table(Moment).everything()) == []


def test_get_many_skips_missing_rows(store: Store, settle: Settle) -> None:
    table = store.table(Simple)
    for n in range(10):
        table.put(Simple("p", n, str(n)))
    table.put(Simple("q", 11))
    settle(store)
    found = table.get_many("p", [7, -1, 3, 11])
    assert sorted(row.n for row in found) == [3, 7]
    assert {row.text for row in found} == {"3", "7"}
    assert table.get_many("p", []) == []
    assert table.get_many("nobody", [1, 2]) == []


def test_get_many_finds_flushed_and_unflushed_rows(store: Store) -> None:
    table = store.table(Simple)
    for n in range(4):
        table.put(Simple("p", n, "old"))
    store.flush()
    table.put(Simple("p", 1, "new"))
    table.put(Simple("p", 9, "new"))
    found = {row.n: row.text for row in table.get_many("p", [0, 1, 9, 10])}
    assert found == {0: "old", 1: "new", 9: "new"}
    table.drop("p")
    table.put(Simple("p", 2, "after"))
    assert table.get_many("p", [0, 1, 2]) == [Simple("p", 2, "after")]


def test_get_many_finds_a_row_without_a_sort_key(store: Store, settle: Settle) -> None:
    store.table(Single).put(Single("p", "one"))
    settle(store)
    assert store.table(Single).get_many("p", [""]) == [Single("p", "one")]


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


def test_rows_read_ahead_equal_rows_read_one_by_one(store: Store, settle: Settle) -> None:
    table, keys = store.table(Single), [f"p{n}" for n in range(30)]
    for key in keys[:-1]:
        table.put(Single(key, "old"))
    settle(store)
    table.put(Single("p1", "new"))
    table.drop("p2")
    table.read_ahead((key, "") for key in keys)
    table.put(Single("p3", "new"))
    table.drop("p4")
    found = {row.part: row.text for row in table.get_all([(key, "") for key in keys])}
    assert found == {key: row.text for key in keys if (row := table.get(key))}
    assert len(found) == 27
    assert {key for key, text in found.items() if text == "new"} == {"p1", "p3"}
    assert table.put_if_absent(Single("p29", "first")).text == "first"
    assert table.get("p29") == Single("p29", "first")


def test_rows_of_one_partition_read_ahead_equal_rows_read_one_by_one(
    store: Store, settle: Settle
) -> None:
    table = store.table(Simple)
    for n in range(6):
        table.put(Simple("p", n, "old"))
    settle(store)
    table.put(Simple("p", 1, "new"))
    table.read_ahead([*(("p", n) for n in range(4)), ("p", 99)])
    table.put(Simple("p", 2, "new"))
    assert table.get("p", 99) is None
    found = {row.n: row.text for row in table.get_many("p", [0, 1, 2, 3, 4, 99])}
    assert found == {0: "old", 1: "new", 2: "new", 3: "old", 4: "old"}
    table.drop("p")
    assert table.get_all([("p", n) for n in range(6)]) == []


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


def test_scan_orders_fractions(store: Store, settle: Settle) -> None:
    table = store.table(Moment)
    moments = [0.1, 1e-9, 1.5, 1.25, -2.0, 1763760000.123456, 1763760000.123457, 1e300, 3.0, inf]
    for at in moments:
        table.put(Moment("p", at, repr(at)))
    settle(store)
    assert [row.at for row in table.scan("p")] == sorted(moments)
    assert [row.at for row in table.scan("p", 1.25, 2)] == [1.5, 3.0]
    found = table.get("p", 1763760000.123457)
    assert found and found.text == "1763760000.123457"
    assert len(table.get_many("p", [0.1, 3, 2.0])) == 2


def test_scan_newest_first_orders_and_pages(store: Store, settle: Settle) -> None:
    table = store.table(Version)
    for at in (2.5, 10.0, 1.0, 7.25):
        table.put(Version("p", at))
    settle(store)
    assert [row.at for row in table.scan("p")] == [10.0, 7.25, 2.5, 1.0]
    assert [row.at for row in table.scan("p", limit=1)] == [10.0]
    assert [row.at for row in table.scan("p", 7.25)] == [2.5, 1.0]
    assert table.scan("p", 1.0) == []


def test_scan_newest_first_merges_flushed_and_unflushed_rows(store: Store) -> None:
    table = store.table(Version)
    for at in range(0, 20, 2):
        table.put(Version("p", at, "old"))
    store.flush()
    for at in range(1, 20, 2):
        table.put(Version("p", at, "new"))
    table.put(Version("p", 8, "new"))
    found: list[Version] = []
    while page := table.scan("p", found[-1].at if found else None, 3):
        found += page
    assert [row.at for row in found] == [*range(19, -1, -1)]
    assert [row.order for row in found if row.at in (7, 8, 10)] == ["old", "new", "new"]


def test_buckets_of_a_partition_are_read_as_one(store: Store, settle: Settle) -> None:
    table = store.table(Bucketed)
    for at in range(40):
        table.put(Bucketed("p", at / 2))
    table.put(Bucketed("q", 7.0))
    settle(store)
    newest_first = [at / 2 for at in reversed(range(40))]
    assert [row.at for row in table.scan("p")] == newest_first
    assert [row.at for row in table.scan("p", 10.0, 5)] == [9.5, 9.0, 8.5, 8.0, 7.5]
    assert table.scan("p", limit=0) == []
    assert sorted(row.at for row in table.get_many("p", [1.5, 7.0, 99.0])) == [1.5, 7.0]
    assert table.put_if_absent(Bucketed("p", 3.0)) == table.get("p", 3.0)
    table.drop("p")
    settle(store)
    assert table.scan("p") == []
    assert table.scan("q") == [Bucketed("q", 7.0)]


def test_scan_all_reads_several_partitions(store: Store) -> None:
    table = store.table(Bucketed)
    for n in range(20):
        table.put(Bucketed("pq"[n % 2], n / 2))
    store.flush()
    table.put(Bucketed("q", 100.0))
    found = table.scan_all(["q", "none", "p"], limit=3)
    assert [row.at for row in found] == [100.0, 9.5, 8.5, 9.0, 8.0, 7.0]
    assert [row.at for row in table.scan_all(["p", "q"], 1.0)] == [0.0, 0.5]
    assert not table.scan_all([])
