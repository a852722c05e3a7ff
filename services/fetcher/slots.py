"""Slots of addresses: which fetcher may make one request more to an address that many hosts share.

A fetcher that is alone counts for itself. Those of a fleet lease slots from the store, each for a
while, and ask for none that another has: so what a dead fetcher had is free when its lease is over,
by any clock that does not differ by more than is tolerated. One that finds none leaves word that it
wants one, and then those who have more than their share do not lease theirs anew.
"""

from collections.abc import Collection, Iterable
from math import inf
from typing import Protocol
from uuid import uuid4

from gossamer.clock import Clock
from gossamer.store import Row, Store


class AddressSlot(Row, frozen=True):
    """A slot of an address, and which fetcher has it; beyond the last slot: which wants one."""

    table = "address_slots"
    partition_key, sort_key = "address", "slot"
    holder = ("fetcher", "expires_at")

    address: str
    """Of IPv6 its /64 network."""
    slot: int
    fetcher: str
    expires_at: float


class Slots(Protocol):
    """Where slots come from."""

    asks: bool
    """Whether that takes a while."""

    def take(self, address: str, in_use: Collection[int]) -> tuple[int, float] | None:
        """Return a slot of *address* that none has but we, and for how many seconds; None if there
        is none. *in_use* are those that we have and need. May raise Unavailable."""


class OwnSlots:
    """Those of a fetcher that is alone: *at_once* for each address."""

    asks = False

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once

    def take(self, address: str, in_use: Collection[int]) -> tuple[int, float] | None:
        """See `Slots`."""
        free = (slot for slot in range(self._at_once) if slot not in in_use)
        return next(((slot, inf) for slot in free), None)


class LeasedSlots:
    """Those of a fleet, in *store*: leased for *term* seconds, by clocks that differ by at most
    *tolerance* seconds."""

    asks = True

    def __init__(
        self, store: Store, at_once: int, clock: Clock, term: float, tolerance: float
    ) -> None:
        self._rows, self._at_once, self._clock = store.table(AddressSlot), at_once, clock
        self._term, self._tolerance = term, tolerance
        self._fetcher = uuid4().hex
        self._word = at_once + int(self._fetcher[:4], 16)
        """Where the word stands that this one wants a slot."""

    def take(self, address: str, in_use: Collection[int]) -> tuple[int, float] | None:
        """See `Slots`."""
        slot = self.lease(address, in_use)
        return None if slot is None else (slot, self._term)

    def lease(self, address: str, in_use: Collection[int]) -> int | None:
        """Return a slot that is ours for the term from now on; None if there is none."""
        now = self._clock()
        until, rows = now + self._term, {row.slot: row for row in self._rows.scan(address)}
        if len(in_use) >= self._share(rows.values(), now):
            return None
        for slot in range(self._at_once):
            row, wanted = rows.get(slot), AddressSlot(address, slot, self._fetcher, until)
            if slot not in in_use and self._is_free(row, now) and self._lease(wanted, row):
                return slot
        self._lease(AddressSlot(address, self._word, self._fetcher, until), rows.get(self._word))
        return None

    def _share(self, rows: Iterable[AddressSlot], now: float) -> int:
        """Return how many slots are for each fetcher that has any, or wants one."""
        others = {row.fetcher for row in rows if not self._is_free(row, now)}
        return max(1, self._at_once // (1 + len(others)))

    def _is_free(self, row: AddressSlot | None, now: float) -> bool:
        if row is None or row.fetcher == self._fetcher:
            return True
        return row.expires_at + self._tolerance <= now

    def _lease(self, wanted: AddressSlot, had: AddressSlot | None) -> bool:
        if had:
            self._rows.replace(wanted, had)
        return self._rows.put_if_absent(wanted) == wanted
