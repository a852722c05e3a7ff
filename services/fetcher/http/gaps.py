"""Measures politeness: the smallest gap between two requests to one host, divided by its delay.

The gap is measured where requests start and end, and does not depend on the code that keeps them
apart (the frontier, `steps.py`), so that it shows a mistake in that code. A gap is from the end of
a request to the start of the next, as the delay is defined. The gap of overlapping requests is 0.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from gossamer.telemetry import set_gauge

HOST_CACHE_SIZE = 10_000
"""Hosts whose last request is cached; the host requested longest ago is dropped first."""

logger = structlog.get_logger()


@dataclass
class LastRequest:
    """When the last request to a host ended, and how many are in flight."""

    ended_at: float = float("-inf")
    in_flight: int = 0


class GapMeter:
    """Measures the gaps between the requests of one process. *clock* is monotonic."""

    def __init__(self, clock: Callable[[], float], cache_size: int = HOST_CACHE_SIZE) -> None:
        self._clock, self._cache_size = clock, cache_size
        self._hosts: OrderedDict[str, LastRequest] = OrderedDict()
        self._smallest = float("inf")

    @contextmanager
    def request(self, host: str, delay: float) -> Iterator[None]:
        """Measure the gap before a request to *host*, which lasts as long as the block."""
        last = self._hosts.get(host)
        if last is None:
            last = self._hosts[host] = LastRequest()
        self._hosts.move_to_end(host)
        if len(self._hosts) > self._cache_size:
            self._hosts.popitem(last=False)
        self._measure(host, delay, 0.0 if last.in_flight else self._clock() - last.ended_at)
        last.in_flight += 1
        try:
            yield
        finally:
            last.in_flight -= 1
            last.ended_at = self._clock()

    def _measure(self, host: str, delay: float, gap: float) -> None:
        if not delay or gap == float("inf"):
            return
        if gap / delay < self._smallest:
            self._smallest = gap / delay
            set_gauge("gossamer_smallest_gap_ratio", self._smallest)
        if gap < delay:
            logger.warning("delay not kept", host=host, gap=gap, delay=delay)
