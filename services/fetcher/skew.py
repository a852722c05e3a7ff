"""How far this clock is from that of the frontiers, as far as orders show it.

An order says when it was made, by its frontier's clock. One that seems to come from the future
proves that this clock is behind: then the leases of its epoch are reckoned by the frontier's.
One that seems old has waited, or this clock is ahead: the youngest of some orders tells the two
apart best. Leases end early then, and no order is begun whose lease seems over.
"""

from collections import deque

from gossamer.telemetry import set_gauge
from services.fetcher.hindrances import Hindrances

ORDERS = 20
"""Of so many orders the youngest counts."""
EPOCHS = 1000
"""So many of them are remembered."""
MEMORY = 300.0
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
        if not 0.0 <= now - seen_at < MEMORY:
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
        set_gauge("gossamer_clock_skew_seconds", youngest)
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
