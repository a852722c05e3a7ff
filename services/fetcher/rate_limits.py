"""Turns: when the next request may go to a site, and to an address that many hosts share.

Sites. A few hosts of a site are checked out at once, and each order keeps its own pause. All orders
of a site that are unanswered at one time come to one partition, and so to one fetcher, which keeps
the starts of visits apart (`Starts`). A partition that moves from one fetcher to another may break
that for a moment; the pause of each host does not depend on it. A visit takes its turn before its
name is looked up and its connection is made, so that connections do not wait. That may take long,
and so the gap is enforced once more when the request is sent.

Addresses. However many hosts share an address, which is a /64 network in IPv6, one machine serves
them all (`Crowds`). A few requests to it are under way at once, over all fetchers, and those of one
fetcher start a little apart. An order that would have to wait for long goes back with the time at
which it may come again, as if all orders that were sent away stood in one queue, of which the
address serves as many a second as it was measured to serve. So a host with thousands of sites is
asked as fast as it allows, no site is starved, and no order holds up orders to other addresses.

Slots. Each request to an address takes a slot. A fetcher that is alone counts for itself. Fetchers
of a fleet lease slots from the store, each for a while, and ask for none that another has. So the
slots of a dead fetcher are free when its lease is over, by any clock that does not differ by more
than is tolerated. A fetcher that finds no slot leaves a row that says it wants one, and fetchers
that have more than their share then do not lease theirs anew.

The logic is pure: it is given the monotonic time and the answers of the store.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address, ip_network
from math import inf
from typing import Protocol
from uuid import uuid4

from gossamer.clock import Clock
from gossamer.store import Row, Store

REMEMBERED = 10_000
"""Sites whose last start is remembered, and addresses, unless more of these are in use."""
PATIENCE = 2.0
"""Seconds that an order is held for its turn at an address."""
RECENT = 0.2
"""How much the last request counts for how long one takes."""


class TooLate(Exception):
    """The turn would come when the lease could end under the request. Nothing was taken."""


class Denied(Exception):
    """The request must not be made now; *wait* is in how many seconds it may be, if not 0."""

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait


class Starts:
    """When the next visit to each site may start, and its request be sent."""

    def __init__(self) -> None:
        self._next = OrderedDict[str, float]()
        self._free = OrderedDict[str, float]()
        """When the next request may be sent."""

    def wait(self, site: str, gap: float, now: float, left: float = inf) -> float:
        """Take the next turn at *site*, *gap* seconds before the one after it; return how many
        seconds it is until then. *now* is monotonic.

        Raise TooLate if that is more than *left*.
        """
        start = max(now, self._next.get(site, now))
        if start - now > left:
            raise TooLate
        _note(self._next, site, start + gap)
        return start - now

    def hold(self, site: str, gap: float, now: float, left: float = inf) -> float:
        """Return for how many seconds a request to *site* has to wait; 0: it is sent *now*.

        The request after it has to wait for *gap* seconds. *now* is monotonic. Raise TooLate if the
        wait is more than *left*, which may be negative.
        """
        wait = max(0.0, self._free.get(site, now) - now)
        if wait > left:
            raise TooLate
        if wait:
            return wait
        _note(self._free, site, now + gap)
        # A request that was sent late moves the turns after it.
        _note(self._next, site, max(now + gap, self._next.get(site, now)))
        return 0.0


def _note(times: OrderedDict[str, float], site: str, at: float) -> None:
    times[site] = at
    times.move_to_end(site)
    if len(times) > REMEMBERED:
        times.popitem(last=False)


@dataclass
class Crowd:
    """The state of an address."""

    leases: dict[int, float] = field(default_factory=dict)
    """Slot → until when it is ours."""
    in_use: set[int] = field(default_factory=set)
    next_start: float = 0.0
    promised: float = 0.0
    """When the last of those who were sent away may come."""
    took: float = 0.0
    """Seconds that a request takes."""

    def is_over(self, now: float) -> bool:
        """Return whether nothing of it matters any more; what it has leased can be had again."""
        return not self.in_use and max(self.next_start, self.promised) <= now


class Crowds:
    """The turns at each address: *at_once* requests, which start *gap* seconds apart, or closer
    where the host's own delay is less.

    *visit_limit* is the most seconds that a request may take.
    """

    def __init__(self, at_once: int, gap: float, visit_limit: float) -> None:
        self._at_once, self._gap, self._visit_limit = at_once, gap, visit_limit
        self._crowds = OrderedDict[str, Crowd]()

    def arrive(
        self, address: str, visits: int, delay: float, now: float, left: float = inf
    ) -> float:
        """Take the next turn; return the seconds until then. The order has *visits* visits,
        *delay* seconds apart.

        Raise Denied if the turn is more than PATIENCE away, TooLate if it is more than *left* away.
        """
        crowd = self._of(address, now)
        start = max(now, crowd.next_start)
        if start - now > PATIENCE:
            raise self.later(address, visits, delay, now)
        if start - now > left:
            raise TooLate
        crowd.next_start = start + min(self._gap, delay)
        return start - now

    def enter(self, address: str, now: float) -> int | None:
        """Return a free slot whose lease lasts long enough, and take it; None if all are in use."""
        crowd = self._of(address, now)
        for over in [s for s, until in crowd.leases.items() if until <= now]:
            if over not in crowd.in_use:
                del crowd.leases[over]
        long_enough = {s for s, until in crowd.leases.items() if until > now + self._visit_limit}
        slot = min(long_enough - crowd.in_use, default=None)
        if slot is not None:
            crowd.in_use.add(slot)
        return slot

    def in_use(self, address: str, now: float) -> frozenset[int]:
        """Return the slots that requests have now."""
        return frozenset(self._of(address, now).in_use)

    def leased(self, address: str, slot: int, until: float, now: float) -> None:
        """A slot is ours *until* then."""
        self._of(address, now).leases[slot] = until

    def leave(self, address: str, slot: int, took: float, now: float) -> None:
        """Give a slot back, which was in use for so long."""
        crowd = self._of(address, now)
        crowd.in_use.discard(slot)
        crowd.took += (took - crowd.took) * (RECENT if crowd.took else 1.0)

    def later(self, address: str, visits: int, delay: float, now: float) -> Denied:
        """Return the denial of an order of *visits* visits, with the time of its next attempt."""
        crowd = self._of(address, now)
        start = max(crowd.promised, now + PATIENCE)
        crowd.promised = start + visits * max(min(self._gap, delay), crowd.took / self._at_once)
        return Denied(f"many hosts share {address}, and others have their turn", start - now)

    def spare(self, address: str, now: float) -> int:
        """Return how many connections may be open that no request uses."""
        crowd = self._of(address, now)
        return sum(until > now for until in crowd.leases.values()) - len(crowd.in_use)

    def _of(self, address: str, now: float) -> Crowd:
        crowd = self._crowds.get(address)
        if crowd is None:
            crowd = self._crowds[address] = Crowd()
        self._crowds.move_to_end(address)
        if len(self._crowds) > REMEMBERED:
            oldest, about = self._crowds.popitem(last=False)
            if not about.is_over(now):
                self._crowds[oldest] = about
        return crowd


@lru_cache(maxsize=REMEMBERED)
def crowd_of(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 network of an IPv6 one; what
    is not known ("") counts as itself."""
    if not address:
        return ""
    ip = ip_address(address.partition("%")[0])
    if ip.version == 4:
        return str(ip)
    return str(ip.ipv4_mapped or ip_network((ip, 64), strict=False))


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
        """Lease a slot of *address*; return its number and the seconds of the lease.

        None if all slots are taken. *in_use* are the slots that this fetcher uses. Raise
        Unavailable if the store is.
        """


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
