"""The lags of the services over time, sampled when somebody reads them."""

from gossamer import clock
from gossamer.console.api.readers import CrawlReader
from gossamer.inspection.basics.lag_times import LagTimes, read_offsets

MIN_INTERVAL = 1.0
"""Seconds between two samples, however many clients read them."""


class LagSampler:
    """Samples the offsets of all services. Nothing is read while nobody reads the lags."""

    def __init__(self) -> None:
        self.times = LagTimes()
        self._sampled_at = 0.0

    async def sample(self, reader: CrawlReader) -> None:
        """Add a sample, unless there is a recent one."""
        now = clock.now()
        if now - self._sampled_at < MIN_INTERVAL:
            return
        self._sampled_at = now
        offsets = await reader.read(lambda crawl: read_offsets(crawl.log))
        self.times.add(offsets, clock.now())
