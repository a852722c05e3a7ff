"""Puts the parser together from settings, a log and a store."""

import asyncio
import os

from gossamer import clock
from gossamer.log import Log
from gossamer.log.throttling import Throttle
from gossamer.runtime.concurrent import ConcurrentRunner
from gossamer.runtime.loop import Report, ignore
from gossamer.settings import Settings
from gossamer.store import Store
from services.parser.options import Options
from services.parser.pool.pool import Pool
from services.parser.service import DeadLetterLimiter, Parser


async def serve(
    settings: Settings, log: Log, store: Store, stop: asyncio.Event, report: Report = ignore
) -> None:
    """Parse what is fetched until *stop*; pages under way then are parsed again by the next run.

    *report* is given what needs a newer version.
    """
    wanted = settings.parser
    size = wanted.workers or os.cpu_count() or 1
    async with Pool(size, wanted.page_limit, wanted.memory_limit) as pool:
        letters = DeadLetterLimiter(wanted.letters_limit)
        parser = Parser(pool, options_of(settings), letters, clock.now)
        # Twice as many as there are children, so that none waits for the log.
        hold = Throttle(log, "parser").partitions
        runner = ConcurrentRunner(parser, log, store, clock.now, 2 * size, hold, report)
        await runner.run(stop)


def options_of(settings: Settings) -> Options:
    """Return how pages are to be read by *settings*."""
    wanted = settings.parser
    return Options(
        product=settings.fetcher.product,
        text=wanted.text,
        simhash_words=wanted.simhash_words,
        decoded_limit=wanted.decoded_limit,
        pdf_limit=wanted.pdf_limit,
        sitemap_limit=wanted.sitemap_limit,
        ratio_limit=wanted.ratio_limit,
        links_limit=wanted.links_limit,
        links_bytes=wanted.links_bytes,
        entries_limit=wanted.entries_limit,
        markdown=wanted.markdown,
        word_limit=wanted.word_limit,
        physical_markup=wanted.physical_markup,
        not_indexed=wanted.not_indexed,
        not_followed=wanted.not_followed,
        script_links=wanted.script_links,
        requisites_limit=wanted.requisites_limit,
    )
