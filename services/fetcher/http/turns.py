"""Whose turn it is at a host: a request that leads away from its order's host waits there too.

An order has its host to itself. But a robots.txt may redirect to another host (RFC 9309, 2.3.1.2),
which another order may be visiting now, or visited a moment ago. So every request takes a turn at
the host it goes to. The requests of the host's own order wait no longer than their own pause,
unless such a visitor came in between. Turns are those of one process: a fleet's fetchers do not
know of each other's.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

REMEMBERED = 10_000
"""Hosts beyond which those are forgotten whose pause is over."""


@dataclass
class Turn:
    """A host that is being visited, or was."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0
    pause: float = 0.0
    """That of the last order for this host; a visitor's until there was one."""


class Turns:
    """The turns of one process. *clock* is monotonic."""

    def __init__(self, clock: Callable[[], float], remembered: int = REMEMBERED) -> None:
        self._clock, self._remembered = clock, remembered
        self._turns: OrderedDict[str, Turn] = OrderedDict()

    @asynccontextmanager
    async def take(self, host: str, pause: float, own: bool) -> AsyncIterator[float]:
        """Wait until *host* may be asked, and hold it for the block; yield the pause it is due.

        *own* says that *pause* is that of an order for this host, not of a visitor's.
        """
        turn = self._turn(host)
        if own or not turn.pause:
            turn.pause = pause
        async with turn.lock:
            await asyncio.sleep(turn.free_at - self._clock())
            try:
                yield turn.pause
            finally:
                turn.free_at = self._clock() + turn.pause

    def _turn(self, host: str) -> Turn:
        turn = self._turns.setdefault(host, Turn())
        self._turns.move_to_end(host)
        if len(self._turns) > self._remembered:
            self._forget()
        return turn

    def _forget(self) -> None:
        now = self._clock()
        over = [h for h, t in self._turns.items() if t.free_at <= now and not t.lock.locked()]
        for host in over:
            del self._turns[host]
