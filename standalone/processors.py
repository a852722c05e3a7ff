"""The child process that runs dedup, frontier and archive in turn, on one connection."""

import threading
from functools import partial

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.log.sqlite import PARTITIONS
from gossamer.log.throttling import Hold, Throttle, hold_nothing
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.settings import Settings
from gossamer.store import lifetime_of
from gossamer.store.sqlite import SqliteStore
from inspection.folder import Opened
from services.archive.service import Archive
from services.dedup.seen import SeenTable
from services.dedup.service import Dedup
from services.frontier.service import Frontier

MAX_WAIT_SECONDS = 0.5
"""Seconds between two checks of *stop*, at most."""


def run_processors(settings: Settings, opened: Opened, stop: threading.Event) -> None:
    """Run the three processors until *stop*; then complete the archive's files."""
    lifetime = partial(lifetime_of, settings=settings)
    stores = [SqliteStore(opened.database, lifetime) for _ in range(3)]
    fetcher = settings.fetcher
    archive = Archive(
        opened.folder.warc, stores[2], settings.archive, fetcher.contact, fetcher.product
    )
    frontier = Frontier(
        settings.frontier, stores[1], settings.fetcher.visit_limit, PARTITIONS, alone=True
    )
    dedup = Dedup(SeenTable(stores[0]), stores[0], settings.dedup, settings.frontier.url_budget)
    processors: tuple[Processor, ...] = (dedup, frontier, archive)
    holds: tuple[Hold, ...] = (
        Throttle(opened.log, dedup.name).partitions,
        hold_nothing,
        hold_nothing,
    )
    limit = settings.service.step_limit
    loops = [
        sequential_loop(
            processor, opened.log, store, clock.now, clock.JumpDetector(), limit, hold, refuse
        )
        for processor, store, hold in zip(processors, stores, holds, strict=True)
    ]
    version = None
    while not stop.is_set():
        # Read before the steps: records that are appended during them must end the wait.
        version = opened.database.changed_since(version) or version
        if not any([loop.step() for loop in loops]):
            opened.database.wait(version, _wait(loops))
    archive.close()


def refuse(reason: str) -> None:
    """End the crawl: in a folder, no other process could upgrade and continue a waiting loop."""
    raise GossamerError(reason)


def _wait(loops: list[Loop]) -> float:
    due = min((at for loop in loops if (at := loop.due()) is not None), default=None)
    return MAX_WAIT_SECONDS if due is None else min(MAX_WAIT_SECONDS, max(0.0, due - clock.now()))
