"""Turns at addresses that many hosts share: waits for them, and has slots leased."""

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from gossamer.errors import Unavailable
from gossamer.settings import FetcherSettings
from services.fetcher.crowds import PATIENCE, Crowded, Crowds
from services.fetcher.slots import Slots


class Turns:
    """Those of one fetcher. *clock* is monotonic."""

    def __init__(self, settings: FetcherSettings, slots: Slots, clock: Callable[[], float]) -> None:
        self._crowds = Crowds(settings.address_at_once, settings.address_gap, settings.visit_limit)
        self._slots, self._clock = slots, clock
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    async def begin(self, address: str, visits: int, delay: float) -> int:
        """Wait for a turn at *address*, if it is known, and return its slot, to be given to `end`.

        Raise Crowded if an order with so many *visits* to make, *delay* seconds apart, had to wait
        for long.
        """
        if not address:
            return -1
        if wait := self._crowds.arrive(address, visits, delay, self._clock()):
            await asyncio.sleep(wait)
        slot = self._crowds.enter(address, self._clock())
        return await self._slot(address, visits, delay) if slot is None else slot

    def end(self, address: str, slot: int, took: float) -> None:
        """The turn is over, after so many seconds."""
        if address:
            self._crowds.leave(address, slot, took, self._clock())

    def spare(self, address: str) -> int:
        """Return how many connections to *address* may be open that no request uses."""
        return self._crowds.spare(address, self._clock())

    async def _slot(self, address: str, visits: int, delay: float) -> int:
        # One request asks the store at a time, or two would be given the same slot.
        async with self._locks.setdefault(address, asyncio.Lock()):
            slot = self._crowds.enter(address, self._clock())
            if slot is None and await self._lease(address):
                slot = self._crowds.enter(address, self._clock())
        if slot is None:
            raise self._crowds.later(address, visits, delay, self._clock())
        return slot

    async def _lease(self, address: str) -> bool:
        asked_at = self._clock()
        try:
            wanted = address, self._crowds.in_use(address, asked_at)
            take = self._slots.take
            found = await asyncio.to_thread(take, *wanted) if self._slots.asks else take(*wanted)
        except Unavailable as error:
            why = f"nothing says whether one more request may go to {address}: {error}"
            raise Crowded(why, PATIENCE) from error
        if found is None:
            return False
        slot, term = found
        self._crowds.leased(address, slot, asked_at + term, asked_at)
        return True
