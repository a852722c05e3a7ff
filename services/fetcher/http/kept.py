"""Connections that nobody uses, kept open for the next request to their host.

One is kept where that request may come before its server hangs up: servers close what is idle after
five seconds to two minutes, and many say when. Its address must still be one that may be visited.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Container
from typing import NamedTuple

from aiohttp.client_reqrep import ConnectionKey

from services.fetcher.turns import crowd_of

MARGIN = 1.0
"""Seconds by which we hang up before the server does: a request that it no longer reads is lost."""


SWEEP = 1.0
"""Seconds between two looks for what has been idle for too long."""


class Idle(NamedTuple):
    """A connection that is open: what aiohttp calls it, where it leads, until when it is used."""

    key: ConnectionKey
    address: str
    crowd: str
    """See `crowd_of`."""
    until: float


class Kept:
    """At most *most* idle connections, one a host, each for at most *seconds*."""

    def __init__(self, drop: Callable[[ConnectionKey], None], seconds: float, most: int) -> None:
        self._drop, self._seconds, self._most = drop, seconds, most
        self._idle: OrderedDict[str, Idle] = OrderedDict()
        self._loop = asyncio.get_running_loop()
        self._sweeping = False
        self._at = Counter[str]()
        """How many there are at each address, by crowd."""

    def take(self, host: str, addresses: Container[str]) -> None:
        """Let the next request to *host* have its connection, if that leads to one of *addresses*;
        close it otherwise."""
        idle = self._pop(host) if host in self._idle else None
        if idle and (idle.address not in addresses or idle.until < self._loop.time()):
            self._drop(idle.key)

    def keep(
        self, host: str, key: ConnectionKey, address: str, delay: float, patience: float
    ) -> None:
        """Keep a connection to *host*, of which the next request comes after *delay* seconds at the
        earliest and which its server keeps for *patience* seconds; close it if that is too long."""
        seconds = min(self._seconds, patience - MARGIN)
        if delay >= seconds:
            self._drop(key)
            return
        crowd = crowd_of(address)
        self._idle[host] = Idle(key, address, crowd, self._loop.time() + seconds)
        self._at[crowd] += 1
        if len(self._idle) > self._most:
            self._close(next(iter(self._idle)))
        if not self._sweeping:
            self._sweep()

    def _sweep(self) -> None:
        now = self._loop.time()
        for host in [host for host, idle in self._idle.items() if idle.until < now]:
            self._close(host)
        # A timer for each request would cost more than all of this.
        self._sweeping = bool(self._idle)
        if self._sweeping:
            self._loop.call_later(min(SWEEP, self._seconds), self._sweep)

    def at(self, crowd: str) -> int:
        """Return how many there are at an address."""
        return self._at[crowd]

    def drop_one(self, crowd: str) -> None:
        """Close the oldest at an address."""
        self._close(next(host for host, idle in self._idle.items() if idle.crowd == crowd))

    def _close(self, host: str) -> None:
        self._drop(self._pop(host).key)

    def _pop(self, host: str) -> Idle:
        idle = self._idle.pop(host)
        self._at[idle.crowd] -= 1
        if not self._at[idle.crowd]:
            del self._at[idle.crowd]
        return idle
