"""Work in an event loop, in a process that is told to stop by a thread."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

STOP_INTERVAL = 0.2
"""Seconds between two looks at whether the work is to stop."""


def run_async(work: Callable[[asyncio.Event], Awaitable[None]], stop: threading.Event) -> None:
    """Run *work* in an event loop; the event it is given is set when *stop* is."""

    async def until_stopped() -> None:
        ended = asyncio.Event()
        forwarding = asyncio.create_task(_forward(stop, ended))
        await work(ended)
        forwarding.cancel()

    asyncio.run(until_stopped())


async def _forward(stop: threading.Event, ended: asyncio.Event) -> None:
    # A thread that waits for it would have to be woken when the work ends on its own.
    while not stop.is_set():
        await asyncio.sleep(STOP_INTERVAL)
    ended.set()
