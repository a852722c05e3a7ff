"""Politeness as a number: the smallest gap between two requests to one host, beside its delay.

Measured where requests start and end, and independent of what keeps them apart (the frontier,
`steps.py`), so that it shows a mistake in those. The gap is from the end of one request to the
start of the next, which is what the delay promises; requests that overlap have none.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from gossamer.telemetry import set_gauge

REMEMBERED = 10_000
"""Hosts whose last request is remembered; the one asked longest ago is forgotten first."""

logger = structlog.get_logger()


@dataclass
class Last:
    """When the last request to a host ended, and how many are under way."""

    ended_at: float = float("-inf")
    under_way: int = 0


class Gaps:
    """The gaps that one process leaves. *clock* is monotonic."""

    def __init__(self, clock: Callable[[], float], remembered: int = REMEMBERED) -> None:
        self._clock, self._remembered = clock, remembered
        self._hosts: OrderedDict[str, Last] = OrderedDict()
        self._smallest = float("inf")

    @contextmanager
    def request(self, host: str, delay: float) -> Iterator[None]:
        """Measure the gap before a request to *host*, which lasts as long as the block."""
        last = self._hosts.get(host)
        if last is None:
            last = self._hosts[host] = Last()
        self._hosts.move_to_end(host)
        if len(self._hosts) > self._remembered:
            self._hosts.popitem(last=False)
        self._measure(host, delay, 0.0 if last.under_way else self._clock() - last.ended_at)
        last.under_way += 1
        try:
            yield
        finally:
            last.under_way -= 1
            last.ended_at = self._clock()

    def _measure(self, host: str, delay: float, gap: float) -> None:
        if not delay or gap == float("inf"):
            return
        if gap / delay < self._smallest:
            self._smallest = gap / delay
            set_gauge("gossamer_smallest_gap_ratio", self._smallest)
        if gap < delay:
            logger.warning("asked too soon", host=host, gap=gap, delay=delay)
