"""How the fetcher is built and closed, and how many file descriptors it needs."""

import asyncio
import resource
from collections.abc import Set
from typing import NamedTuple

from gossamer import clock
from gossamer.clock import Clock
from gossamer.errors import BadSettings
from gossamer.events import FetcherStarted
from gossamer.events.topics import PAGES_FETCHED, VISITS_ORDERED
from gossamer.log import Log, partition_of
from gossamer.log.codec import encode
from gossamer.log.throttling import Throttle
from gossamer.runtime.concurrent import ConcurrentRunner
from gossamer.runtime.loop import Report, ignore
from gossamer.services.fetcher.http.client import Web
from gossamer.services.fetcher.limitations import (
    ClockSkew,
    Limitations,
    LocalBackoff,
    ShowLimitations,
)
from gossamer.services.fetcher.rate_limits import LeasedSlots, SlotSource
from gossamer.services.fetcher.service import BlobStore, EpochOf, Fetcher
from gossamer.settings import FetcherSettings, Settings
from gossamer.store import Store
from gossamer.store.claims import ClaimRow
from gossamer.web.url import Site

LEASE_VISITS = 4
"""The lease of an address slot lasts as long as this number of longest visits."""


class Coordination(NamedTuple):
    """The parts that coordinate a fetcher with others; without *slots* it is the only one.

    Frontiers know the fetcher by its *name*, which no other living process has. Without a name, all
    orders of earlier runs are released at the start of the frontier.
    """

    epoch_of: EpochOf
    slots: SlotSource | None = None
    name: str = ""


def coordinate_fleet(settings: Settings, log: Log, store: Store) -> Coordination:
    """Return the coordination of a fleet, through the store."""
    term, skew = LEASE_VISITS * settings.fetcher.visit_limit, settings.frontier.lease_slack / 2
    at_once, name = settings.fetcher.address_at_once, settings.service.instance
    slots = LeasedSlots(store, name, at_once, clock.now, term, skew)
    return Coordination(claimed_epoch(log, store), slots, name)


def fixed_epoch(epoch: int) -> EpochOf:
    """Return an EpochOf for a single process: orders from *epoch* on are valid."""

    async def epoch_of(site: Site) -> int:
        return epoch

    return epoch_of


def claimed_epoch(log: Log, store: Store) -> EpochOf:
    """Return an EpochOf that reads the newest claim of the site's partition from the store.

    A frontier that has lost the partition may not know yet and still send orders. Each read of the
    store serves all calls that came before it began: the orders of one poll begin together.
    """
    claims = store.table(ClaimRow)
    wanted = set[str]()
    coming: asyncio.Task[dict[str, int]] | None = None
    """The read of the *wanted* partitions, which has not begun."""

    async def read() -> dict[str, int]:
        nonlocal coming
        # Later calls read again, because their orders may have a newer claim.
        keys, coming = [(partition, "") for partition in sorted(wanted)], None
        wanted.clear()
        return {row.partition: row.epoch for row in await asyncio.to_thread(claims.get_all, keys)}

    async def epoch_of(site: Site) -> int:
        nonlocal coming
        wanted.add(partition := str(partition_of(site, log.partitions)))
        coming = coming or asyncio.create_task(read())
        return (await asyncio.shield(coming)).get(partition, 0)

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

    def paused_partitions() -> Set[int]:
        if fetcher.backoff.is_active(clock()):
            return frozenset(range(log.partitions))
        return throttle.partitions()

    limit = settings.fetcher.orders_limit
    return ConcurrentRunner(fetcher, log, store, clock, limit, paused_partitions, report)


async def serve(
    settings: Settings,
    log: Log,
    store: Store,
    coordination: Coordination,
    stop: asyncio.Event,
    show: ShowLimitations = lambda reason: None,
    report: Report = ignore,
) -> None:
    """Fetch until *stop*.

    *show* receives the limitations of the fetcher, *report* the records that need a newer version.
    Raise BadSettings at once if our identity is not valid, or if the process may not open enough
    file descriptors.
    """
    raise_descriptor_limit(settings.fetcher)
    web, limitations = Web(settings.fetcher, clock.now, coordination.slots), Limitations(show)
    skew = ClockSkew(settings.frontier.lease_slack / 2, limitations)
    inline_body, backoff = settings.fetcher.inline_body, LocalBackoff(limitations)
    blobs = BlobStore(log.blobs, inline_body, limitations) if log.blobs else None
    name = coordination.name
    fetcher = Fetcher(web, clock.now, coordination.epoch_of, skew, backoff, blobs, name)
    try:
        if name:
            announce_start(log, name, clock.now())
        await fetcher_runner(settings, log, store, clock.now, fetcher, report).run(stop)
    finally:
        await web.close()


def announce_start(log: Log, name: str, now: float) -> None:
    """Report to all frontiers that the fetcher *name* has started, before it begins an order.

    Nothing of its former process is under way: a process that failed has ended, and one that lost
    its servers has cancelled its work.
    """
    found = log.group_offsets(Fetcher.name, [VISITS_ORDERED.name])
    committed = {number: offsets.committed for (_, number), offsets in found.items()}
    log.append(
        encode(FetcherStarted(at=now, fetcher=name, partition=number, committed=committed))
        for number in range(log.partitions)
    )


BASE_DESCRIPTORS = 256
"""File descriptors for log, store, health and libraries."""


def count_descriptors(settings: FetcherSettings) -> int:
    """Return the maximum number of file descriptors that the fetcher may need."""
    # A request has one connection, and tries two at once while it connects. Each host may have an
    # idle connection. A lookup has two sockets.
    connections = 2 * settings.concurrency + settings.orders_limit
    return connections + 2 * settings.lookups_limit + BASE_DESCRIPTORS


def raise_descriptor_limit(settings: FetcherSettings) -> None:
    """Raise the limit of this process to the need; raise BadSettings if that is not allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count_descriptors(settings)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadSettings(
            f"fetcher.concurrency: {settings.concurrency} requests at once, and "
            f"fetcher.orders_limit: {settings.orders_limit} hosts, need {needed} file descriptors, "
            f"and this process may have {hard}: lower them, or raise the limit (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
