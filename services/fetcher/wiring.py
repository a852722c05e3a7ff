"""How the fetcher is put together, and let go of again."""

import asyncio

from gossamer import clock
from gossamer.clock import Clock
from gossamer.config import Settings
from gossamer.log import Log
from gossamer.store import Store
from gossamer.topics import PAGES_FETCHED
from gossamer.worker import Worker
from services.fetcher.service import Fetcher
from services.fetcher.web import Web


def fetcher_worker(
    settings: Settings, log: Log, store: Store, clock: Clock, void_through: int, web: Web
) -> Worker:
    """Return the worker that fetches by means of *web*; the caller closes that."""

    def behind() -> bool:
        waiting = (log.backlog(reader, PAGES_FETCHED.name) for reader in PAGES_FETCHED.readers)
        return max(waiting) > settings.fetcher.unparsed_limit

    job = Fetcher(web, clock, void_through)
    return Worker(job, log, store, clock, settings.fetcher.concurrency, behind)


async def serve(
    settings: Settings, log: Log, store: Store, void_through: int, stop: asyncio.Event
) -> None:
    """Fetch until *stop*; raise BadSettings at once if nobody could tell who we are."""
    web = Web(settings.fetcher, clock.now)
    try:
        await fetcher_worker(settings, log, store, clock.now, void_through, web).run(stop)
    finally:
        await web.close()
