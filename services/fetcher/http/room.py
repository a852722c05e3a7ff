"""How much memory the bodies may take that are being read.

When that is used up, a body waits until another is done: the want of room is ours, and no page is
to be cut or lost for it. The server finds its connection full meanwhile. So that they do not all
wait for each other, the one that was begun first goes on whatever it takes; memory stays within the
limit, one more body, and what the sockets hold.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class NoRoom(Exception):
    """The visit's time ended while its body waited for others."""


class Share:
    """What one body takes."""

    def __init__(self) -> None:
        self.size = 0
        self.waits = False


class Room:
    """At most *limit* bytes."""

    def __init__(self, limit: int) -> None:
        self._limit, self.used = limit, 0
        self._shares: dict[Share, None] = {}
        self._ended = asyncio.Event()

    @contextmanager
    def share(self) -> Iterator[Share]:
        """Begin a body; what it has taken is free again at the end."""
        share = Share()
        self._shares[share] = None
        try:
            yield share
        finally:
            del self._shares[share]
            self.used -= share.size
            self._ended.set()

    async def grow(self, share: Share, size: int) -> bool:
        """Let a body take *size* bytes more; return whether it had to wait before it may go on."""
        share.size += size
        self.used += size
        while self.used > self._limit and next(iter(self._shares)) is not share:
            share.waits = True
            self._ended.clear()
            await self._ended.wait()
        waited, share.waits = share.waits, False
        return waited
