"""A body while it comes: how much of it is read, and how slowly it may come.

Reads bodies, each within its limits and all of them within the room that there is: memory.

When that is used up, a body waits until another is done: the want of room is ours, and no page is
cut or lost for it. The server finds its connection full meanwhile. So that bodies do not all wait
for each other, the one that was begun first goes on whatever it takes; memory stays within the
limit, one more body, and what the sockets hold.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import aiohttp

from gossamer.settings import FetcherSettings
from gossamer.web.http import Headers, joined_values
from gossamer.web.sniffing import ENOUGH, declared_type
from services.fetcher.http.connections import Answer, rest_of_body
from services.fetcher.outcome import settled_type
from services.fetcher.steps import Fetch


class Reading:
    """Takes the pieces of one body, as received, until it has enough of them."""

    def __init__(self, step: Fetch, status: int, headers: Headers) -> None:
        self._step, self._status = step, status
        self._declared = declared_type(headers)
        self._codings = joined_values(headers, "content-encoding")
        self._received = bytearray()
        # Of what is no document the type says nothing.
        self._kind = None if status // 100 == 2 else ""
        self._wanted, self._limit = True, step.limit

    def take(self, piece: bytes) -> bool:
        """Take in *piece*, b"" before any has come; return whether more is to be read."""
        self._received += piece
        if self._kind is None:
            self._settle()
        return self._wanted and len(self._received) <= self._limit

    def _settle(self) -> None:
        come = bytes(self._received[:ENOUGH])
        self._kind = settled_type(self._declared, self._codings, come)
        if self._kind is not None:
            self._wanted = self._step.wanted(self._status, self._kind)
            self._limit = self._step.limits.get(self._kind, self._limit)

    @property
    def kind(self) -> str:
        """The type of a document, if it was told before the body's end; ""."""
        return self._kind or ""

    @property
    def body(self) -> bytes:
        """What is kept of it."""
        return bytes(self._received[: self._limit])

    @property
    def truncated(self) -> str:
        """Why that is not all, in WARC's words; "" where it may be."""
        return "length" if len(self._received) > self._limit else ""


class Speed:
    """Finds a body slow that brings less than *rate* bytes a second for *window* seconds."""

    def __init__(self, rate: float, window: float, now: float) -> None:
        self._least, self._window = rate * window, window
        self.begin(now)

    def begin(self, now: float) -> None:
        """Measure from *now* on: what came before says nothing, or it was not read."""
        self._since, self._came = now, 0

    def slow(self, size: int, now: float) -> bool:
        """Take in that *size* bytes have come by *now*."""
        self._came += size
        if now - self._since < self._window:
            return False
        slow = self._came < self._least
        self.begin(now)
        return slow


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


class Bodies:
    """Those of one fetcher. *time* is the event loop's."""

    def __init__(self, settings: FetcherSettings, time: Callable[[], float]) -> None:
        self._settings, self._time = settings, time
        self.room = Room(settings.bodies_limit)

    async def read(self, response: Answer, reading: Reading, deadline: float) -> str:
        """Read a body; return why it is not whole, as a key of `CUT`, or "". Raise NoRoom."""
        if response.content.is_eof():
            # It has come whole, as most do: there is nothing to wait for.
            if reading.take(b""):
                reading.take(response.content.read_nowait())
            return reading.truncated
        _allow_between_bytes(response, self._settings.between_bytes_limit)
        with self.room.share() as share:
            cut = await self._cut(response, reading, share, deadline)
        if cut:
            reading.take(rest_of_body(response))
        return reading.truncated or cut

    async def _cut(self, response: Answer, reading: Reading, share: Share, deadline: float) -> str:
        try:
            async with asyncio.timeout_at(deadline):
                return "" if await self._come(response, reading, share) else "slow"
        except aiohttp.SocketTimeoutError:
            return "slow"
        except TimeoutError as error:
            if share.waits:
                raise NoRoom("other bodies took all the room until its time was over") from error
            return "time"
        except (aiohttp.ClientError, OSError):
            return "disconnect"

    async def _come(self, response: Answer, reading: Reading, share: Share) -> bool:
        """Read as much as is wanted; return whether it comes fast enough."""
        speed = Speed(self._settings.slow_rate, self._settings.slow_window, self._time())
        if not reading.take(b""):
            return True
        content = response.content
        async for piece in content.iter_any():
            if not reading.take(piece):
                return True
            if await self.room.grow(share, len(piece)):
                speed.begin(self._time())
            elif speed.slow(len(piece), self._time()) and not content.at_eof():
                return False
        return True


def _allow_between_bytes(response: Answer, seconds: float) -> None:
    # The session's limit was for the head. Once the body has come there is no connection.
    if response.connection is not None and (protocol := response.connection.protocol) is not None:
        protocol.read_timeout = seconds
        protocol.start_timeout()
