"""Reads bodies: each within its own limits, and all of them within one memory budget.

If the budget is used up, a body waits until another is finished. TCP's flow control stops the
server meanwhile. A lack of memory is our fault: the wait does not count as a slow transfer, and a
wait until the end of the visit's time is an internal error, not a cut page.

Half of the budget is divided among the bodies that may be read at once, so a body of usual size
never waits, whatever other servers send. Larger ones share the other half. One site has at most a
quarter of it, besides the body that it began first, and when it is used up, a much larger body
yields to one that waits: its visit is an internal error, too. The body that became large first
never waits; otherwise bodies could wait for each other forever. Memory stays within the budget,
plus one body, plus the buffers of the sockets.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import aiohttp

from gossamer.services.fetcher.http.connections import RawResponse, read_rest
from gossamer.services.fetcher.outcome import decide_type
from gossamer.services.fetcher.steps import Fetch
from gossamer.settings import FetcherSettings
from gossamer.web.http import Headers, joined_values
from gossamer.web.sniffing import DECIDING_BYTES, declared_type
from gossamer.web.url import Site

NO_SITE = Site("")
LARGER = 2
"""A body yields to one that waits if it is larger by more than this factor."""
MEMORY_USED_UP = "the memory for bodies was used up: this one waited too long, or was the largest"


class BodyBuffer:
    """Collects the pieces of one body, as received, until the limit of its type is reached."""

    def __init__(self, step: Fetch, status: int, headers: Headers) -> None:
        self._step, self._status = step, status
        self._declared = declared_type(headers)
        self._codings = joined_values(headers, "content-encoding")
        self._received = bytearray()
        # The type is decided only for the document of a successful response.
        self._kind = None if status // 100 == 2 else ""
        self._is_accepted, self._limit = True, step.limit

    def append(self, piece: bytes) -> bool:
        """Append *piece*; return whether more is to be read. The first call passes b""."""
        self._received += piece
        if self._kind is None:
            self._decide_type()
        return self._is_accepted and len(self._received) <= self._limit

    def _decide_type(self) -> None:
        beginning = bytes(self._received[:DECIDING_BYTES])
        self._kind = decide_type(self._declared, self._codings, beginning)
        if self._kind is not None:
            self._is_accepted = self._step.accepts(self._status, self._kind)
            self._limit = self._step.limits.get(self._kind, self._limit)

    @property
    def kind(self) -> str:
        """The type of the document; "" if it was not decided before the end of the body."""
        return self._kind or ""

    @property
    def body(self) -> bytes:
        """The bytes of the body within the limit."""
        return bytes(self._received[: self._limit])

    @property
    def truncated(self) -> str:
        """Why the body is cut, as a word of WARC; "" if it is not longer than the limit."""
        return "length" if len(self._received) > self._limit else ""


class TransferRate:
    """Detects a slow body: less than *rate* bytes a second for *window* seconds."""

    def __init__(self, rate: float, window: float, now: float) -> None:
        self._min_size, self._window = rate * window, window
        self.restart(now)

    def restart(self, now: float) -> None:
        """Measure from *now* on, because the body was not read before."""
        self._since, self._size = now, 0

    def is_slow(self, size: int, now: float) -> bool:
        """Count *size* bytes that came by *now*; return whether the last window was slow."""
        self._size += size
        if now - self._since < self._window:
            return False
        slow = self._size < self._min_size
        self.restart(now)
        return slow


class BodyMemoryTimeout(Exception):
    """The time of the visit ended while its body waited for the memory budget, or it yielded."""


class Reservation:
    """The part of the memory budget that one body of *site* uses."""

    def __init__(self, site: Site) -> None:
        self.site, self.size = site, 0
        self.waits = False
        """Whether the body waits for memory, or yields."""
        self.time: asyncio.Timeout | None = None
        """The time of the visit that is left to the body."""

    def end(self) -> None:
        """End the body in favour of others."""
        if self.time and not self.time.expired():
            self.waits = True
            self.time.reschedule(0.0)


class MemoryBudget:
    """A budget of *limit* bytes for all bodies, of which *bodies* are read at once at most."""

    def __init__(self, limit: int, bodies: int = 256) -> None:
        self._own, self._common = limit // (2 * bodies), limit // 2
        self._of_site = self._common // 4
        self.used = 0
        self._large = dict[Reservation, None]()
        """The bodies beyond their own part, in the order in which they became large."""
        self._released = asyncio.Event()

    @contextmanager
    def reserve(self, site: Site = NO_SITE) -> Iterator[Reservation]:
        """Begin a body of *site*; its reservation is released at the end of the block."""
        reservation = Reservation(site)
        try:
            yield reservation
        finally:
            self._large.pop(reservation, None)
            self.used -= reservation.size
            self._released.set()

    async def grow(self, reservation: Reservation, size: int) -> bool:
        """Add *size* bytes to *reservation*; return whether the body had to wait."""
        reservation.size += size
        self.used += size
        if reservation.size <= self._own:
            return False
        self._large.setdefault(reservation)
        while not self._has_memory(reservation):
            reservation.waits = True
            self._released.clear()
            await self._released.wait()
        waited, reservation.waits = reservation.waits, False
        return waited

    def _has_memory(self, reservation: Reservation) -> bool:
        """Return whether a large body may go on. If all memory is used, end a much larger one."""
        of_site = [one for one in self._large if one.site == reservation.site]
        if of_site[0] is not reservation and self._shared_bytes(of_site) > self._of_site:
            return False
        if (
            self._shared_bytes(self._large) <= self._common
            or next(iter(self._large)) is reservation
        ):
            return True
        largest = max(self._large, key=lambda one: one.size)
        if largest.size > LARGER * reservation.size:
            largest.end()
        return False

    def _shared_bytes(self, bodies: Iterable[Reservation]) -> int:
        """Return the bytes that *bodies* use beyond their own parts."""
        return sum(one.size - self._own for one in bodies)


class BodyReader:
    """Reads the bodies of one fetcher. *time* is the time of the event loop."""

    def __init__(self, settings: FetcherSettings, time: Callable[[], float]) -> None:
        self._settings, self._time = settings, time
        self.budget = MemoryBudget(settings.bodies_limit, settings.concurrency)

    async def read(
        self, response: RawResponse, buffer: BodyBuffer, site: Site, deadline: float
    ) -> str:
        """Read a body of *site*; return why it is cut, as a key of `CUT_HAZARDS`, or "".

        Raise BodyMemoryTimeout if it waits for memory until *deadline*, or yields to others.
        """
        if response.content.is_eof():
            # Most bodies came whole with the head: no timer is needed.
            if buffer.append(b""):
                buffer.append(response.content.read_nowait())
            return buffer.truncated
        _set_read_timeout(response, self._settings.between_bytes_limit)
        with self.budget.reserve(site) as reservation:
            cut = await self._read_until(response, buffer, reservation, deadline)
        if cut:
            buffer.append(read_rest(response))
        return buffer.truncated or cut

    async def _read_until(
        self, response: RawResponse, buffer: BodyBuffer, reservation: Reservation, deadline: float
    ) -> str:
        try:
            async with asyncio.timeout_at(deadline) as reservation.time:
                return "" if await self._read_all(response, buffer, reservation) else "slow"
        except aiohttp.SocketTimeoutError:
            return "slow"
        except TimeoutError as error:
            if reservation.waits:
                raise BodyMemoryTimeout(MEMORY_USED_UP) from error
            return "time"
        except (aiohttp.ClientError, OSError):
            return "disconnect"

    async def _read_all(
        self, response: RawResponse, buffer: BodyBuffer, reservation: Reservation
    ) -> bool:
        """Read up to the limit of *buffer*; return False if the body is too slow."""
        rate = TransferRate(self._settings.slow_rate, self._settings.slow_window, self._time())
        if not buffer.append(b""):
            return True
        content = response.content
        async for piece in content.iter_any():
            if not buffer.append(piece):
                return True
            if await self.budget.grow(reservation, len(piece)):
                rate.restart(self._time())
            elif rate.is_slow(len(piece), self._time()) and not content.at_eof():
                return False
        return True


def _set_read_timeout(response: RawResponse, seconds: float) -> None:
    # The session's timeout was for the head. A body that has come whole has no connection.
    if response.connection is not None and (protocol := response.connection.protocol) is not None:
        protocol.read_timeout = seconds
        protocol.start_timeout()
