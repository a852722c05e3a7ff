"""Fixture for a concurrent runner on the embedded log."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gossamer.log.sqlite import SqliteLog
from gossamer.log.throttling import Hold, hold_nothing
from gossamer.runtime.concurrent import ConcurrentRunner
from gossamer.store.sqlite import SqliteStore
from tests.runtime.manual import Manual


@pytest.fixture
def manual(log: SqliteLog) -> Manual:
    return Manual(log)


Start = Callable[..., contextlib.AbstractAsyncContextManager[ConcurrentRunner]]


@pytest.fixture
def start(log: SqliteLog, store: SqliteStore) -> Start:
    """Return a context in which a processor runs. Leaving it raises the runner's error."""

    @asynccontextmanager
    async def run(
        processor: Manual, limit: int = 100, hold: Hold = hold_nothing
    ) -> AsyncIterator[ConcurrentRunner]:
        stop = asyncio.Event()
        runner = ConcurrentRunner(processor, log, store, lambda: 100.0, limit, hold)
        running = asyncio.create_task(runner.run(stop))
        try:
            yield runner
        finally:
            stop.set()
            async with asyncio.timeout(60):
                await running

    return run
