"""Rate limits of sites and addresses: when the next request may start.

Sites. A few hosts of a site are checked out at once, and each order keeps its own pause. All
unanswered orders of a site go to one partition, and so to one fetcher, which spaces the starts of
visits (`SiteRateLimit`). When a partition moves to another fetcher, the spacing may be broken for a
moment; the pause of each host does not depend on it. A visit reserves its start before the name is
looked up and the connection is made, so that no connection is open while the visit waits. The
lookup and the connection may take long, so the gap is enforced once more when the request is sent.

Addresses. Many hosts may share an address, which is a /64 network in IPv6, and one machine may
serve them all (`AddressLimits`). Over all fetchers, a few requests to an address are in flight at
once. Requests of one fetcher to an address start a little apart. An order that would have to wait
for long is returned with the time of its next attempt. These times are assigned as if all returned
orders were in one queue, which is served at the measured rate of the address. So thousands of sites
at one address are visited as fast as the address allows, no site starves, and no order delays
orders for other addresses.

Slots. Each request to an address holds a slot, a number. A single fetcher counts its own slots. The
fetchers of a fleet lease slots in the store for a limited time: half of the numbers for every
address at once, and the others for one address. So most addresses cost no access to the store, and
a fetcher without a slot of every address leases one of the address. The slots of a crashed fetcher
become free when it has started again under its name, or when its leases have expired by every clock
within the tolerated skew. A fetcher that finds no free slot writes a row that requests one.
Fetchers with more than an equal part of the slots then let leases expire.

A request is sent only if its longest visit ends within the lease of its slot. So a fetcher that was
frozen sends nothing under a slot that another fetcher may have.

The logic is pure: the caller passes the monotonic time and the answers of the store.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address, ip_network
from math import inf
from typing import Protocol
from zlib import crc32

from gossamer.cache import RecentlyUsed
from gossamer.clock import Clock
from gossamer.store import Row, Store
from gossamer.web.url import Site

CACHE_SIZE = 10_000
"""Sites whose last start is cached. More addresses than this are cached only while in use."""
MAX_ADDRESS_WAIT = 2.0
"""Seconds for which an order waits for its address before it is returned."""
REQUEST_SLOTS = 1 << 16
"""Number of slot numbers for requests of a slot."""
EVERY_ADDRESS = "*"
"""The key of slots that are leased for every address at once."""
COMMON_PART = 0.5
"""Fraction of a fleet's slots that are leased for every address at once."""
DURATION_WEIGHT = 0.2
"""Weight of the last request in the moving average of durations."""


class TooLate(Exception):
    """The request could outlast the lease if it waited. Nothing was reserved."""


