"""A body while it comes: how much of it is read, and how slowly it may come."""

from gossamer.web.http import Headers, joined_values
from gossamer.web.sniffing import ENOUGH, declared_type
from services.fetcher.steps import Fetch
from services.fetcher.wanted import settled_type


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
