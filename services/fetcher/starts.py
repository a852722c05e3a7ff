"""The starts of visits to one site, kept apart whichever its hosts are.

A few hosts of a site are checked out at once, and each order keeps its own pause. All orders of a
site that are unanswered at one time come to one partition, and so to one fetcher, which sees to it
that visits do not start together; the next ones go elsewhere only after a gap. While a partition
moves from one fetcher to another there may be a moment when it does not: the pause of each host
does not hang on this.
"""

from collections import OrderedDict

REMEMBERED = 10_000
"""Sites of which is known when a visit started last; the one asked longest ago is forgotten."""


class Starts:
    """When the next visit to each site may start."""

    def __init__(self) -> None:
        self._next = OrderedDict[str, float]()

    def wait(self, site: str, gap: float, now: float) -> float:
        """Take the next turn at *site*, *gap* seconds before the one after it; return how many
        seconds it is until then. *now* is monotonic."""
        start = max(now, self._next.pop(site, now))
        self._next[site] = start + gap
        if len(self._next) > REMEMBERED:
            self._next.popitem(last=False)
        return start - now
