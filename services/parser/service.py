"""The parser on the log: one PageParsed for every PageFetched, whatever the page does."""

from gossamer.clock import Clock
from gossamer.errors import Poison
from gossamer.events import Event, PageFetched, PageParsed, Purpose
from gossamer.events.outcomes import Hazard, count_hazards
from gossamer.events.topics import PAGES_FETCHED, Topic
from gossamer.runtime.concurrent import Emitter
from services.parser.options import Options
from services.parser.pool.messages import Request
from services.parser.pool.pool import Pool


class Parser:
    """Reads pages in the children of *pool*; a page that they cannot read is Poison."""

    name = "parser"
    reads: tuple[Topic, ...] = (PAGES_FETCHED,)
    begins_once = False

    def __init__(self, pool: Pool, options: Options, clock: Clock) -> None:
        self._pool, self._options, self._clock = pool, options, clock

    def control(self, event: Event) -> None:
        """Ignore the operators: nothing they say changes what a page says."""

    async def work(self, event: Event, emit: Emitter) -> None:
        """Emit what a fetched page says; a robots.txt is no page."""
        if isinstance(event, PageFetched) and event.visit.purpose is Purpose.PAGE:
            emit(await self._read(event))

    async def _read(self, page: PageFetched) -> PageParsed:
        request = Request(page, self._options, self._clock())
        try:
            parsed = await self._pool.parse(request)
        except Poison:
            count_hazards(self.name, [Hazard.PARSER_FAULT])
            raise
        count_hazards(self.name, set(parsed.hazards).difference(page.hazards))
        return parsed
