"""Puts the parser together from settings, a log and a store."""

import asyncio
import os

from gossamer import clock
from gossamer.config import Settings
from gossamer.log import Log
from gossamer.store import Store
from gossamer.topics import PAGES_PARSED
from gossamer.worker import Worker
from services.parser.pool import Pool
from services.parser.service import Parser

UNJUDGED_LIMIT = 2000
"""While dedup is this many pages behind, none is begun."""


async def serve(settings: Settings, log: Log, store: Store, stop: asyncio.Event) -> None:
    """Parse what is fetched until *stop*; what is under way then is parsed again next time."""
    said = settings.parser
    size = said.workers or os.cpu_count() or 1
    async with Pool(size, said.page_limit, said.memory_limit) as pool:
        parser = Parser(pool, said.text, said.decoded_limit, clock.now)
        # Twice as many as there are children, so that none waits for the log.
        worker = Worker(parser, log, store, clock.now, 2 * size, lambda: _behind(log))
        await worker.run(stop)


def _behind(log: Log) -> bool:
    return log.backlog("dedup", PAGES_PARSED.name) > UNJUDGED_LIMIT
