"""Whether most of what is tried fails, at whoever it is: then it is our outage, and nobody's fault.

A host that is down, a zone whose name servers are broken: each counts once, however often it is
tried. While so many fail that it cannot be they, nothing is begun for a while, and so little is
tried; so an outage lasts until something succeeds, or until it is time to look anew.
"""

from collections import OrderedDict

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
