"""How the fetcher is put together, and let go of again."""

import asyncio

from gossamer import clock
from gossamer.claims import ClaimRow
from gossamer.clock import Clock
from gossamer.config import Settings
from gossamer.log import Log, partition_of
from gossamer.store import Store
from gossamer.topics import PAGES_FETCHED
from gossamer.worker import Worker
from services.fetcher.service import EpochOf, Fetcher
from services.fetcher.web import Web


def alone_since(epoch: int) -> EpochOf:
    """Nobody of an older *epoch* is alive, and nobody else claims anything meanwhile."""

    async def epoch_of(site: str) -> int:
        return epoch

    return epoch_of


def as_claimed(log: Log, store: Store) -> EpochOf:
    """The newest claim in the store counts: whoever has an older one may not know it yet."""
    claims = store.table(ClaimRow)

    async def epoch_of(site: str) -> int:
        partition = str(partition_of(site, log.partitions))
        claim = await asyncio.to_thread(claims.get, partition)
        return claim.epoch if claim else 0

    return epoch_of


def fetcher_worker(
    settings: Settings, log: Log, store: Store, clock: Clock, epoch_of: EpochOf, web: Web
) -> Worker:
    """Return the worker that fetches by means of *web*; the caller closes that."""

    def behind() -> bool:
        waiting = (log.backlog(reader, PAGES_FETCHED.name) for reader in PAGES_FETCHED.readers)
        return max(waiting) > settings.fetcher.unparsed_limit

    job = Fetcher(web, clock, epoch_of)
    return Worker(job, log, store, clock, settings.fetcher.concurrency, behind)


async def serve(
    settings: Settings, log: Log, store: Store, epoch_of: EpochOf, stop: asyncio.Event
) -> None:
    """Fetch until *stop*; raise BadSettings at once if nobody could tell who we are."""
    web = Web(settings.fetcher, clock.now)
    try:
        await fetcher_worker(settings, log, store, clock.now, epoch_of, web).run(stop)
    finally:
        await web.close()
