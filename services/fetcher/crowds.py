"""Crowds: hosts that share an address. However many they are, one machine serves them all.

Of an address, which is a /64 network in IPv6, a few requests are under way at once, over all
fetchers, and those of one fetcher start a little apart. Each takes a slot, which is leased for a
while from the store (`slots.py`). Who would have to wait for long gives its order back and is told
when to come again: as if all who were told so stood in a queue, of which the address serves so many
a second as it was seen to. So a host with thousands of sites is asked as fast as that allows, none
of them is starved, and none holds up those at other addresses meanwhile.

Pure: told the time, which is monotonic, and what the store says.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address, ip_network

PATIENCE = 2.0
"""Seconds that an order is held for its turn at an address."""
REMEMBERED = 10_000
"""Addresses of which anything is known, unless more are in use."""
RECENT = 0.2
"""How much the last request counts for how long one takes."""


class Crowded(Exception):
    """The turn at an address is too far away; *wait* is in how many seconds it may come."""

    def __init__(self, why: str, wait: float) -> None:
        super().__init__(why)
        self.wait = wait


@dataclass
class Crowd:
    """What is known of an address."""

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

    def arrive(self, address: str, visits: int, delay: float, now: float) -> float:
        """Return the seconds until the turn of an order with so many *visits* to make, *delay*
        seconds apart.

        Raise Crowded if these are too many.
        """
        crowd = self._of(address, now)
        start = max(now, crowd.next_start)
        if start - now > PATIENCE:
            raise self.later(address, visits, delay, now)
        crowd.next_start = start + min(self._gap, delay)
        return start - now

    def enter(self, address: str, now: float) -> int | None:
        """Take a slot that is leased for long enough; None if there is none."""
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

    def later(self, address: str, visits: int, delay: float, now: float) -> Crowded:
        """Return when an order may come again that has so many *visits* to make."""
        crowd = self._of(address, now)
        start = max(crowd.promised, now + PATIENCE)
        crowd.promised = start + visits * max(min(self._gap, delay), crowd.took / self._at_once)
        return Crowded(f"many hosts share {address}, and others have their turn", start - now)

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
