"""Runs an event loop in a process that a thread stops."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

STOP_INTERVAL = 0.2
"""Seconds between two checks of the stop event."""


def run_async(work: Callable[[asyncio.Event], Awaitable[None]], stop: threading.Event) -> None:
    """Run *work* in an event loop. The asyncio event that it gets is set when *stop* is."""

    async def until_stopped() -> None:
        ended = asyncio.Event()
        forwarding = asyncio.create_task(_forward(stop, ended))
        await work(ended)
        forwarding.cancel()

    asyncio.run(until_stopped())


async def _forward(stop: threading.Event, ended: asyncio.Event) -> None:
    # Polled, because a waiting thread would have to be woken when the work ends by itself.
    while not stop.is_set():
        await asyncio.sleep(STOP_INTERVAL)
    ended.set()
