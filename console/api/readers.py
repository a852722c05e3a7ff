"""The thread that reads the crawl for the API.

It owns the crawl and reads for one request after another, because a connection to SQLite belongs to
one thread.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TypeVar

from litestar import Litestar

from inspection.crawl import OpenCrawl

Answer = TypeVar("Answer")


class Reader:
    """The thread that owns the crawl."""

    def __init__(self, opening: Callable[[], AbstractContextManager[OpenCrawl]]) -> None:
        """*opening* opens the crawl; it is called in the thread."""
        self._thread = ThreadPoolExecutor(1, "crawl")
        self._opening = opening

    @asynccontextmanager
    async def running(self, app: Litestar) -> AsyncIterator[None]:
        """Open the crawl, and close it at the end of the block."""
        loop, opened = asyncio.get_running_loop(), self._opening()
        app.state.reader = self
        self._crawl = await loop.run_in_executor(self._thread, opened.__enter__)
        try:
            yield
        finally:
            await loop.run_in_executor(self._thread, opened.__exit__, None, None, None)
            self._thread.shutdown()

    async def read(self, read: Callable[[OpenCrawl], Answer]) -> Answer:
        """Return the result of *read* on the crawl."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, read, self._crawl)
