"""The parser on the log: one PageParsed for every PageFetched, whatever the page does."""

from gossamer.clock import Clock
from gossamer.errors import Poison
from gossamer.events import Event, PageFetched, PageParsed, Purpose
from gossamer.telemetry import count
from gossamer.topics import PAGES_FETCHED, Topic
from gossamer.worker import Emit
from services.parser.messages import Request
from services.parser.pool import Pool

FAULT = "parser_fault"


class Parser:
    """Reads pages in the children of *pool*; a page they cannot read is Poison."""

    name = "parser"
    reads: tuple[Topic, ...] = (PAGES_FETCHED,)
    begins_once = False

    def __init__(self, pool: Pool, want_text: bool, decoded_limit: int, clock: Clock) -> None:
        self._pool, self._clock = pool, clock
        self._want_text, self._decoded_limit = want_text, decoded_limit

    def control(self, event: Event) -> None:
        """What the operators say makes no difference to what a page says."""

    async def work(self, event: Event, emit: Emit) -> None:
        """Answer a fetched page; what was fetched for robots.txt is no page."""
        if isinstance(event, PageFetched) and event.visit.purpose is Purpose.PAGE:
            emit(await self._read(event))

    async def _read(self, page: PageFetched) -> PageParsed:
        request = Request(page, self._want_text, self._decoded_limit, self._clock())
        try:
            parsed = await self._pool.parse(request)
        except Poison:
            count("gossamer_hazards_total", hazard=FAULT)
            raise
        for hazard in parsed.hazards:
            if hazard not in page.hazards:
                count("gossamer_hazards_total", hazard=hazard)
        return parsed
