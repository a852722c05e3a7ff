"""The promises of `gossamer.store`, which every store keeps."""

from collections.abc import Callable
from enum import StrEnum

import pytest

from gossamer.log import Message
from gossamer.store import Row, Store, Table
from tests.contract.backends import Ports
from tests.contract.conftest import Data


class Simple(Row, frozen=True):
    """A row ordered by a number."""

    table = "simple"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    text: str = ""


class Named(Row, frozen=True):
    """A row ordered by a text."""

    table = "named"
    partition_key, sort_key = "part", "name"
    part: str
    name: str


class Single(Row, frozen=True):
    """A row that is a whole partition."""

    table = "single"
    partition_key = "part"
    part: str
    text: str


class Held(Row, frozen=True):
    """A row with a holder, which another one may replace."""

    table = "held"
    partition_key, holder = "part", ("who", "until")
    part: str
    who: str
    n: int
    until: float = 0.0


class Colour(StrEnum):
    """The values of an enumeration column."""

    RED = "red"


class Coloured(Row, frozen=True):
    """A row with an enumeration column."""

    table = "painted"
    partition_key = "part"
    part: str
    colour: Colour


class Shared(Row, frozen=True):
    """A row whose partition key has two fields."""

    table = "shared"
    partition_key, sort_key = ("owner", "part"), "n"
    owner: str
    part: str
    n: int
    text: str = ""


class Owned(Row, frozen=True):
    """A row that is a whole partition, whose key has two fields."""

    table = "owned"
    partition_key = "owner", "part"
    part: str
    """The columns are in another order than the fields of the key."""
    owner: str
    text: str = ""


Settle = Callable[[Store], None]


@pytest.fixture(params=["before flush", "after flush"])
def settle(request: pytest.FixtureRequest) -> Settle:
    """Return a function to call between writing and reading. Reads must not depend on the flush."""
    return (lambda store: None) if request.param == "before flush" else (lambda s: s.flush())


@pytest.fixture
def store(ports: Ports) -> Store:
    return ports.store


def numbers(table: Table[Simple], *scan: object) -> list[int]:
    return [row.n for row in table.scan("p", *scan)]  # type: ignore[arg-type]


def test_get_returns_the_row_that_was_put(store: Store, settle: Settle) -> None:
    table = store.table(Simple)
    table.put(Simple("p", 1, "one"))
    settle(store)
    assert table.get("p", 1) == Simple("p", 1, "one")
    assert table.get("p", 2) is None
    assert table.get("q", 1) is None


def test_second_put_replaces_all_columns(store: Store, settle: Settle) -> None:
    table = store.table(Simple)
    table.put(Simple("p", 1, "old"))
    settle(store)
    table.put(Simple("p", 1))
    settle(store)
    assert table.get("p", 1) == Simple("p", 1, "")
    assert table.scan("p") == [Simple("p", 1, "")]


def test_row_without_a_sort_key_is_a_partition(store: Store, settle: Settle) -> None:
    table = store.table(Single)
    table.put(Single("p", "old"))
    settle(store)
    table.put(Single("p", "new"))
    settle(store)
    assert table.get("p") == Single("p", "new")
    assert table.scan("p") == [Single("p", "new")]


def test_erase_deletes_one_row(store: Store, settle: Settle) -> None:
    table = store.table(Simple)
    for n in range(4):
        table.put(Simple("p", n, "old"))
    settle(store)
    table.erase("p", 1)
    table.erase("p", 2)
    table.erase("q", 1)
    assert table.get("p", 1) is None
    assert table.scan("p", None, 2) == [Simple("p", 0, "old"), Simple("p", 3, "old")]
    table.put(Simple("p", 2, "new"))
    store.flush()
    assert [row.text for row in table.scan("p")] == ["old", "new", "old"]
    assert table.get_many("p", [0, 1, 2]) == [Simple("p", 0, "old"), Simple("p", 2, "new")]


def test_erase_deletes_a_row_without_a_sort_key(store: Store, settle: Settle) -> None:
    table = store.table(Owned)
    table.put(Owned("p", "o", "old"))
    settle(store)
    table.erase(("o", "p"))
    settle(store)
    assert table.get(("o", "p")) is None


def test_put_if_absent_keeps_the_first_row(store: Store, settle: Settle) -> None:
    table = store.table(Single)
    assert table.put_if_absent(Single("p", "one")) == Single("p", "one")
    settle(store)
    assert table.put_if_absent(Single("p", "two")) == Single("p", "one")
    table.put(Single("mine", "put"))
    many = [Single(key, "many") for key in ("a", "p", "mine", "b")]
    texts = [row.text for row in table.put_all_if_absent(many)]
    assert texts == ["many", "one", "put", "many"]
    assert table.put_all_if_absent([]) == []
    settle(store)
    assert table.get("p") == Single("p", "one")


