"""How the fetcher is put together and closed again.

How many files this process may have open: enough for all the hosts that it visits at once.
"""

import asyncio
import resource
from collections.abc import Set
from typing import NamedTuple

from gossamer import clock
from gossamer.clock import Clock
from gossamer.errors import BadSettings
from gossamer.events.topics import PAGES_FETCHED
from gossamer.log import Log, partition_of
from gossamer.log.throttling import Throttle
from gossamer.runtime.concurrent import ConcurrentRunner
from gossamer.runtime.loop import Report, ignore
from gossamer.settings import FetcherSettings, Settings
from gossamer.store import Store
from gossamer.store.claims import ClaimRow
from services.fetcher.http.client import Web
from services.fetcher.limitations import ClockSkew, Hindrances, Pauses, Tell
from services.fetcher.rate_limits import LeasedSlots, Slots
from services.fetcher.service import EpochOf, Fetcher

TERM = 4
"""A slot of an address is leased for so many times the longest visit."""


class Others(NamedTuple):
    """What a fetcher has to ask those beside it; without *slots* there is no other fetcher."""

    epoch_of: EpochOf
    slots: Slots | None = None


def among_others(settings: Settings, log: Log, store: Store) -> Others:
    """Return what a fetcher of a fleet asks the store."""
    term, skew = TERM * settings.fetcher.visit_limit, settings.frontier.lease_slack / 2
    at_once = settings.fetcher.address_at_once
    return Others(as_claimed(log, store), LeasedSlots(store, at_once, clock.now, term, skew))


def alone_since(epoch: int) -> EpochOf:
    """Return an EpochOf for a run that is alone: from *epoch* on all orders are in force."""

    async def epoch_of(site: str) -> int:
        return epoch

    return epoch_of


def as_claimed(log: Log, store: Store) -> EpochOf:
    """Return an EpochOf that asks the store for the newest claim on the site's partition.

    The frontier that lost it may not know yet, and still send orders. Those who ask at the same
    time share an answer, which is never older than the question.
    """
    claims = store.table(ClaimRow)
    asked: dict[str, asyncio.Task[int]] = {}

    async def ask(partition: str) -> int:
        # From here on others ask anew: they may have been ordered under a newer claim.
        del asked[partition]
        claim = await asyncio.to_thread(claims.get, partition)
        return claim.epoch if claim else 0

    async def epoch_of(site: str) -> int:
        partition = str(partition_of(site, log.partitions))
        if partition not in asked:
            asked[partition] = asyncio.create_task(ask(partition))
        return await asyncio.shield(asked[partition])

    return epoch_of


def fetcher_runner(
    settings: Settings,
    log: Log,
    store: Store,
    clock: Clock,
    fetcher: Fetcher,
    report: Report = ignore,
) -> ConcurrentRunner:
    """Return the runner of *fetcher*."""
    limits = {PAGES_FETCHED.name: settings.fetcher.unparsed_limit}
    throttle = Throttle(log, "fetcher", limits)

    def behind() -> Set[int]:
        if fetcher.pauses.last(clock()):
            return frozenset(range(log.partitions))
        return throttle.partitions()

    limit = settings.fetcher.orders_limit
    return ConcurrentRunner(fetcher, log, store, clock, limit, behind, report)


async def serve(
    settings: Settings,
    log: Log,
    store: Store,
    others: Others,
    stop: asyncio.Event,
    tell: Tell = lambda why: None,
    report: Report = ignore,
) -> None:
    """Fetch until *stop*; *tell* is told what hinders, *report* what needs a newer version.

    Raise BadSettings at once if the requests would not say who we are, or if so many hosts cannot
    be visited at once.
    """
    allow_descriptors(settings.fetcher)
    web, hindrances = Web(settings.fetcher, clock.now, others.slots), Hindrances(tell)
    skew = ClockSkew(settings.frontier.lease_slack / 2, hindrances)
    fetcher = Fetcher(web, clock.now, others.epoch_of, skew, Pauses(hindrances))
    try:
        await fetcher_runner(settings, log, store, clock.now, fetcher, report).run(stop)
    finally:
        await web.close()


OTHERS = 256
"""For log, store, health, and what libraries keep open."""


def needed(settings: FetcherSettings) -> int:
    """Return how many descriptors the fetcher may come to need."""
    # A request has one connection; while it is made, two may be tried. Beside them each host may
    # have one that is kept. A lookup is two sockets.
    connections = 2 * settings.concurrency + settings.orders_limit
    return connections + 2 * settings.lookups_limit + OTHERS


def allow_descriptors(settings: FetcherSettings) -> None:
    """Raise this process's limit to what is needed; BadSettings if that is not allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed(settings)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise BadSettings(
            f"fetcher.concurrency: {settings.concurrency} requests at once, and "
            f"fetcher.orders_limit: {settings.orders_limit} hosts, need {wanted} file descriptors, "
            f"and this process may have {hard}: lower them, or raise the limit (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
