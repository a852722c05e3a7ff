"""Runs an event loop until a `threading.Event` is set."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

STOP_INTERVAL = 0.2
"""Seconds between two checks of the stop event."""


def run_async(work: Callable[[asyncio.Event], Awaitable[None]], stop: threading.Event) -> None:
    """Run *work* in an event loop. *work* gets an asyncio event that is set soon after *stop*."""

    async def until_stopped() -> None:
        ended = asyncio.Event()
        forwarding = asyncio.create_task(_forward(stop, ended))
        await work(ended)
        forwarding.cancel()

    asyncio.run(until_stopped())


async def _forward(stop: threading.Event, ended: asyncio.Event) -> None:
    # *stop* is polled. A thread that waited for it would have to be woken if the work ends first.
    while not stop.is_set():
        await asyncio.sleep(STOP_INTERVAL)
    ended.set()