class Denied(Exception):
    """The request must not be made now; *wait* is in how many seconds it may be made, or 0."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class SiteRateLimit:
    """Spaces the starts of visits to each site, and the requests that are sent to it."""

    def __init__(self) -> None:
        self._next_start = RecentlyUsed[Site, float](CACHE_SIZE)
        self._next_send = RecentlyUsed[Site, float](CACHE_SIZE)

    def reserve_start(self, site: Site, gap: float, now: float, left: float = inf) -> float:
        """Reserve the next start at *site*; return the seconds until then.

        The start after it is *gap* seconds later. *now* is monotonic. Raise TooLate if the wait is
        longer than *left* seconds.
        """
        start = max(now, self._next_start.get(site, now))
        if start - now > left:
            raise TooLate
        self._next_start[site] = start + gap
        return start - now

    def reserve_send(self, site: Site, gap: float, now: float, left: float = inf) -> float:
        """Return the seconds until a request may be sent to *site*; 0 if it is sent *now*.

        The request after it has to wait for *gap* seconds. *now* is monotonic. Raise TooLate if the
        wait is longer than *left* seconds, which may be negative.
        """
        wait = max(0.0, self._next_send.get(site, now) - now)
        if wait > left:
            raise TooLate
        if wait:
            return wait
        self._next_send[site] = now + gap
        # A request that was sent late delays the starts after it.
        self._next_start[site] = max(now + gap, self._next_start.get(site, now))
        return 0.0


@dataclass
class AddressState:
    """The state of an address."""

    leases: dict[int, float] = field(default_factory=dict)
    """Slot of this address → until when this fetcher has leased it."""
    in_use: set[int] = field(default_factory=set)
    """The slots of requests in flight."""
    next_start: float = 0.0
    last_attempt: float = 0.0
    """The latest time that was assigned to a returned order for its next attempt."""
    duration: float = 0.0
    """Moving average of the seconds that a request takes."""

    def is_unused(self, now: float) -> bool:
        """Return whether the state can be dropped. Its leases can be taken again."""
        return not self.in_use and max(self.next_start, self.last_attempt) <= now


class AddressLimits:
    """The limits of each address: *at_once* requests in flight, which start *gap* seconds apart.

    They start closer together if the delay of the host is shorter than *gap*. *visit_limit* is the
    maximum duration of a request in seconds.
    """

    def __init__(self, at_once: int, gap: float, visit_limit: float) -> None:
        self._at_once, self._gap, self._visit_limit = at_once, gap, visit_limit
        self._states = OrderedDict[str, AddressState]()
        self._common_leases = dict[int, float]()
        """Slot of every address → until when this fetcher has leased it."""

    def reserve_start(
        self, address: str, visits: int, delay: float, now: float, left: float = inf
    ) -> float:
        """Reserve the next start at *address*; return the seconds until then.

        The order has *visits* visits, *delay* seconds apart. Raise Denied if the start is more than
        MAX_ADDRESS_WAIT seconds away, TooLate if it is more than *left* seconds away.
        """
        state = self._state(address, now)
        start = max(now, state.next_start)
        if start - now > MAX_ADDRESS_WAIT:
            raise self.deny(address, visits, delay, now)
        if start - now > left:
            raise TooLate
        state.next_start = start + min(self._gap, delay)
        return start - now

    def acquire_slot(self, address: str, now: float) -> int | None:
        """Return a free slot whose lease lasts for two whole visits, and mark it as in use.

        Return None if there is no such slot. The lease covers the visit, and the wait before its
        request is sent.
        """
        state, least = self._state(address, now), now + 2 * self._visit_limit
        for expired in [slot for slot, until in state.leases.items() if until <= now]:
            if expired not in state.in_use:
                del state.leases[expired]
        long_enough = {s for s, until in self._leases_at(state).items() if until > least}
        slot = min(long_enough - state.in_use, default=None)
        if slot is not None:
            state.in_use.add(slot)
        return slot

    def slots_in_use(self, address: str, now: float) -> frozenset[int]:
        """Return the slots that requests hold now."""
        return frozenset(self._state(address, now).in_use)

    def send_before(self, address: str, slot: int, now: float) -> float:
        """Return when a request with *slot* must have been sent, so that it ends within the
        lease."""
        return self._leases_at(self._state(address, now))[slot] - self._visit_limit

    def add_lease(self, address: str, slot: int, until: float, now: float) -> None:
        """Record that this fetcher has leased *slot* until the monotonic time *until*."""
        is_common = address == EVERY_ADDRESS
        leases = self._common_leases if is_common else self._state(address, now).leases
        leases[slot] = until

    def release_slot(self, address: str, slot: int, duration: float, now: float) -> None:
        """Release *slot*, which a request has held for *duration* seconds."""
        state = self._state(address, now)
        state.in_use.discard(slot)
        state.duration += (duration - state.duration) * (DURATION_WEIGHT if state.duration else 1.0)

    def deny(self, address: str, visits: int, delay: float, now: float) -> Denied:
        """Return the denial of an order of *visits* visits, with the time of its next attempt."""
        state = self._state(address, now)
        start = max(state.last_attempt, now + MAX_ADDRESS_WAIT)
        per_visit = max(min(self._gap, delay), state.duration / self._at_once)
        state.last_attempt = start + visits * per_visit
        return Denied(f"many hosts share {address}, and its rate limit is reached", start - now)

    def count_spare_slots(self, address: str, now: float) -> int:
        """Return how many idle connections to *address* may be open."""
        state = self._state(address, now)
        leases = self._leases_at(state).values()
        return sum([until > now for until in leases]) - len(state.in_use)

    def _leases_at(self, state: AddressState) -> dict[int, float]:
        return self._common_leases | state.leases if state.leases else self._common_leases

    def _state(self, address: str, now: float) -> AddressState:
        state = self._states.get(address)
        if state is None:
            state = self._states[address] = AddressState()
        self._states.move_to_end(address)
        if len(self._states) > CACHE_SIZE:
            oldest, oldest_state = self._states.popitem(last=False)
            if not oldest_state.is_unused(now):
                self._states[oldest] = oldest_state
        return state


@lru_cache(maxsize=CACHE_SIZE)
def address_key(address: str) -> str:
    """Return the key of the limits for *address*: an IPv4 address, or an IPv6 /64 network.

    The key of an unknown address, "", is "".
    """
    if not address:
        return ""
    ip = ip_address(address.partition("%")[0])
    if ip.version == 4:
        return str(ip)
    return str(ip.ipv4_mapped or ip_network((ip, 64), strict=False))


class AddressSlot(Row, frozen=True):
    """A slot of an address, or of every address, and its fetcher; a number beyond the last slot
    requests a slot."""

    table = "address_slots"
    partition_key, sort_key = "address", "slot"
    holder = ("fetcher", "expires_at")
    about = ()

    address: str
    """An IPv4 address, an IPv6 /64 network, or `*` for every address."""
    slot: int
    fetcher: str
    expires_at: float


class SlotSource(Protocol):
    """Leases slots of addresses."""

    blocks: bool
    """Whether `acquire` waits for a store."""

    term: float
    """Seconds of the lease of a slot."""

    def acquire(self, address: str, in_use: Collection[int]) -> int | None:
        """Lease a slot of *address* for the term from now on; return its number.

        *address* may be EVERY_ADDRESS, whose numbers are others than those of each address. Return
        None if all slots are taken. *in_use* are the slots that this fetcher uses at an address.
        Raise Unavailable if the store is unavailable.
        """


class LocalSlots:
    """The slots of a single fetcher: *at_once* of every address, without a store."""

    blocks, term = False, inf

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once

    def acquire(self, address: str, in_use: Collection[int]) -> int | None:
        """See `SlotSource`."""
        slots = range(self._at_once) if address == EVERY_ADDRESS else ()
        return next((slot for slot in slots if slot not in in_use), None)


class LeasedSlots:
    """The slots of a fleet: leased in *store* for *term* seconds, by the fetcher *name*.

    A fetcher that has started again under its name uses the slots of its former process, which is
    dead. The clocks of the fetchers differ by at most *tolerance* seconds.
    """

    blocks = True

    def __init__(
        self, store: Store, name: str, at_once: int, clock: Clock, term: float, tolerance: float
    ) -> None:
        self._rows, self._clock = store.table(AddressSlot), clock
        common = int(at_once * COMMON_PART)
        self._common_slots, self._further_slots = range(common), range(common, at_once)
        self.term, self._tolerance = term, tolerance
        self._fetcher = name
        self._request_slot = at_once + crc32(name.encode()) % REQUEST_SLOTS
        """Slot number of the row by which this fetcher requests a slot."""

    def acquire(self, address: str, in_use: Collection[int]) -> int | None:
        """See `SlotSource`."""
        slots = self._common_slots if address == EVERY_ADDRESS else self._further_slots
        if not slots:
            return None
        now = self._clock()
        until, rows = now + self.term, {row.slot: row for row in self._rows.scan(address)}
        if len([slot for slot in in_use if slot in slots]) >= self._fair_share(rows, slots, now):
            return None
        for slot in slots:
            old, new = rows.get(slot), AddressSlot(address, slot, self._fetcher, until)
            if slot not in in_use and self._is_free(old, now) and self._write(new, old):
                return slot
        requested = rows.get(self._request_slot)
        if requested is None or requested.expires_at < now + self.term / 2:
            self._write(AddressSlot(address, self._request_slot, self._fetcher, until), requested)
        return None

    def _fair_share(self, rows: Mapping[int, AddressSlot], slots: range, now: float) -> int:
        """Return the number of *slots* for each fetcher that leases or requests one.

        It is rounded up unless another fetcher has none, so that no slot stays unused.
        """
        others = [row for row in rows.values() if not self._is_free(row, now)]
        all_others = {row.fetcher for row in others}
        have_slots = {row.fetcher for row in others if row.slot in slots}
        share, rest = divmod(len(slots), 1 + len(all_others))
        return max(1, share + (rest > 0 and have_slots == all_others))

    def _is_free(self, row: AddressSlot | None, now: float) -> bool:
        if row is None or row.fetcher == self._fetcher:
            return True
        return row.expires_at + self._tolerance <= now

    def _write(self, new: AddressSlot, old: AddressSlot | None) -> bool:
        if old:
            self._rows.replace(new, old)
        return self._rows.put_if_absent(new) == new
