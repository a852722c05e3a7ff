"""Limitations of this fetcher that no host is to blame for: local faults, outages, clock skew.

Each kind of limitation is reported when it begins and when it ends: in the log, in the metric
`gossamer_fetcher_local_limitation`, and in the readiness of the process.

Local faults. A request cannot be made, for example because the process has no file descriptors left
or the machine has no network. The order is returned, and its host is not blamed. The fetcher backs
off from all orders, longer each time, until a request reaches the Web again.

Outages. If most sites fail at the same time, the fault is on this side. Each site counts once,
however often it is tried. During an outage the fetcher backs off and so tries little, so an outage
lasts until a request succeeds or until `MAX_OUTAGE_SECONDS` are over.

Clock skew. An order states when it was made, by the clock of its frontier. An order from the future
proves that this clock is behind; the leases of its epoch are then computed with the frontier's
clock. An old order has waited, or this clock is ahead. If even the youngest of the last orders is
old, this clock is probably ahead. If this clock is ahead, leases end early, and no order is begun
whose lease seems to be over.
"""

import errno
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import islice
from math import inf

import structlog

from gossamer.cache import RecentlyUsed
from gossamer.errors import retry_waits
from gossamer.telemetry import set_gauge
from gossamer.web.url import Site

logger = structlog.get_logger()

ShowLimitations = Callable[[str], None]
"""Receives the current limitations as one text; "" for none."""


class Limitations:
    """The current limitations: a sentence for each kind."""

    def __init__(self, show: ShowLimitations) -> None:
        self._show, self._sentences = show, dict[str, str]()

    def report(self, kind: str, reason: str) -> None:
        """Set the sentence *reason* of the limitation *kind*; "" ends the limitation."""
        before = self._sentences.pop(kind, "")
        if reason:
            self._sentences[kind] = reason
        if reason and not before:
            logger.error("limitation of the fetcher began", kind=kind, reason=reason)
        if before and not reason:
            logger.warning("limitation of the fetcher ended", kind=kind)
        if bool(reason) != bool(before):
            set_gauge("gossamer_fetcher_local_limitation", bool(reason), kind=kind)
        self._show("; ".join(self._sentences.values()))


FILES = "this process has no file descriptors left"
MEMORY = "this machine has no memory left for sockets"
NETWORK = "this machine has no connection to the Internet"
FAULTS = {
    errno.EMFILE: FILES,
    errno.ENFILE: FILES,
    errno.EADDRNOTAVAIL: "this machine has no ports left",
    errno.ENOBUFS: MEMORY,
    errno.ENOMEM: MEMORY,
    errno.ENETUNREACH: NETWORK,
    errno.ENETDOWN: NETWORK,
}
"""errno → sentence about the local fault."""
NO_NAME_SERVER = "no name server can be reached"


class LocalFault(OSError):
    """A request could not be made because of a fault on this side; the text names the fault."""


def local_fault(error: OSError, addresses: tuple[str, ...]) -> LocalFault | None:
    """Return the local fault that *error* shows, or None; *addresses* are those of the host."""
    if isinstance(error, LocalFault):
        return error
    reason = FAULTS.get(error.errno or 0)
    # Many machines have no IPv6 connection, which is not a fault.
    if reason is None or (reason is NETWORK and all(":" in address for address in addresses)):
        return None
    return LocalFault(f"{reason} ({error.strerror or error})")


class LocalBackoff:
    """While it is active, the fetcher begins no order, because of a local fault."""

    def __init__(self, limitations: Limitations) -> None:
        self._limitations = limitations
        self._until, self._waits = 0.0, retry_waits()

    def record_fault(self, fault: LocalFault, now: float) -> None:
        """Back off because of *fault*. Faults during a backoff do not extend it."""
        self._limitations.report("network", str(fault))
        if now >= self._until:
            self._until = now + next(self._waits)

    def record_request(self) -> None:
        """End the backoff, because a request was made."""
        if self._until:
            self._until, self._waits = 0.0, retry_waits()
            self._limitations.report("network", "")

    def is_active(self, now: float) -> bool:
        """Return whether the fetcher must not begin an order."""
        return now < self._until


