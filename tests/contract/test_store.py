"""The promises of `gossamer.store`, which every store keeps, except those of `test_store_model`."""

from collections.abc import Callable
from enum import StrEnum

import pytest

from gossamer.log import Message
from gossamer.store import Row, Store
from tests.contract.backends import Ports
from tests.contract.conftest import Data


class Simple(Row, frozen=True):
    """A row ordered by a number."""

    table = "simple"
    partition_key, sort_key = "part", "n"
    part: str
    n: int
    text: str = ""


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


Settle = Callable[[Store], None]


@pytest.fixture(params=["before flush", "after flush"])
def settle(request: pytest.FixtureRequest) -> Settle:
    """Return a function to call between writing and reading. Reads must not depend on the flush."""
    return (lambda store: None) if request.param == "before flush" else (lambda s: s.flush())


@pytest.fixture
def store(ports: Ports) -> Store:
    return ports.store


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


def test_advance_of_the_log_flushes_the_store(data: Data) -> None:
    ports = data.open()
    ports.log.append([Message("visits.ordered", "k", b"v", "p")])
    reader = ports.log.reader("fetcher", ["visits.ordered"], ports.store)
    ports.store.table(Simple).put(Simple("p", 1))
    reader.advance(reader.poll(5.0), ())
    assert data.open().store.table(Simple).get("p", 1) == Simple("p", 1)


def test_tables_with_the_same_keys_are_independent(store: Store, settle: Settle) -> None:
    store.table(Single).put(Single("p", "single"))
    store.table(Simple).put(Simple("p", 1))
    settle(store)
    store.table(Simple).drop("p")
    settle(store)
    assert store.table(Single).get("p") == Single("p", "single")


def test_enumeration_column_has_its_value_after_a_read(store: Store, settle: Settle) -> None:
    table = store.table(Coloured)
    table.put(Coloured("p", Colour.RED))
    settle(store)
    found = table.get("p")
    assert found and found.colour is Colour.RED
