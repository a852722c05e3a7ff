"""A thread that reads the crawl, for a process with an event loop.

Each thread opens the crawl for itself, because a connection to SQLite belongs to one thread. A
crawl is opened at the first read, and opened again after an error of its servers: the console
starts before the servers do.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TypeVar

from gossamer.errors import Unavailable
from gossamer.inspection.crawls.crawl import OpenCrawl

Answer = TypeVar("Answer")
Opening = Callable[[], AbstractContextManager[OpenCrawl]]
THREAD_NAME = "crawl"
STOP_SECONDS = 1.0
"""Seconds for a read at the end of the process."""


class Reader:
    """A thread that reads the crawl that *opening* opens."""

    def __init__(self, opening: Opening) -> None:
        self._thread = ThreadPoolExecutor(1, THREAD_NAME)
        self._opening = opening
        self._opened = ExitStack()
        self._crawl: OpenCrawl | None = None

    def start(self, read: Callable[[OpenCrawl], Answer]) -> "asyncio.Future[Answer]":
        """Begin to read; the result is that of *read*."""
        return asyncio.get_running_loop().run_in_executor(self._thread, self._run, read)

    def _run(self, read: Callable[[OpenCrawl], Answer]) -> Answer:
        try:
            if self._crawl is None:
                self._crawl = self._opened.enter_context(self._opening())
            return read(self._crawl)
        except Unavailable:
            self._close()
            raise

    def _close(self) -> None:
        self._crawl = None
        self._opened.close()

    async def stop(self) -> None:
        """Close the crawl in its thread, and end the thread, unless its read does not end."""
        await stop_thread(self._thread, self._close)


async def stop_thread(thread: ThreadPoolExecutor, close: Callable[[], None]) -> None:
    """Call *close* in *thread*, and end the thread. After STOP_SECONDS, leave it alone."""
    closed = asyncio.get_running_loop().run_in_executor(thread, close)
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await asyncio.shield(closed)
    thread.shutdown(wait=False)


def exit_if_reading(status: int) -> None:
    """End this process with *status* if a thread was left alone: the interpreter would wait for its
    end, which may be minutes away."""
    if any(thread.name.startswith(THREAD_NAME) for thread in threading.enumerate()):
        sys.stdout.flush()
        os._exit(status)
