"""Connections that nobody uses, kept open for the next request to their host.

One is kept where that request may come before its server hangs up: servers close what is idle after
five seconds to two minutes, and many say when. Its address must still be one that may be visited.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Container
from typing import NamedTuple

from aiohttp.client_reqrep import ConnectionKey

MARGIN = 1.0
"""Seconds by which we hang up before the server does: a request that it no longer reads is lost."""


SWEEP = 1.0
"""Seconds between two looks for what has been idle for too long."""


class Idle(NamedTuple):
    """A connection that is open: what aiohttp calls it, where it leads, until when it is used."""

    key: ConnectionKey
    address: str
    until: float


class Kept:
    """At most *most* idle connections, one a host, each for at most *seconds*."""

    def __init__(self, drop: Callable[[ConnectionKey], None], seconds: float, most: int) -> None:
        self._drop, self._seconds, self._most = drop, seconds, most
        self._idle: OrderedDict[str, Idle] = OrderedDict()
        self._loop = asyncio.get_running_loop()
        self._sweeping = False

    def take(self, host: str, addresses: Container[str]) -> None:
        """Let the next request to *host* have its connection, if that leads to one of *addresses*;
        close it otherwise."""
        idle = self._idle.pop(host, None)
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
        self._idle[host] = Idle(key, address, self._loop.time() + seconds)
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

    def _close(self, host: str) -> None:
        self._drop(self._idle.pop(host).key)