def test_replace_requires_the_former_holder(store: Store, settle: Settle) -> None:
    table, before = store.table(Held), Held("p", "one", 1)
    table.replace(Held("p", "nobody", 0), before)
    assert table.put_if_absent(before) == before
    settle(store)
    table.replace(Held("p", "two", 2), before)
    settle(store)
    table.replace(Held("p", "three", 3), before)
    settle(store)
    assert table.put_if_absent(before) == table.get("p") == Held("p", "two", 2)


def test_replace_fails_if_the_holder_renewed_its_lease(store: Store, settle: Settle) -> None:
    table, before, renewed = store.table(Held), Held("p", "one", 1), Held("p", "one", 1, 99.5)
    assert table.put_if_absent(before) == before
    settle(store)
    table.replace(renewed, before)
    settle(store)
    table.replace(Held("p", "two", 2), before)
    settle(store)
    assert table.get("p") == renewed


def test_put_if_absent_after_a_drop_writes_the_row(store: Store, settle: Settle) -> None:
    table = store.table(Single)
    table.put(Single("p", "one"))
    settle(store)
    table.drop("p")
    assert table.put_if_absent(Single("p", "two")) == Single("p", "two")
    settle(store)
    assert table.get("p") == Single("p", "two")


def test_scan_orders_numbers(store: Store, settle: Settle) -> None:
    table = store.table(Simple)
    for n in (10, 9, -1, 2**40, 0, 100):
        table.put(Simple("p", n))
        table.put(Simple("q", n + 1))
    settle(store)
    assert numbers(table) == [-1, 0, 9, 10, 100, 2**40]
    assert numbers(table, 0) == [9, 10, 100, 2**40]
    assert numbers(table, 5, 2) == [9, 10]
    assert numbers(table, 2**40) == []
    assert table.scan("r") == []


def test_scan_orders_texts_by_code_point(store: Store, settle: Settle) -> None:
    table = store.table(Named)
    names = ["", "a", "A", "ab", "b", "é", "z", "\uffff", "\U0001f577", "a\0b", "a'b"]
    for name in names:
        table.put(Named("p", name))
    settle(store)
    assert [row.name for row in table.scan("p")] == sorted(names)
    assert [row.name for row in table.scan("p", "b")] == [n for n in sorted(names) if n > "b"]


def test_scan_in_pages_has_each_row_once(store: Store) -> None:
    table = store.table(Simple)
    for n in range(0, 100, 2):
        table.put(Simple("p", n))
    store.flush()
    for n in range(1, 100, 2):
        table.put(Simple("p", n))
    found: list[int] = []
    while page := numbers(table, found[-1] if found else None, 7):
        found += page
    assert found == [*range(100)]


def test_drop_deletes_one_partition_and_rows_can_be_put_after_it(
    store: Store, settle: Settle
) -> None:
    table = store.table(Simple)
    for n in range(5):
        table.put(Simple("p", n))
        table.put(Simple("q", n))
    settle(store)
    table.drop("p")
    settle(store)
    assert table.scan("p") == []
    assert table.get("p", 1) is None
    assert len(table.scan("q")) == 5
    table.drop("q")
    table.put(Simple("q", 3, "new"))
    settle(store)
    assert table.scan("q") == [Simple("q", 3, "new")]


def test_put_is_not_written_before_the_flush(data: Data) -> None:
    writer, other = data.open().store, data.open().store
    writer.table(Simple).put(Simple("p", 1))
    assert other.table(Simple).get("p", 1) is None
    writer.flush()
    assert other.table(Simple).get("p", 1) == Simple("p", 1)


def test_advance_of_the_log_flushes_the_store(data: Data) -> None:
    ports = data.open()
    ports.log.append([Message("visits.ordered", "k", b"v", "p")])
    reader = ports.log.reader("fetcher", ["visits.ordered"], ports.store)
    ports.store.table(Simple).put(Simple("p", 1))
    reader.advance(reader.poll(5.0), ())
    assert data.open().store.table(Simple).get("p", 1) == Simple("p", 1)


def test_tables_with_the_same_keys_are_independent(store: Store, settle: Settle) -> None:
    store.table(Single).put(Single("p", "single"))
    store.table(Named).put(Named("p", "named"))
    settle(store)
    store.table(Named).drop("p")
    settle(store)
    assert store.table(Single).get("p") == Single("p", "single")


def test_enumeration_column_has_its_value_after_a_read(store: Store, settle: Settle) -> None:
    table = store.table(Coloured)
    table.put(Coloured("p", Colour.RED))
    settle(store)
    found = table.get("p")
    assert found and found.colour is Colour.RED
