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


class Idle(NamedTuple):
    """A connection that is open: what aiohttp calls it, where it leads, when it is closed."""

    key: ConnectionKey
    address: str
    closing: asyncio.TimerHandle


class Kept:
    """At most *most* idle connections, one a host, each for at most *seconds*."""

    def __init__(self, drop: Callable[[ConnectionKey], None], seconds: float, most: int) -> None:
        self._drop, self._seconds, self._most = drop, seconds, most
        self._idle: OrderedDict[str, Idle] = OrderedDict()

    def take(self, host: str, addresses: Container[str]) -> None:
        """Let the next request to *host* have its connection, if that leads to one of *addresses*;
        close it otherwise."""
        idle = self._idle.pop(host, None)
        if idle is None:
            return
        idle.closing.cancel()
        if idle.address not in addresses:
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
        closing = asyncio.get_running_loop().call_later(seconds, self._close, host)
        self._idle[host] = Idle(key, address, closing)
        if len(self._idle) > self._most:
            self._close(next(iter(self._idle)))

    def _close(self, host: str) -> None:
        idle = self._idle.pop(host)
        idle.closing.cancel()
        self._drop(idle.key)
