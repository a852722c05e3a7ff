"""The list of limiters: whether a request may go on now, has to wait, or is denied.

A request passes the limiters in order, a stage at a time: before its name is looked up, before it
connects, before it is sent. A request never waits longer than the lease of its order allows. When
the request ends, its permits and slots are released. DNS lookups pass a list of their own. A new
limit is a new row of `request_limiters` or `lookup_limiters`; `docs/architecture.md` lists both.

Not in this list: the courtesy delay, pauses of a crawl and the blocklist are decided by the
conversation (`steps.py`). The backoff after a local fault stops the runner from beginning orders
(`limitations.py`). A body that waits for memory belongs to a request that was already sent
(`bodies.py`). The limit of file descriptors is checked once at the start (`wiring.py`).
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
from gossamer.services.fetcher.rate_limits import (
    EVERY_ADDRESS,
    MAX_ADDRESS_WAIT,
    AddressLimits,
    Denied,
    SiteRateLimit,
    SlotSource,
    TooLate,
)
from gossamer.settings import FetcherSettings
from gossamer.web.url import Site, site_of_host

LOOKUP_DIVISOR = 4
"""A zone gets at most `1 / LOOKUP_DIVISOR` of the lookups, and so do slow names."""
LEASE_TOO_SHORT = "the lease could end before a permit was free and the name was looked up"


class Stage(Enum):
    """The point at which a request passes a limiter."""

    BEGIN = "before its name is looked up"
    LOOKUP = "before a name server is asked"
    CONNECT = "before it connects"
    SEND = "before it is sent"


@dataclass(slots=True)
class Request:
    """The properties of a request that limiters use."""

    site: Site
    site_gap: float
    """Minimum seconds between two starts at the site."""
    delay: float
    """Seconds between two requests to the host."""
    visits: int
    """Number of visits of its order."""
    remaining_seconds: Callable[[], float]
    """Returns the seconds left to send the request; negative if it is too late."""
    address: str = ""
    """An `address_key`; "" if the name was not looked up, or only a proxy knows the address."""


@dataclass(slots=True)
class Lookup:
    """A query to a name server. Requests share lookups, and each may stop waiting by itself."""

    name: str
    is_slow: bool
    """Whether the first query for the name was not answered in time."""

    def remaining_seconds(self) -> float:
        """Return infinity: a lookup has no deadline of its own."""
        return inf


T = TypeVar("T", bound=Request | Lookup)
Admit = Callable[[T], AbstractAsyncContextManager[None]]
"""Waits until a request may go on, first come, first served. The permit is held during the block.