MIN_SITES = 50
"""Sites that must have been tried in the window before an outage can be detected."""
WINDOW_SECONDS = 60.0
"""Seconds for which the result of a site counts."""
QUIET_SECONDS = 10.0
"""Seconds without a success before failed connections can be an outage. Many dead links time out in
one instant, while other sites answer. Connections of an outage take as long to fail."""
MAX_OUTAGE_SECONDS = 600.0
"""Seconds after which an outage is treated as over, until it is detected again: perhaps only sites
that are really down are left."""


class Outage:
    """Detects an outage: at least the fraction *share* of the tried sites fails, and so do the last
    `MIN_SITES`. While one answers, or did so within the last *quiet* seconds, the others are down
    themselves, as the targets of dead links."""

    def __init__(self, share: float, quiet: float = 0.0) -> None:
        self._share, self._quiet, self._succeeded_at = share, quiet, -inf
        self._results: OrderedDict[Site, tuple[float, bool]] = OrderedDict()
        self._failures, self._began_at = 0, 0.0
        self.is_active = False

    def record(self, site: Site, failed: bool, now: float) -> bool:
        """Record the result of a request to *site*; return whether an outage begins."""
        self._drop(site)
        self._results[site] = now, failed
        self._failures += failed
        while self._results and next(iter(self._results.values()))[0] <= now - WINDOW_SECONDS:
            self._drop(next(iter(self._results)))
        if not failed:
            self._succeeded_at = now
        was_active = self.is_active
        if len(self._results) >= MIN_SITES:
            self.is_active = (
                self._failures >= self._share * len(self._results)
                and now - self._succeeded_at >= self._quiet
                and all(failed for _, failed in islice(reversed(self._results.values()), MIN_SITES))
            )
        elif not failed:
            self.is_active = False
        if self.is_active and not was_active:
            self._began_at = now
        if self.is_active and now > self._began_at + MAX_OUTAGE_SECONDS:
            self.is_active, self._failures = False, 0
            self._results.clear()
        return self.is_active and not was_active

    def _drop(self, site: Site) -> None:
        _, failed = self._results.pop(site, (0.0, False))
        self._failures -= failed


AGE_SAMPLE_SIZE = 20
"""Number of the last orders, of which the youngest shows the clock skew."""
EPOCH_CACHE_SIZE = 1000
"""Epochs whose clock skew is cached."""
SKEW_TTL_SECONDS = 300.0
"""Seconds for which a measured skew counts: no order waits longer, and clocks may be corrected."""


class ClockSkew:
    """The skew between this clock and the frontiers'. More than *large* seconds are reported."""

    def __init__(self, large: float, limitations: Limitations) -> None:
        self._large, self._limitations = large, limitations
        self._ages: deque[float] = deque(maxlen=AGE_SAMPLE_SIZE)
        self._leads = RecentlyUsed[int, tuple[float, float]](EPOCH_CACHE_SIZE)
        """Epoch → seconds by which its frontier's clock is ahead, and the time of the measurement.
        An epoch belongs to one frontier, and so to one clock."""

    def seconds_ahead(self, epoch: int, made_at: float, now: float) -> float:
        """Return by how many seconds the clock of the frontier is certainly ahead.

        The frontier made an order at *made_at*. An order that has waited proves less than an order
        that came at once, so the largest lead counts.
        """
        lead, seen_at = self._leads.get(epoch, (0.0, now))
        if not 0.0 <= now - seen_at < SKEW_TTL_SECONDS:
            lead = 0.0
        if made_at - now >= lead:
            lead, seen_at = max(0.0, made_at - now), now
        self._leads[epoch] = lead, seen_at
        return lead

    def record_order(self, made_at: float, now: float) -> None:
        """Record the age of an order that was made at *made_at* by its frontier's clock."""
        self._ages.append(now - made_at)
        youngest = min(self._ages)
        set_gauge("gossamer_clock_skew_seconds", youngest)
        self._limitations.report("clock", self._sentence(youngest))

    def _sentence(self, youngest: float) -> str:
        if youngest < -self._large:
            return f"its clock is {-youngest:.0f} s behind a frontier's"
        if youngest > self._large and len(self._ages) == AGE_SAMPLE_SIZE:
            return (
                f"its clock is ahead of the frontiers', or orders wait too long: the youngest of "
                f"the last {AGE_SAMPLE_SIZE} was {youngest:.0f} s old"
            )
        return ""
