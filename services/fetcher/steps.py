"""What a conversation consists of: steps that somebody else takes, and what it is told of them.

A conversation is a generator: it yields a step, and gets back how the step went and what time it
is. So the whole of politeness is decided here, without a clock or a socket.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from gossamer.events import Event, HostCheckedOut
from services.fetcher.outcome import Failure, Reply, Wanted

T = TypeVar("T")


@dataclass(frozen=True)
class Rest:
    """Leave the host alone for so many seconds, or until the crawl is paused."""

    seconds: float


@dataclass(frozen=True)
class Ask:
    """Make this request, and read at most *limit* bytes of the body if it is *wanted*."""

    url: str
    wanted: Wanted
    limit: int


@dataclass(frozen=True)
class Say:
    """Put these events on the log, together."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class Told:
    """How a step went: *answer* only if it was a request. *now* is epoch seconds."""

    now: float
    paused: bool
    answer: Reply | Failure | None = None


Step = Rest | Ask | Say
Talk: TypeAlias = Generator[Step, Told, T]


@dataclass(frozen=True)
class Terms:
    """What the settings say about every visit; see `gossamer.config.FetcherSettings`."""

    product: str
    visit_limit: float
    body_limit: int
    robots_limit: int
    robots_age: float


class Pace:
    """Keeps the requests of one order apart, and within its lease."""

    def __init__(self, order: HostCheckedOut, terms: Terms, now: float) -> None:
        self.order, self.terms, self.now = order, terms, now
        self._pause = 0.0

    def ask(self, request: Ask) -> Talk[Reply | Failure | None]:
        """Rest as long as is due, then make *request*; None if the order must end before."""
        if self._late(self._pause):
            return None
        told = yield Rest(self._pause)
        self.now = told.now
        if told.paused or self._late(0.0):
            return None
        told = yield request
        self.now = told.now
        if told.answer is not None:
            slow = self.order.pause_factor * told.answer.took
            self._pause = max(self.order.pause, slow)
        return told.answer

    def _late(self, pause: float) -> bool:
        return self.now + pause + self.terms.visit_limit > self.order.expires_at
