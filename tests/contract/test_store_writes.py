"""The store's promises about writes: any amount, an order that a crash may cut, one owner."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.store import Row, Store
from tests.contract.backends import Ports
from tests.contract.conftest import Data
from tests.contract.test_store import Simple
from tests.support.metrics import growth
from tests.support.waiting import until


class Blob(Row, frozen=True):
    """A row of any size."""

    table = "blobs"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    raw: bytes


class ExpiringRow(Row, frozen=True):
    """A row that is stored for three seconds. Servers may count whole seconds."""

    table = "passing"
    partition_key, sort_key = "part", "at"
    aged_by, lifetime = "at", 3
    part: str
    at: float


@pytest.fixture
def store(ports: Ports) -> Store:
    return ports.store


def test_each_flush_of_rows_is_timed(store: Store) -> None:
    flushes, table = growth("gossamer_store_flush_seconds_count"), store.table(Simple)
    store.flush()
    assert flushes() == 0
    table.put(Simple("p", 1))
    store.flush()
    table.drop("p")
    store.flush()
    store.flush()
    assert flushes() == 2


def test_flush_writes_thousands_of_rows_of_a_partition(data: Data) -> None:
    store = data.open().store
    for n in range(7000):
        store.table(Simple).put(Simple("p", n, f"text {n}"))
    store.flush()
    found = data.open().store.table(Simple).scan("p", limit=10_000)
    assert [row.n for row in found] == [*range(7000)]
    assert found[6999].text == "text 6999"


def test_flush_writes_rows_of_thousands_of_partitions(data: Data) -> None:
    store = data.open().store
    for n in range(3000):
        store.table(Simple).put(Simple(f"part {n}", n))
    store.flush()
    table = data.open().store.table(Simple)
    assert all(table.get(f"part {n}", n) for n in range(0, 3000, 7))


def test_flush_writes_large_rows(data: Data) -> None:
    sizes = [4 << 20, 10, 60_000, 60_000, 1 << 20, 0, 39_000, 2_000]
    store = data.open().store
    for n, size in enumerate(sizes):
        store.table(Blob).put(Blob("p", n, bytes([n]) * size))
    store.flush()
    found = data.open().store.table(Blob).scan("p")
    assert [(row.n, len(row.raw)) for row in found] == list(enumerate(sizes))
    assert all(row.raw == bytes([row.n]) * len(row.raw) for row in found)


@pytest.mark.only("decides_at_once")
def test_concurrent_put_if_absent_agree_on_the_first_row(data: Data) -> None:
    stores = [data.open().store for _ in range(4)]
    rows = [[Simple(f"p{n}", 0, f"{writer}") for n in range(25)] for writer in range(4)]
    for store in stores:
        store.table(Simple)
    with ThreadPoolExecutor(4) as threads:
        found = list(
            threads.map(
                lambda s, writes: [s.table(Simple).put_if_absent(row) for row in writes],
                stores,
                rows,
            )
        )
    assert found == [found[0]] * 4
    table = data.open().store.table(Simple)
    assert [table.get(f"p{n}", 0) for n in range(25)] == found[0]


# Only a store that others can write to has owners.


@pytest.fixture
def owners(data: Data) -> tuple[Store, Store]:
    """Return the stores of a former owner and of its successor."""
    old, new = data.open().store, data.open().store
    old.stamp(1_000_000, 2_000_000)
    new.stamp(2_000_000, 3_000_000)
    return old, new


def texts(data: Data) -> list[str]:
    return [row.text for row in data.open().store.table(Simple).scan("p")]


def refuse() -> None:
    raise Unavailable("claimed by another")


@pytest.mark.only("fences")
def test_late_write_of_a_former_owner_replaces_nothing(
    data: Data, owners: tuple[Store, Store]
) -> None:
    old, new = owners
    old.table(Simple).put(Simple("p", 1, "old"))
    old.table(Simple).put(Simple("p", 2, "only of the former owner"))
    new.table(Simple).put(Simple("p", 1, "new"))
    new.flush()
    old.flush()
    assert texts(data) == ["new", "only of the former owner"]
    for text in ("older", "oldest"):
        old.table(Simple).put(Simple("p", 1, text))
        old.flush()
    assert texts(data) == ["new", "only of the former owner"]


@pytest.mark.only("fences")
def test_late_drop_of_a_former_owner_deletes_nothing(
    data: Data, owners: tuple[Store, Store]
) -> None:
    old, new = owners
    new.table(Simple).put(Simple("p", 1, "new"))
    new.flush()
    old.table(Simple).drop("p")
    old.flush()
    assert texts(data) == ["new"]


def test_immediate_write_is_visible_before_the_flush_and_survives_a_discard(data: Data) -> None:
    store = data.open().store
    store.table(Simple).put(Simple("p", 2, "put"))
    store.write([Simple("p", 1, "at once")], 1_000_000)
    assert texts(data) == ["at once"]
    store.discard()
    assert texts(data) == ["at once"]
    assert [row.text for row in store.table(Simple).scan("p")] == ["at once"]


@pytest.mark.only("fences")
def test_immediate_write_with_the_larger_timestamp_wins(data: Data) -> None:
    one, other = data.open().store, data.open().store
    one.write([Simple("p", 1, "later")], 2_000_000)
    other.write([Simple("p", 1, "earlier")], 1_000_000)
    assert texts(data) == ["later"]


@pytest.mark.only("fences")
def test_former_owner_writes_nothing_after_its_guard_fails(
    data: Data, owners: tuple[Store, Store]
) -> None:
    old, new = owners
    new.table(Simple).put(Simple("q", 1, "new"))
    new.flush()
    old.guard(refuse)
    old.table(Simple).put(Simple("p", 1, "old"))
    with pytest.raises(Unavailable):
        old.flush()
    assert texts(data) == []


@pytest.mark.only("fences")
def test_guard_is_checked_by_a_flush_without_rows(owners: tuple[Store, Store]) -> None:
    old, _ = owners
    old.guard(refuse)
    with pytest.raises(Unavailable):
        old.flush()


@pytest.mark.only("fences")
def test_guard_is_checked_after_the_rows_are_written(owners: tuple[Store, Store]) -> None:
    old, new = owners
    claimed: list[bool] = []

    def refuse_once_written() -> None:
        if new.table(Simple).get("p", 1):
            claimed.append(True)
            refuse()

    old.guard(refuse_once_written)
    old.table(Simple).put(Simple("p", 1, "old"))
    with pytest.raises(Unavailable):
        old.flush()
    assert claimed


@pytest.mark.only("fences")
def test_owner_replaces_rows_of_former_owners_and_its_own(
    data: Data, owners: tuple[Store, Store]
) -> None:
    old, new = owners
    for n in range(3):
        old.table(Simple).put(Simple("p", n, "old"))
    old.flush()
    for text in ("new", "newer"):
        new.table(Simple).put(Simple("p", 1, text))
        new.flush()
    assert texts(data) == ["old", "newer", "old"]
    new.table(Simple).drop("p")
    new.table(Simple).put(Simple("p", 2, "kept"))
    new.flush()
    assert texts(data) == ["kept"]
    new.table(Simple).drop("p")
    new.flush()
    new.table(Simple).put(Simple("p", 3, "again"))
    new.flush()
    assert texts(data) == ["again"]


@pytest.mark.only("fences")
def test_owner_that_returns_with_later_timestamps_replaces_rows(
    data: Data, owners: tuple[Store, Store]
) -> None:
    old, new = owners
    new.table(Simple).put(Simple("p", 1, "new"))
    new.flush()
    old.stamp(3_000_000, 4_000_000)
    old.table(Simple).put(Simple("p", 1, "back"))
    old.flush()
    new.table(Simple).put(Simple("p", 1, "too late"))
    new.flush()
    assert texts(data) == ["back"]


@pytest.mark.slow
def test_row_expires_after_its_lifetime(store: Store) -> None:
    table, started_at = store.table(ExpiringRow), clock.now()
    for second in (0.0, 0.5):
        table.put(ExpiringRow("p", started_at + second))
    store.flush()
    assert len(table.scan("p")) == 2

    def is_expired() -> bool:
        table.put(ExpiringRow("p", clock.now()))
        store.flush()
        return table.get("p", started_at + 0.5) is None

    until(is_expired, "the old rows are gone")
    assert table.get("p", started_at) is None
    assert clock.now() > started_at + 2, "too soon"
    left = [row.at for row in table.scan("p")]
    assert left, "a row that was just written is stored"
    assert not {started_at, started_at + 0.5} & {*left}
