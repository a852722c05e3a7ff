"""Pacing: no more is ordered than the crawl's page limit and its speed allow (`gossamer.speed`).

Each frontier has the share of the speed that its partitions are of all; so all of them together
keep to it, and nobody asks anybody. A visit is paid for when it is ordered, and takes its time of
the second: what is ordered next has to wait so long. Its bytes are known only afterwards: it pays
for as many as a visit has brought on the average, and the difference when it has ended.
"""

from collections.abc import Iterator
from math import inf

from gossamer.events import CrawlDefined, SpeedSet
from gossamer.speed import NO_LIMIT, Speeds
from services.frontier.partitions import Partitions

MANY = 1 << 60
BURST = 1.0
"""Seconds that may be made up for, where nothing could be ordered."""
GUESS = 30_000.0
"""Bytes of a visit, as long as there was none."""


class Pacing:
    """When a frontier that has claimed *partitions* may order how many visits."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions, self._speeds = partitions, Speeds()
        self._speed, self._share, self._until = NO_LIMIT, 1.0, 0.0
        self._pages_at = self._bytes_at = 0.0
        """When all is paid for that was ordered, and that came."""

    def change(self, event: SpeedSet) -> None:
        """Go by what is set from now on."""
        self._speeds.change(event)
        self._speed, self._until = NO_LIMIT, 0.0

    def look(self, now: float) -> None:
        """Go by the time, and by the share that is ours now."""
        share = len(self._partitions) / self._partitions.in_all
        if now < self._until and share == self._share:
            return
        speed = self._speeds.at(now)
        if (speed, share) != (self._speed, self._share):
            self._speed, self._share = speed, share
            self._pages_at = self._bytes_at = now
        self._until = self._speeds.until(now)

    @property
    def next_at(self) -> float:
        """When more may be ordered, or another speed may be in force."""
        return min(self._until, self._free_at) if self._limited else 0.0

    @property
    def _limited(self) -> bool:
        return self._speed.pages is not None or self._speed.bytes is not None

    @property
    def _free_at(self) -> float:
        at = self._pages_at if self._speed.pages is not None else 0.0
        at = max(at, self._bytes_at if self._speed.bytes is not None else 0.0)
        return inf if 0 in (self._speed.pages, self._speed.bytes) else at

    def orderable(self, crawl: CrawlDefined | None) -> int:
        """Return how many URLs may be ordered, by pause and page limit."""
        if crawl is None or crawl.paused or not self._partitions.caught_up:
            return 0
        if not crawl.max_pages:
            return MANY
        pages = sum(one.tally.pages + one.bench.outstanding for one in self._partitions)
        return max(0, crawl.pages_before + crawl.max_pages - pages)

    def room(self, crawl: CrawlDefined, now: float) -> int:
        """Return how many visits an order may have now: at most those of a second, for they are all
        paid for at once."""
        most = self.orderable(crawl)
        if not (self._limited and most):
            return most
        if self._free_at > now:
            return 0
        rates = [most, *self._rates()]
        return max(1, int(min(rates)))

    def ordered(self, visits: int, now: float) -> None:
        """Pay for *visits*."""
        if self._speed.pages:
            since = max(self._pages_at, now - BURST)
            self._pages_at = since + visits / (self._speed.pages * self._share)
        if self._speed.bytes:
            since = max(self._bytes_at, now - BURST)
            self._bytes_at = since + visits * self._size() / (self._speed.bytes * self._share)

    def ended(self, received: int) -> None:
        """Pay what a visit has brought more than was expected, or less."""
        if self._speed.bytes:
            self._bytes_at += (received - self._size()) / (self._speed.bytes * self._share)

    def _rates(self) -> Iterator[float]:
        """Yield the visits a second that pages and bytes allow."""
        if self._speed.pages is not None:
            yield self._speed.pages * self._share
        if self._speed.bytes is not None:
            yield self._speed.bytes * self._share / self._size()

    def _size(self) -> float:
        """Return how many bytes a visit has brought on the average."""
        visits = sum(one.tally.outcomes.total() for one in self._partitions)
        received = sum(one.tally.received for one in self._partitions)
        return received / visits if received else GUESS
