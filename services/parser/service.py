"""The parser on the log: one PageParsed for every PageFetched, whatever the page does.

How many pages of a host that cannot be read are kept as dead letters.

One is enough to see why, each may be megabytes, and a host may have nothing else.
"""

from collections import OrderedDict

import structlog

from gossamer.clock import Clock
from gossamer.errors import Poison
from gossamer.events import Event, PageFetched, PageParsed
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.topics import PAGES_FETCHED, Topic
from gossamer.runtime.processor import Emitter
from services.parser.options import Options
from services.parser.pool.messages import Request
from services.parser.pool.pool import Pool
from services.parser.result import classify, report_unreadable

logger = structlog.get_logger()


MAX_HOSTS = 10_000
"""Most hosts that are remembered: those that failed last."""


class DeadLetterLimiter:
    """Counts the pages of each host: *limit* of them are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = OrderedDict[str, int]()

    def are_wanted(self, host: str) -> bool:
        """Count one page more of *host*; return whether it is to be kept."""
        self._kept[host] = kept = self._kept.pop(host, 0) + 1
        if len(self._kept) > MAX_HOSTS:
            self._kept.popitem(last=False)
        return kept <= self._limit


class Parser:
    """Reads pages in the children of *pool*.

    A page that they cannot read is Poison, unless its host has many such pages. Who waits for its
    verdict hears of it all the same.
    """

    name = "parser"
    reads: tuple[Topic, ...] = (PAGES_FETCHED,)
    begins_once = False

    def __init__(
        self, pool: Pool, options: Options, letters: DeadLetterLimiter, clock: Clock
    ) -> None:
        self._pool, self._options, self._letters, self._clock = pool, options, letters, clock

    def control(self, event: Event) -> None:
        """Ignore the operators: nothing they say changes what a page says."""

    async def work(self, event: Event, emit: Emitter) -> None:
        """Emit what a fetched page says; a robots.txt is no page."""
        if isinstance(event, PageFetched) and event.visit.purpose.is_read:
            try:
                emit(await self._read(event))
            except Poison as error:
                count_hazards(self.name, [Hazard.PARSER_FAULT])
                emit(report_unreadable(event, str(error), self._clock()))
                if self._letters.are_wanted(event.host):
                    raise
                logger.warning("unread", url=event.visit.url, reason=str(error))

    async def _read(self, page: PageFetched) -> PageParsed:
        parsed = await self._pool.parse(Request(page, self._options, self._clock()))
        parsed = classify(page, parsed)
        count_hazards(self.name, set(parsed.hazards).difference(page.hazards))
        return parsed