Raises TooLate or TimeoutError if the wait is longer than the request may wait, Denied if the order
should come again later. An admission that raises or is cancelled holds nothing.
"""


class Limiter(NamedTuple, Generic[T]):
    """A reason for which a request has to wait or is denied."""

    name: str
    text: str
    """A sentence for people: the limit."""
    stage: Stage
    admit: Admit[T]


class Admission(Generic[T]):
    """Takes a request through its limiters, and releases its permits at the end of the block."""

    def __init__(self, limiters: Sequence[Limiter[T]], request: T) -> None:
        self.request = request
        self._limiters, self._permits = limiters, AsyncExitStack()

    async def reach(self, stage: Stage) -> None:
        """Pass the limiters of *stage*; raise Denied if the request must not be made."""
        for limiter in self._limiters:
            if limiter.stage is not stage:
                continue
            try:
                await self._permits.enter_async_context(limiter.admit(self.request))
                # A limiter may wait without a timer, and the process may have been suspended.
                if self.request.remaining_seconds() < 0:
                    raise TooLate
            except (TooLate, TimeoutError) as error:
                raise Denied(f"{LEASE_TOO_SHORT} (limiter: {limiter.name})") from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._permits.aclose()


def limit_concurrency(limit: int, key: Callable[[T], str | None] = lambda request: "") -> Admit[T]:
    """Return an admission of *limit* requests of one *key* at once; the key None has no limit."""
    by_key = WeakValueDictionary[str, asyncio.Semaphore]()

    @asynccontextmanager
    async def admit(request: T) -> AsyncIterator[None]:
        if (request_key := key(request)) is None:
            yield
            return
        permits = by_key.setdefault(request_key, asyncio.Semaphore(limit))
        left = request.remaining_seconds() if permits.locked() else inf
        # A timer costs more than a free permit.
        async with nullcontext() if left == inf else asyncio.timeout(left):
            await permits.acquire()
        try:
            yield
        finally:
            permits.release()

    return admit


def wait_for_start(reserve: Callable[[Request], float]) -> Admit[Request]:
    """Return an admission that waits for the seconds that *reserve* returns.

    If a request is cancelled while it waits, its reserved start stays unused.
    """

    @asynccontextmanager
    async def admit(request: Request) -> AsyncIterator[None]:
        if wait := reserve(request):
            await asyncio.sleep(wait)
        yield

    return admit


def wait_to_send(reserve: Callable[[Request], float]) -> Admit[Request]:
    """Return an admission that waits until *reserve* returns 0, one request to a site at a time.

    *reserve* is called again after each wait, because the process may have been suspended.
    """
    one_per_site: Admit[Request] = limit_concurrency(1, lambda request: request.site)

    @asynccontextmanager
    async def admit(request: Request) -> AsyncIterator[None]:
        async with one_per_site(request):
            while wait := reserve(request):
                await asyncio.sleep(wait)
        yield

    return admit


REFUSALS_PER_TERM = 4
"""How often a fetcher asks for a further slot of every address in the term of a lease."""


class SlotLimiter:
    """Gives requests slots of their addresses, and leases slots if fetchers share them.

    A slot of every address serves all requests, so it is preferred to a slot of one address. A
    request that finds no slot is denied. Its order waits at the frontier.
    """

    def __init__(self, limits: AddressLimits, slots: SlotSource, time: Callable[[], float]) -> None:
        self._limits, self._slots, self._time = limits, slots, time
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._refused_at, self._refused_until = 0, -inf
        """The requests at an address with which no further slot of every address was leased, and
        until when a request beside as many does not ask for one."""

    @asynccontextmanager
    async def admit(self, request: Request) -> AsyncIterator[None]:
        """See `Admit`. The request must be sent before its slot may belong to another fetcher."""
        address = request.address
        if not address:
            yield
            return
        slot = self._limits.acquire_slot(address, self._time())
        if slot is None:
            slot = await self._acquire_leased(request)
        acquired_at = self._time()
        send_before = self._limits.send_before(address, slot, acquired_at)
        if send_before < inf:
            left = request.remaining_seconds
            request.remaining_seconds = lambda: min(left(), send_before - self._time())
        try:
            yield
        finally:
            now = self._time()
            self._limits.release_slot(address, slot, now - acquired_at, now)

    async def _acquire_leased(self, request: Request) -> int:
        address = request.address
        for key in (EVERY_ADDRESS, address):
            # One request asks the store at a time, or two could be given the same slot.
            async with self._locks.setdefault(key, asyncio.Lock()):
                slot = self._limits.acquire_slot(address, self._time())
                if slot is None and await self._lease(key, address):
                    slot = self._limits.acquire_slot(address, self._time())
            if slot is not None:
                return slot
        raise self._limits.deny(address, request.visits, request.delay, self._time())

    async def _lease(self, key: str, address: str) -> bool:
        """Return whether a slot of *key* is leased, for a request to *address*."""
        requested_at = self._time()
        in_use, acquire = self._limits.slots_in_use(address, requested_at), self._slots.acquire
        is_common = key == EVERY_ADDRESS
        if is_common and self._is_refused(len(in_use), requested_at):
            return False
        try:
            if self._slots.blocks:
                slot = await asyncio.to_thread(acquire, key, in_use)
            else:
                slot = acquire(key, in_use)
        except Unavailable as error:
            if is_common:
                # Requests to other addresses must not wait for each other's timeouts.
                self._refuse(0, self._time() + MAX_ADDRESS_WAIT)
            reason = f"the slots of {address} cannot be read: {error}"
            raise Denied(reason, MAX_ADDRESS_WAIT) from error
        if slot is not None:
            until = requested_at + self._slots.term
            self._limits.add_lease(key, slot, until, requested_at)
        elif is_common:
            self._refuse(len(in_use), requested_at + self._slots.term / REFUSALS_PER_TERM)
        return slot is not None

    def _refuse(self, in_use: int, until: float) -> None:
        self._refused_at, self._refused_until = in_use, until

    def _is_refused(self, in_use: int, now: float) -> bool:
        return in_use >= self._refused_at and now < self._refused_until


def request_limiters(
    settings: FetcherSettings,
    limits: AddressLimits,
    slots: SlotSource,
    time: Callable[[], float],
) -> tuple[Limiter[Request], ...]:
    """Return the limiters of a request, in order. *time* is monotonic.

    A request that waits for its site holds no permit of the fetcher. A request that waits for its
    address has looked it up. A request that waits to be sent has a connection.
    """
    sites = SiteRateLimit()

    def at_site(
        reserve: Callable[[Site, float, float, float], float],
    ) -> Callable[[Request], float]:
        return lambda one: reserve(one.site, one.site_gap, time(), one.remaining_seconds())

    def reserve_address(request: Request) -> float:
        if not request.address:
            return 0.0
        visits, delay = request.visits, request.delay
        return limits.reserve_start(
            request.address, visits, delay, time(), request.remaining_seconds()
        )

    return (
        Limiter(
            "site",
            "Visits to one site start at least `frontier.site_gap` of the delay apart.",
            Stage.BEGIN,
            wait_for_start(at_site(sites.reserve_start)),
        ),
        Limiter(
            "requests",
            "A fetcher makes at most `fetcher.concurrency` requests at once.",
            Stage.BEGIN,
            limit_concurrency(settings.concurrency),
        ),
        Limiter(
            "address",
            "A fetcher starts requests to one address at least `fetcher.address_gap` apart.",
            Stage.CONNECT,
            wait_for_start(reserve_address),
        ),
        Limiter(
            "slots of an address",
            "All fetchers make at most `fetcher.address_at_once` requests to one address at once.",
            Stage.CONNECT,
            SlotLimiter(limits, slots, time).admit,
        ),
        Limiter(
            "site, sending",
            "Requests to one site are sent at least `frontier.site_gap` of the delay apart.",
            Stage.SEND,
            wait_to_send(at_site(sites.reserve_send)),
        ),
    )


def lookup_limiters(limit: int) -> tuple[Limiter[Lookup], ...]:
    """Return the limiters of a lookup, in order: names that do not resolve must not starve others.

    A zone is a registrable domain with its subdomains. The first query for a name has a short
    timeout; a name that is not answered in time is looked up again as a slow name.
    """
    fraction = max(1, limit // LOOKUP_DIVISOR)
    return (
        Limiter(
            "zone",
            "At most a quarter of `fetcher.lookups_limit` lookups is of one zone.",
            Stage.LOOKUP,
            limit_concurrency(fraction, lambda lookup: site_of_host(lookup.name)),
        ),
        Limiter(
            "slow names",
            "At most a quarter of `fetcher.lookups_limit` lookups is of names not answered soon.",
            Stage.LOOKUP,
            limit_concurrency(fraction, lambda lookup: "" if lookup.is_slow else None),
        ),
        Limiter(
            "lookups",
            "A fetcher makes at most `fetcher.lookups_limit` lookups at once.",
            Stage.LOOKUP,
            limit_concurrency(limit),
        ),
    )
