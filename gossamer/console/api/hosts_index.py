"""Searches the index of hosts and sites, which a process of its own makes while it is used."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from litestar import Litestar

from gossamer import clock
from gossamer.console.api.readers import Busy, CrawlReader
from gossamer.console.reader import THREAD_NAME, stop_thread
from gossamer.errors import Unavailable
from gossamer.inspection.hosts.host_index import HostIndex, IndexPage
from gossamer.inspection.hosts.host_scans import HostScans
from gossamer.inspection.hosts.hosts import (
    Host,
    HostQuery,
    SiteQuery,
    SiteSummary,
    read_some_hosts,
    read_some_sites,
)

if TYPE_CHECKING:
    from gossamer.settings import Settings

MAX_WAIT = 20.0
"""Seconds that a request waits for the first scan."""
Found = TypeVar("Found")


class Place(NamedTuple):
    """Where the crawls are."""

    data: Path | None
    """The folder; None for a fleet."""
    settings: "Settings | None" = None


class Hosts:
    """Searches all hosts of *place*."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._thread = ThreadPoolExecutor(1, THREAD_NAME)
        self._scans: HostScans | None = None

    @asynccontextmanager
    async def running(self, app: Litestar) -> AsyncIterator[None]:
        """Search in the block; delete the index at its end."""
        app.state.hosts = self
        try:
            yield
        finally:
            if self._scans:
                self._scans.stop()
            await stop_thread(self._thread, self._close)

    async def search(
        self, reader: CrawlReader, query: HostQuery, after: str | None, limit: int
    ) -> IndexPage[Host]:
        """Return hosts in the order of *query*. Raise Busy if the first scan takes too long."""
        page = await self._find(lambda index: index.find_hosts(query, after, limit))
        return page.with_items(await reader.read(lambda crawl: read_some_hosts(crawl, page.items)))

    async def search_sites(
        self, reader: CrawlReader, query: SiteQuery, after: str | None, limit: int
    ) -> IndexPage[SiteSummary]:
        """Return sites in the order of *query*. Raise Busy if the first scan takes too long."""
        page = await self._find(lambda index: index.find_sites(query, after, limit))
        return page.with_items(await reader.read(lambda crawl: read_some_sites(crawl, page.items)))

    async def _find(self, find: Callable[[HostIndex], Found]) -> Found:
        loop = asyncio.get_running_loop()
        found = loop.run_in_executor(self._thread, self._search, find)
        try:
            async with asyncio.timeout(MAX_WAIT):
                return await asyncio.shield(found)
        except TimeoutError as error:
            raise Busy("the list of hosts is being read: try again later") from error

    def _search(self, find: Callable[[HostIndex], Found]) -> Found:
        if self._scans is None:
            self._scans = HostScans(self._place.data, self._place.settings)
        index = self._scans.index_at(clock.steady())
        try:
            return find(index)
        except Unavailable:
            self._scans.wait()
            return find(self._scans.index_at(clock.steady()))

    def _close(self) -> None:
        if self._scans:
            self._scans.close()
