"""Faults of our own: what keeps a request from being made, and is no host's doing.

An order that meets one is handed back: its host has seen nothing, and is not blamed. The fetcher
begins no order for a while, longer each time, until a request gets as far as the Web again.
"""

import errno

from gossamer.retries import waits
from services.fetcher.hindrances import Hindrances

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
