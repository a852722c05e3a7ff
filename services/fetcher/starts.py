"""The starts of visits to one site, kept apart whichever its hosts are.

A few hosts of a site are checked out at once, and each order keeps its own pause. All orders of a
site that are unanswered at one time come to one partition, and so to one fetcher, which sees to it
that visits do not start together; the next ones go elsewhere only after a gap. While a partition
moves from one fetcher to another there may be a moment when it does not: the pause of each host
does not hang on this.

A visit takes its turn before its name is looked up and its connection is made, so that connections
do not wait. That may take long, and so the gap is enforced once more when the request is sent.
"""

from collections import OrderedDict

REMEMBERED = 10_000
"""Sites of which is known when a visit started last; the one asked longest ago is forgotten."""


class Starts:
    """When the next visit to each site may start, and its request be sent."""

    def __init__(self) -> None:
        self._next = OrderedDict[str, float]()
        self._free = OrderedDict[str, float]()
        """When the next request may be sent."""

    def wait(self, site: str, gap: float, now: float) -> float:
        """Take the next turn at *site*, *gap* seconds before the one after it; return how many
        seconds it is until then. *now* is monotonic."""
        start = max(now, self._next.get(site, now))
        _note(self._next, site, start + gap)
        return start - now

    def hold(self, site: str, gap: float, now: float) -> float:
        """Return for how many seconds a request to *site* has to wait; 0: it is sent *now*.

        The one after it has to wait for *gap* seconds. *now* is monotonic.
        """
        if (wait := self._free.get(site, now) - now) > 0:
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
