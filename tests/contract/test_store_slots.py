"""Fetchers of a fleet lease slots of one address, and of every address, from a common store."""

from collections.abc import Callable
from itertools import count
from typing import Any, cast

import pytest

from gossamer.services.fetcher.rate_limits import EVERY_ADDRESS, LeasedSlots
from gossamer.store import Store
from tests.contract.conftest import Data

ADDRESS = "192.0.2.1"
"""Of eight slots, 4 to 7 are leased for one address. A single slot is leased for one address."""


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


names = (f"fetcher-{number}" for number in count())


def fetcher(data: Data, clock: Clock, at_once: int = 8, name: str = "") -> LeasedSlots:
    """Return the slots of one fetcher, with a name of its own unless it is given."""
    name = name or next(names)
    return LeasedSlots(data.open().store, name, at_once, clock, term=100.0, tolerance=20.0)


@pytest.mark.only("decides_at_once")
def test_two_fetchers_never_have_the_same_slot(data: Data, clock: Clock) -> None:
    one, other = fetcher(data, clock), fetcher(data, clock)
    assert [one.acquire(ADDRESS, had) for had in ((), {4})] == [4, 5]
    assert [other.acquire(ADDRESS, had) for had in ((), {6}, {6, 7})] == [6, 7, None]
    assert other.acquire("192.0.2.2", ()) == 4
    clock.now += 1.0
    assert one.acquire(ADDRESS, {5}) == 4, (
        "a fetcher renews the lease of a slot that it does not use"
    )


@pytest.mark.only("decides_at_once")
@pytest.mark.parametrize("at_once", [1, 2, 3, 16])
def test_two_fetchers_have_as_many_slots_at_an_address_as_are_allowed(
    data: Data, clock: Clock, at_once: int
) -> None:
    fetchers = [fetcher(data, clock, at_once) for _ in range(2)]
    leased: list[set[int]] = [set(), set()]
    for _ in range(at_once):
        for one, ours in zip(fetchers, leased, strict=True):
            for key in (EVERY_ADDRESS, ADDRESS):
                if (slot := one.acquire(key, ours)) is not None:
                    ours.add(slot)
    assert not leased[0] & leased[1]
    assert leased[0] | leased[1] == set(range(at_once))


@pytest.mark.only("decides_at_once")
def test_fetcher_with_all_slots_leaves_some_to_another(data: Data, clock: Clock) -> None:
    one, other = fetcher(data, clock), fetcher(data, clock)
    taken = [one.acquire(ADDRESS, set(range(4, n))) for n in range(4, 9)]
    assert taken == [4, 5, 6, 7, None]
    assert other.acquire(ADDRESS, ()) is None
    clock.now += 60.0
    assert [one.acquire(ADDRESS, had) for had in ((), {4}, {4, 5})] == [4, 5, None]
    assert other.acquire(ADDRESS, ()) is None
    clock.now += 60.0  # The other two leases have expired.
    assert [other.acquire(ADDRESS, had) for had in ((), {6}, {6, 7})] == [6, 7, None]


@pytest.mark.only("decides_at_once")
def test_second_fetcher_gets_half_of_the_slots_of_every_address(data: Data, clock: Clock) -> None:
    one, other = fetcher(data, clock), fetcher(data, clock)
    assert [one.acquire(EVERY_ADDRESS, set(range(n))) for n in range(5)] == [0, 1, 2, 3, None]
    assert other.acquire(EVERY_ADDRESS, ()) is None
    clock.now += 60.0
    assert [one.acquire(EVERY_ADDRESS, set(range(n))) for n in range(3)] == [0, 1, None]
    clock.now += 60.0  # The other leases have expired.
    assert [other.acquire(EVERY_ADDRESS, had) for had in ((), {2}, {2, 3})] == [2, 3, None]


@pytest.mark.only("decides_at_once")
def test_slot_of_a_stopped_fetcher_is_free_after_its_lease_and_the_tolerance(
    data: Data, clock: Clock
) -> None:
    dead, other = fetcher(data, clock, 1), fetcher(data, clock, 1)
    assert dead.acquire(ADDRESS, ()) == 0
    clock.now += 119.0
    assert other.acquire(ADDRESS, ()) is None
    clock.now += 1.0
    assert other.acquire(ADDRESS, ()) == 0
    assert dead.acquire(ADDRESS, ()) is None, "the first fetcher has lost its slot"


@pytest.mark.only("decides_at_once")
def test_slot_of_a_killed_fetcher_is_free_for_its_next_process(data: Data, clock: Clock) -> None:
    dead, other = fetcher(data, clock, 2, "one"), fetcher(data, clock, 2, "other")
    for key, slot in ((EVERY_ADDRESS, 0), (ADDRESS, 1)):
        assert dead.acquire(key, ()) == slot
        assert other.acquire(key, ()) is None
        assert fetcher(data, clock, 2, "one").acquire(key, ()) == slot


class InterruptedStore:
    """A store and its tables, of a fetcher that is interrupted after each scan."""

    def __init__(self, inner: Any, interrupt: Callable[[], None]) -> None:
        self._inner, self._interrupt = inner, interrupt

    def table(self, row: Any) -> Any:
        return InterruptedStore(self._inner.table(row), self._interrupt)

    def scan(self, *args: Any) -> Any:
        found = self._inner.scan(*args)
        self._interrupt()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.only("decides_at_once")
def test_slot_that_is_renewed_during_a_scan_is_not_taken_over(data: Data, clock: Clock) -> None:
    idle = fetcher(data, clock, 1)
    assert idle.acquire(ADDRESS, ()) == 0
    clock.now += 121.0
    renewed: list[int | None] = []
    store = InterruptedStore(data.open().store, lambda: renewed.append(idle.acquire(ADDRESS, ())))
    other = LeasedSlots(cast(Store, store), next(names), 1, clock, term=100.0, tolerance=20.0)
    assert other.acquire(ADDRESS, ()) is None
    assert renewed == [0]
