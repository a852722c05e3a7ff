"""The parser on the log: one PageParsed for each PageFetched."""

from collections.abc import Awaitable, Callable, Iterable

import structlog
from msgspec.structs import replace

from gossamer.cache import RecentlyUsed
from gossamer.clock import Clock
from gossamer.errors import Poison
from gossamer.events import CrawlDefined, Event, PageFetched, PageParsed, Purpose
from gossamer.events.hazards import count_hazards
from gossamer.events.topics import PAGES_FETCHED, Topic
from gossamer.policies import revisits
from gossamer.relevance import languages_of
from gossamer.runtime.processor import Emitter
from gossamer.services.parser.options import Options
from gossamer.services.parser.parts import Part
from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import PageTooLarge, Pool, ReaderFailed
from gossamer.services.parser.result import classify, find_coding_fault, report_unreadable
from gossamer.web.http import REDIRECTS
from gossamer.web.sniffing import STYLE, whole_type

StoreBlob = Callable[[PageParsed], Awaitable[Event]]
"""Stores the contents of a page as a blob if they are too large for a record, and returns the event
to emit. Raises VolumeUnavailable."""

MAX_HOSTS = 10_000
"""Hosts whose dead letters are counted: the last ones that had any."""

logger = structlog.get_logger()


def is_read(page: PageFetched) -> bool:
    """Return whether the parser reads *page*: of requisites, only styles and redirects."""
    if page.intermediate:
        return False
    if page.visit.purpose is not Purpose.REQUISITE:
        return page.visit.purpose.is_read
    if page.status in REDIRECTS:
        return True
    return 200 <= page.status < 300 and whole_type(page.headers, page.body) == STYLE


def options_for(crawl: CrawlDefined | None, options: Options) -> Options:
    """Return the options for a page of *crawl*: without the blocks if it has no revisits, and with
    the language if its relevance depends on it."""
    if crawl is None:
        return options
    without = {*options.without}
    if not revisits(crawl.revisit):
        without.add(Part.BLOCKS)
    if languages_of(crawl.relevant):
        without.discard(Part.LANGUAGE)
    return replace(options, without=tuple(sorted(without)))


async def keep_inline(parsed: PageParsed) -> Event:
    """Return *parsed*, whose contents the log reduces if they are too large."""
    return parsed


class DeadLetterLimiter:
    """Allows *limit* dead letters per host.

    A few show the cause. Each may have megabytes, and all pages of a host may be unreadable.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._counts = limit, RecentlyUsed[str, int](MAX_HOSTS)

    def allow(self, host: str) -> bool:
        """Count an unreadable page of *host*; return whether to store it as a dead letter."""
        self._counts[host] = count = self._counts.get(host, 0) + 1
        return count <= self._limit


class Parser:
    """Reads pages in the children of *pool*.

    An unreadable page is reported to the consumers of parsed pages. It is also a dead letter,
    unless its body is still coded, or its host has many.
    """

    name = "parser"
    reads: tuple[Topic, ...] = (PAGES_FETCHED,)
    begins_once = False

    def __init__(
        self,
        pool: Pool,
        options: Options,
        dead_letters: DeadLetterLimiter,
        clock: Clock,
        store_blob: StoreBlob = keep_inline,
    ) -> None:
        self._pool, self._options, self._clock = pool, options, clock
        self._store_blob = store_blob
        self._dead_letters = dead_letters
        self._crawls: dict[str, CrawlDefined] = {}
        """The definitions of all crawls by their ids."""

    def control(self, event: Event) -> None:
        """Learn the definition of a crawl; ignore other control events."""
        if not isinstance(event, CrawlDefined):
            return
        self._crawls[event.crawl] = event
        if event.removed:
            del self._crawls[event.crawl]
        rules = {(one.rules, one.rules_digest) for one in self._crawls.values() if one.rules}
        self._pool.use_rules(tuple(sorted(rules)))

    def announce(self, event: Event, offset: int) -> Iterable[Event]:
        """Return nothing, because pages may be read again."""
        return ()

    async def work(self, event: Event, emit: Emitter) -> None:
        """Emit the contents of a fetched page; ignore visits of other purposes."""
        if isinstance(event, PageFetched) and is_read(event):
            if reason := find_coding_fault(event):
                # Another parser could not read it either: it is in the archive, as received.
                emit(self._report_unreadable(event, reason))
                return
            try:
                emit(await self._store_blob(await self._read(event)))
            except Poison as error:
                is_ours = isinstance(error, ReaderFailed) and not isinstance(error, PageTooLarge)
                emit(self._report_unreadable(event, str(error), is_ours))
                if self._dead_letters.allow(event.host):
                    raise
                logger.warning("page cannot be read", url=event.visit.url, reason=str(error))

    def _report_unreadable(
        self, page: PageFetched, reason: str, is_ours: bool = False
    ) -> PageParsed:
        parsed = report_unreadable(page, reason, self._clock(), is_ours)
        count_hazards(self.name, set(parsed.hazards).difference(page.hazards))
        return parsed

    async def _read(self, page: PageFetched) -> PageParsed:
        crawl = self._crawls.get(page.crawl)
        options = options_for(crawl, self._options)
        rules, digest = (crawl.rules, crawl.rules_digest) if crawl else ("", "")
        parsed = await self._pool.parse(Request(page, options, self._clock(), rules))
        parsed = classify(page, replace(parsed, rules_digest=digest))
        count_hazards(self.name, set(parsed.hazards).difference(page.hazards))
        return parsed
