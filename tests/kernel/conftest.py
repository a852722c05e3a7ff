"""A worker on the embedded log, to be run for a while."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gossamer.log.sqlite import SqliteLog
from gossamer.store.sqlite import SqliteStore
from gossamer.worker import Worker
from tests.kernel.hands import Hands


@pytest.fixture
def hands(log: SqliteLog) -> Hands:
    return Hands(log)


Start = Callable[..., contextlib.AbstractAsyncContextManager[Worker]]


@pytest.fixture
def start(log: SqliteLog, store: SqliteStore) -> Start:
    """Return how a worker is run for a while: stopped on leaving, what it raised is raised."""

    @asynccontextmanager
    async def run(
        job: Hands, limit: int = 100, hold: Callable[[], bool] = lambda: False
    ) -> AsyncIterator[Worker]:
        stop = asyncio.Event()
        worker = Worker(job, log, store, lambda: 100.0, limit, hold)
        running = asyncio.create_task(worker.run(stop))
        try:
            yield worker
        finally:
            stop.set()
            async with asyncio.timeout(60):
                await running

    return run
