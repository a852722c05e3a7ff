"""Builds the parser from settings, a log and a store."""

import asyncio
import os

from msgspec import convert
from msgspec.structs import replace

from gossamer import clock
from gossamer.events import Event, PageParsed
from gossamer.log import Log
from gossamer.log.blobs import may_refer, refer
from gossamer.log.throttling import Throttle
from gossamer.runtime.concurrent import ConcurrentRunner
from gossamer.runtime.loop import Report, ignore
from gossamer.services.parser.options import Options
from gossamer.services.parser.pool.pool import Pool
from gossamer.services.parser.pool.trial import try_rules
from gossamer.services.parser.service import DeadLetterLimiter, Parser, StoreBlob, keep_inline
from gossamer.settings import Settings
from gossamer.store import Store
from gossamer.text import PAGE_FIELDS
from gossamer.volumes import Volume


async def serve(
    settings: Settings, log: Log, store: Store, stop: asyncio.Event, report: Report = ignore
) -> None:
    """Parse fetched pages until *stop* is set; the next run parses the pages in flight again.

    *report* receives records that need a newer version.
    """
    section = settings.parser
    size = section.workers or os.cpu_count() or 1
    async with Pool(size, section.page_limit, section.memory_limit) as pool:
        dead_letters = DeadLetterLimiter(section.dead_letters_limit)
        store_blob = _store_blobs_in(log.blobs) if log.blobs else keep_inline
        parser = Parser(pool, options_of(settings), dead_letters, clock.now, store_blob)
        # Two pages in flight per child, so that no child waits for the log.
        hold = Throttle(log, "parser").partitions
        runner = ConcurrentRunner(parser, log, store, clock.now, 2 * size, hold, report)
        await runner.run(stop)


def check_rules(settings: Settings, name: str) -> list[str]:
    """Try the rules *name* in a parser process; return the errors that its functions raise on a
    sample page. Raise BadSettings if the rules cannot be used."""
    section = settings.parser

    async def check() -> list[str]:
        async with Pool(1, section.page_limit, section.memory_limit) as pool:
            return await try_rules(name, options_of(settings), pool)

    return asyncio.run(check())


def _store_blobs_in(volume: Volume) -> StoreBlob:
    async def store_blob(parsed: PageParsed) -> Event:
        if not may_refer(parsed, 0):
            return parsed
        return await asyncio.to_thread(refer, parsed, volume, 0)

    return store_blob


def options_of(settings: Settings) -> Options:
    """Return the reader options in *settings*."""
    section = settings.parser
    return replace(
        # Most options are settings of the section `parser`, under their names.
        convert(section, Options, from_attributes=True),
        product=settings.fetcher.product,
        without=tuple(part for part in PAGE_FIELDS if part not in section.fields),
        requisites=settings.archive.requisites != "off",
        all_candidates=settings.archive.srcset == "all",
    )
