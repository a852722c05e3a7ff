"""The lanes of threads that read the crawl for the API.

There are two lanes: requests that read single rows do not wait for requests that read whole tables.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from litestar import Litestar

from gossamer.console.reader import Opening, Reader
from gossamer.errors import Unavailable
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl

Answer = TypeVar("Answer")
POINT_THREADS = 3
"""Threads for requests that read single rows."""
MAX_WAITING = 100
"""Requests that may wait for a thread of a lane for single rows."""


class Busy(Unavailable):
    """Too many requests wait, or a request took too long: repeat it later."""


class TookTooLong(Busy):
    """A request took too long. Its thread goes on until it has ended, or the process."""


class Lane:
    """Readers for requests of one kind."""

    def __init__(self, opening: Opening, threads: int, max_waiting: int, timeout: float) -> None:
        """At most *max_waiting* requests wait for one of the *threads*. A request takes at most
        *timeout* seconds, with its wait."""
        self._readers = [Reader(opening) for _ in range(threads)]
        self._free = asyncio.LifoQueue[Reader]()
        for reader in reversed(self._readers):
            self._free.put_nowait(reader)
        self._max_waiting, self._timeout, self._waiting = max_waiting, timeout, 0
        self._limits, self._is_ending = set[asyncio.Timeout](), False

    async def read(self, read: Callable[[OpenCrawl], Answer]) -> Answer:
        """Return the result of *read*. Raise Busy if too many requests wait or time is over."""
        if self._free.empty() and self._waiting >= self._max_waiting:
            raise Busy("too many requests of this kind at once; repeat it in a second")
        limit = asyncio.timeout(self._timeout)
        self._limits.add(limit)
        try:
            async with limit:
                return await self._read(read)
        except TimeoutError as error:
            if self._is_ending:
                raise Busy("the console ends: repeat the request") from error
            raise TookTooLong(f"the request took longer than {self._timeout:g} s") from error
        finally:
            self._limits.discard(limit)

    async def _read(self, read: Callable[[OpenCrawl], Answer]) -> Answer:
        self._waiting += 1
        try:
            reader = await self._free.get()
        finally:
            self._waiting -= 1
        result = reader.start(read)
        # Also if the request is cancelled: a thread cannot be interrupted, and is free at its end.
        result.add_done_callback(lambda _: self._free.put_nowait(reader))
        return await asyncio.shield(result)

    def end_requests(self) -> None:
        """End all requests, because the server stops."""
        self._is_ending = True
        for limit in self._limits:
            limit.reschedule(asyncio.get_running_loop().time())

    async def stop(self) -> None:
        """Close the crawl in all threads."""
        await asyncio.gather(*(reader.stop() for reader in self._readers))


class Readers:
    """The lanes of an application."""

    def __init__(self, opening: Opening, scans: int, timeout: float) -> None:
        """*scans* requests that read whole tables may run at once."""
        self._opening, self._scans, self._timeout = opening, scans, timeout

    @asynccontextmanager
    async def running(self, app: Litestar) -> AsyncIterator[None]:
        """Read in the block; close the crawls at its end."""
        self.points = Lane(self._opening, POINT_THREADS, MAX_WAITING, self._timeout)
        self.scans = Lane(self._opening, self._scans, 0, self._timeout)
        app.state.readers = self
        try:
            yield
        finally:
            await asyncio.gather(self.points.stop(), self.scans.stop())

    def end_requests(self) -> None:
        """End all requests, because the server stops."""
        self.points.end_requests()
        self.scans.end_requests()


class CrawlReader:
    """Reads one crawl for one request."""

    def __init__(self, readers: Readers, crawl: str | None) -> None:
        """*crawl* None means the only crawl, or no crawl in particular."""
        self._readers, self.crawl = readers, crawl

    async def read(self, read: Callable[[OpenCrawl], Answer]) -> Answer:
        """Return the result of *read*, which reads few rows."""
        return await self._readers.points.read(lambda opened: read(self._select(opened)))

    async def scan(self, read: Callable[[OpenCrawl], Answer]) -> Answer:
        """Return the result of *read*, which may read whole tables."""
        return await self._readers.scans.read(lambda opened: read(self._select(opened)))

    def _select(self, opened: OpenCrawl) -> OpenCrawl:
        if self.crawl is None:
            return opened
        crawls = opened.crawls()
        if crawls and self.crawl not in crawls:
            raise NotFound(f"there is no crawl {self.crawl!r}")
        return opened.of(self.crawl)
