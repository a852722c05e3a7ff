"""What keeps this fetcher from its work though nothing on the Web is to blame: clock, network.

Each kind is told once when it begins and once when it is over: in the log, and to whoever shows
readiness.

Faults of our own: what keeps a request from being made, and is no host's doing.

An order that meets one is handed back: its host has seen nothing, and is not blamed. The fetcher
begins no order for a while, longer each time, until a request gets as far as the Web again.

Whether most of what is tried fails, at whoever it is: then it is our outage, and nobody's fault.

A host that is down, a zone whose name servers are broken: each counts once, however often it is
tried. While so many fail that it cannot be they, nothing is begun for a while, and so little is
tried; so an outage lasts until something succeeds, or until it is time to look anew.

How far this clock is from that of the frontiers, as far as orders show it.

An order says when it was made, by its frontier's clock. One that seems to come from the future
proves that this clock is behind: then the leases of its epoch are reckoned by the frontier's.
One that seems old has waited, or this clock is ahead: the youngest of some orders tells the two
apart best. Leases end early then, and no order is begun whose lease seems over.
"""

import errno
from collections import OrderedDict, deque
from collections.abc import Callable

import structlog

from gossamer.retries import waits
from gossamer.telemetry import gauge

logger = structlog.get_logger()

Tell = Callable[[str], None]
"""Takes all that hinders at the moment, in words; "" for nothing."""


class Hindrances:
    """By kind, a sentence on what hinders."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._known = tell, dict[str, str]()

    def report(self, kind: str, why: str) -> None:
        """Take in that *kind* hinders, because of *why*; "" says that it does no longer."""
        began, over = why and kind not in self._known, kind in self._known and not why
        if began:
            logger.error("hindered", kind=kind, why=why)
        if over:
            logger.warning("hindered no longer", kind=kind)
        self._known = {**self._known, kind: why} if why else self._without(kind)
        if began or over:
            gauge("gossamer_fetcher_hindered", bool(why), kind=kind)
        self._tell("; ".join(self._known.values()))

    def _without(self, kind: str) -> dict[str, str]:
        return {other: why for other, why in self._known.items() if other != kind}


FILES = "this process has no file descriptors left"
MEMORY = "this machine has no memory left for sockets"
NETWORK = "this machine has no way to the Internet"
FAULTS = {
    errno.EMFILE: FILES,
    errno.ENFILE: FILES,
    errno.EADDRNOTAVAIL: "this machine has no ports left",
    errno.ENOBUFS: MEMORY,
    errno.ENOMEM: MEMORY,
    errno.ENETUNREACH: NETWORK,
    errno.ENETDOWN: NETWORK,
}
"""Error → the sentence on what is wrong."""
NO_NAME_SERVER = "no name server can be reached"


class OwnFault(OSError):
    """A request could not be made, and that is our fault; the text says what is wrong."""


def own_fault(error: OSError, addresses: tuple[str, ...]) -> OwnFault | None:
    """Return the fault of ours that *error* shows, if any; *addresses* are those of the host."""
    if isinstance(error, OwnFault):
        return error
    why = FAULTS.get(error.errno or 0)
    # Many machines reach no IPv6 address, and do not see it as a fault.
    if why is None or (why is NETWORK and all(":" in address for address in addresses)):
        return None
    return OwnFault(f"{why} ({error.strerror or error})")


class Pauses:
    """Whether no order is to be begun, for faults of our own."""

    def __init__(self, hindrances: Hindrances) -> None:
        self._hindrances = hindrances
        self._until, self._waits = 0.0, waits()

    def failed(self, fault: OwnFault, now: float) -> None:
        """Take in that none could be made; what fails during a pause makes it no longer."""
        self._hindrances.report("network", str(fault))
        if now >= self._until:
            self._until = now + next(self._waits)

    def worked(self) -> None:
        """Take in that one could, whatever came of it."""
        if self._until:
            self._until, self._waits = 0.0, waits()
            self._hindrances.report("network", "")

    def last(self, now: float) -> bool:
        """Return whether the pause is not over."""
        return now < self._until


LEAST = 50
"""Sites that must have been tried of late, or nothing can be said."""
WINDOW = 60.0
"""Seconds that are of late."""
LONGEST = 600.0
"""Seconds after which an outage is taken for over, for it to show again: there may be nobody left
but those who really are dead."""


class Outage:
    """An outage is where at least *share* of all sites fail."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._tried: OrderedDict[str, tuple[float, bool]] = OrderedDict()
        self._failed, self._began_at = 0, 0.0
        self.is_out = False

    def tried(self, site: str, failed: bool, now: float) -> bool:
        """Take in how it went at *site*; return whether an outage begins."""
        self._forget(site)
        self._tried[site] = now, failed
        self._failed += failed
        while self._tried and next(iter(self._tried.values()))[0] <= now - WINDOW:
            self._forget(next(iter(self._tried)))
        before = self.is_out
        if len(self._tried) >= LEAST:
            self.is_out = self._failed >= self._share * len(self._tried)
        elif not failed:
            self.is_out = False
        if self.is_out and not before:
            self._began_at = now
        if self.is_out and now > self._began_at + LONGEST:
            self.is_out, self._failed = False, 0
            self._tried.clear()
        return self.is_out and not before

    def _forget(self, site: str) -> None:
        _, failed = self._tried.pop(site, (0.0, False))
        self._failed -= failed


ORDERS = 20
"""Of so many orders the youngest counts."""
EPOCHS = 1000
"""So many of them are remembered."""
SKEW_MEMORY = 300.0
"""Seconds for which it counts: an order waits no longer, and a clock may be put right."""


class ClockSkew:
    """The ages of the last orders. More than *large* seconds of skew are a hindrance."""

    def __init__(self, large: float, hindrances: Hindrances) -> None:
        self._large, self._hindrances = large, hindrances
        self._ages: deque[float] = deque(maxlen=ORDERS)
        self._ahead: dict[int, tuple[float, float]] = {}
        """By epoch, which is one frontier with one clock: by how much, and when that was seen."""

    def ahead(self, epoch: int, made_at: float, now: float) -> float:
        """Return by how much the clock of the frontier that made an order is certainly ahead.

        An order that has waited proves less than one that had come at once.
        """
        known, seen_at = self._ahead.pop(epoch, (0.0, now))
        if not 0.0 <= now - seen_at < SKEW_MEMORY:
            known = 0.0
        if made_at - now >= known:
            known, seen_at = max(0.0, made_at - now), now
        self._ahead[epoch] = known, seen_at
        if len(self._ahead) > EPOCHS:
            del self._ahead[next(iter(self._ahead))]
        return known

    def met(self, made_at: float, now: float) -> None:
        """Take in an order that was made at *made_at*, by its frontier's clock."""
        self._ages.append(now - made_at)
        youngest = min(self._ages)
        gauge("gossamer_clock_skew_seconds", youngest)
        self._hindrances.report("clock", self._sentence(youngest))

    def _sentence(self, youngest: float) -> str:
        if youngest < -self._large:
            return f"its clock is {-youngest:.0f} s behind a frontier's"
        if youngest > self._large and len(self._ages) == ORDERS:
            return (
                f"its clock is ahead of the frontiers', or orders wait too long: the youngest of "
                f"the last {ORDERS} was {youngest:.0f} s old"
            )
        return ""
