"""How many pages of a host that cannot be read are kept as dead letters.

One is enough to see why, each may be megabytes, and a host may have nothing else.
"""

from collections import OrderedDict

HOSTS = 10_000
"""Most hosts that are remembered: those that failed last."""


class Letters:
    """Counts the pages of each host: *limit* of them are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = OrderedDict[str, int]()

    def are_wanted(self, host: str) -> bool:
        """Count one page more of *host*; return whether it is to be kept."""
        self._kept[host] = kept = self._kept.pop(host, 0) + 1
        if len(self._kept) > HOSTS:
            self._kept.popitem(last=False)
        return kept <= self._limit
