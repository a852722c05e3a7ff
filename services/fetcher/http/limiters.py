"""Limiters: may this request go on now? If not, it waits, or is denied with a reason. One list.

A request passes the limiters in order, a stage at a time: before its name is looked up, before it
connects, before it is sent. A request never waits longer than the lease of its order allows. When
it ends, its places and slots are released. DNS lookups pass a list of their own. A new limit is a
new row of `request_limiters` or `lookup_limiters`; `docs/architecture.md` lists both.

Not limiters: the courtesy delay, pauses of a crawl and the blocklist belong to the conversation
(`steps.py`). During an outage the runner begins no order (`faults.py`). A body that waits for
memory belongs to a request that was sent (`bodies.py`). `descriptors.py` checks the settings once,
`gaps.py` measures, and `skew.py` corrects the clock of the lease.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Generic, NamedTuple, Self, TypeVar
from weakref import WeakValueDictionary

from gossamer.errors import Unavailable
from gossamer.settings import FetcherSettings
from gossamer.web.url import site_of
from services.fetcher.rate_limits import PATIENCE, Crowds, Denied, Slots, Starts, TooLate

SHARE = 4
"""One lookup in `SHARE` may be of one zone, or of a name that was not answered soon."""
LATE = "its turn did not come, or its name was not looked up, before the lease could end"


class Stage(Enum):
    """When a limiter is passed."""

    BEGIN = "before its name is looked up"
    LOOKUP = "before a name server is asked"
    CONNECT = "before it connects"
    SEND = "before it is sent"


@dataclass(slots=True)
class Request:
    """A request as its limiters see it."""

    site: str
    site_gap: float
    """Least seconds between two starts at the site."""
    delay: float
    """Seconds between two requests to the host."""
    visits: int
    """How many visits its order has."""
    left: Callable[[], float]
    """Returns how many seconds are left to send it; less than 0 when it is too late."""
    address: str = ""
    """See `crowd_of`; "" where a proxy knows it, or it has not been looked up yet."""


@dataclass(slots=True)
class Lookup:
    """A question to a name server. Requests share lookups, and each stops waiting by itself."""

    name: str
    doubtful: bool
    """Whether the name was not answered soon."""

    def left(self) -> float:
        """Return infinity: a lookup has no deadline of its own."""
        return inf


T = TypeVar("T", bound=Request | Lookup)
Admit = Callable[[T], AbstractAsyncContextManager[None]]
"""Waits until a request may go on, in the order in which requests came. The block holds what the
request needs, which is released at its end.

