"""How far this clock is from that of the frontiers, as far as orders show it.

An order says when it was made, by its frontier's clock. One that seems to come from the future
proves that this clock is behind: then the order's lease is reckoned by the frontier's (`ahead_of`).
One that seems old has waited, or this clock is ahead: the youngest of some orders tells the two
apart best. Leases end early then, and no order is begun whose lease seems over.
"""

from collections import deque

from gossamer.telemetry import gauge
from services.fetcher.hindrances import Hindrances

ORDERS = 20
"""Of so many orders the youngest counts."""


def ahead_of(made_at: float, now: float) -> float:
    """Return by how much the clock that said *made_at* is certainly ahead of the one of *now*."""
    return max(0.0, made_at - now)


class ClockSkew:
    """The ages of the last orders. More than *large* seconds of skew are a hindrance."""

    def __init__(self, large: float, hindrances: Hindrances) -> None:
        self._large, self._hindrances = large, hindrances
        self._ages: deque[float] = deque(maxlen=ORDERS)

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