Raises TooLate or TimeoutError if that takes longer than the request may wait, Denied if it had
better come again later. An admission that raises, or is cancelled, has taken nothing.
"""


class Limiter(NamedTuple, Generic[T]):
    """One reason for which a request has to wait, or is not made."""

    name: str
    text: str
    """A sentence for people: what it promises."""
    stage: Stage
    admit: Admit[T]


class Admission(Generic[T]):
    """Passes one request through its limiters, and releases its places at the end of the block."""

    def __init__(self, limiters: Sequence[Limiter[T]], request: T) -> None:
        self.request = request
        self._limiters, self._held = limiters, AsyncExitStack()

    async def reach(self, stage: Stage) -> None:
        """Pass the limiters of *stage*; raise Denied if the request must not be made."""
        for limiter in self._limiters:
            if limiter.stage is not stage:
                continue
            try:
                await self._held.enter_async_context(limiter.admit(self.request))
                # It may have waited without a timer; and this process may have stood still.
                if self.request.left() < 0:
                    raise TooLate
            except (TooLate, TimeoutError) as error:
                raise Denied(f"{LATE} (limiter: {limiter.name})") from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._held.aclose()


def places(limit: int, key: Callable[[T], str | None] = lambda request: "") -> Admit[T]:
    """Return an admission of at most *limit* requests of one *key* at once; None: no limit."""
    by_key = WeakValueDictionary[str, asyncio.Semaphore]()

    @asynccontextmanager
    async def admit(request: T) -> AsyncIterator[None]:
        if (counted := key(request)) is None:
            yield
            return
        free = by_key.setdefault(counted, asyncio.Semaphore(limit))
        left = request.left() if free.locked() else inf
        # A timer costs more than a place that is free.
        async with nullcontext() if left == inf else asyncio.timeout(left):
            await free.acquire()
        try:
            yield
        finally:
            free.release()

    return admit


def paced(turn: Callable[[Request], float]) -> Admit[Request]:
    """Return an admission that waits for the *turn* of a request. An unused turn is lost."""

    @asynccontextmanager
    async def admit(request: Request) -> AsyncIterator[None]:
        if wait := turn(request):
            await asyncio.sleep(wait)
        yield

    return admit


def held(turn: Callable[[Request], float]) -> Admit[Request]:
    """Return an admission that waits until *turn* returns 0, one request to a site at a time.

    It asks again after each wait, for the process may have stood still.
    """
    first: Admit[Request] = places(1, lambda request: request.site)

    @asynccontextmanager
    async def admit(request: Request) -> AsyncIterator[None]:
        async with first(request):
            while wait := turn(request):
                await asyncio.sleep(wait)
        yield

    return admit


class AddressSlots:
    """Gives slots of addresses that many hosts share, and has them leased if fetchers share them.

    A request that finds no slot is denied: it waits at the frontier, with its place in the queue.
    """

    def __init__(self, crowds: Crowds, slots: Slots, time: Callable[[], float]) -> None:
        self._crowds, self._slots, self._time = crowds, slots, time
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    @asynccontextmanager
    async def admit(self, request: Request) -> AsyncIterator[None]:
        """See `Admit`."""
        address = request.address
        if not address:
            yield
            return
        slot = self._crowds.enter(address, self._time())
        if slot is None:
            slot = await self._leased(request)
        begun = self._time()
        try:
            yield
        finally:
            now = self._time()
            self._crowds.leave(address, slot, now - begun, now)

    async def _leased(self, request: Request) -> int:
        address = request.address
        # One request asks the store at a time, or two would be given the same slot.
        async with self._locks.setdefault(address, asyncio.Lock()):
            slot = self._crowds.enter(address, self._time())
            if slot is None and await self._lease(address):
                slot = self._crowds.enter(address, self._time())
        if slot is None:
            raise self._crowds.later(address, request.visits, request.delay, self._time())
        return slot

    async def _lease(self, address: str) -> bool:
        requested_at = self._time()
        try:
            wanted = address, self._crowds.in_use(address, requested_at)
            take = self._slots.take
            found = await asyncio.to_thread(take, *wanted) if self._slots.asks else take(*wanted)
        except Unavailable as error:
            why = f"nothing says whether one more request may go to {address}: {error}"
            raise Denied(why, PATIENCE) from error
        if found is None:
            return False
        slot, term = found
        self._crowds.leased(address, slot, requested_at + term, requested_at)
        return True


def request_limiters(
    settings: FetcherSettings, crowds: Crowds, slots: Slots, time: Callable[[], float]
) -> tuple[Limiter[Request], ...]:
    """Return the limiters of a request, in order. *time* is monotonic.

    A request that waits for its site takes no place among the requests; one that waits for its
    address has looked it up, and one that waits to be sent has its connection.
    """
    starts = Starts()

    def start(request: Request) -> float:
        return starts.wait(request.site, request.site_gap, time(), request.left())

    def send(request: Request) -> float:
        return starts.hold(request.site, request.site_gap, time(), request.left())

    def arrive(request: Request) -> float:
        if not request.address:
            return 0.0
        visits, delay = request.visits, request.delay
        return crowds.arrive(request.address, visits, delay, time(), request.left())

    return (
        Limiter(
            "site",
            "Visits to one site start at least `frontier.site_gap` of the delay apart.",
            Stage.BEGIN,
            paced(start),
        ),
        Limiter(
            "requests",
            "A fetcher makes at most `fetcher.concurrency` requests at once.",
            Stage.BEGIN,
            places(settings.concurrency),
        ),
        Limiter(
            "address",
            "A fetcher starts requests to one address at least `fetcher.address_gap` apart.",
            Stage.CONNECT,
            paced(arrive),
        ),
        Limiter(
            "slots of an address",
            "All fetchers make at most `fetcher.address_at_once` requests to one address at once.",
            Stage.CONNECT,
            AddressSlots(crowds, slots, time).admit,
        ),
        Limiter(
            "site, sending",
            "Requests to one site are sent at least `frontier.site_gap` of the delay apart.",
            Stage.SEND,
            held(send),
        ),
    )


def lookup_limiters(limit: int) -> tuple[Limiter[Lookup], ...]:
    """Return the limiters of a lookup, in order: names that never resolve must not starve others.

    A zone is a registrable domain with what is below it. A first try of a name takes its places for
    a short while only; what it does not settle is looked up again beside others of that kind.
    """
    share = max(1, limit // SHARE)
    return (
        Limiter(
            "zone",
            "At most a quarter of `fetcher.lookups_limit` lookups is of one zone.",
            Stage.LOOKUP,
            places(share, lambda lookup: site_of(f"http://{lookup.name}/")),
        ),
        Limiter(
            "slow names",
            "At most a quarter of `fetcher.lookups_limit` lookups is of names not answered soon.",
            Stage.LOOKUP,
            places(share, lambda lookup: "" if lookup.doubtful else None),
        ),
        Limiter(
            "lookups",
            "A fetcher makes at most `fetcher.lookups_limit` lookups at once.",
            Stage.LOOKUP,
            places(limit),
        ),
    )
