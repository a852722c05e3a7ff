"""The steps of a conversation, which somebody else takes, and their results.

A conversation is a generator: it yields a step and receives how the step went and what time it is.
So all of politeness is decided without a clock or a socket, and tested in virtual time.
"""

from collections.abc import Generator, Mapping
from math import inf
from typing import TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.events import Event, HostCheckedOut, Outcome
from gossamer.speed import PROPAGATION_SECONDS, Speeds
from gossamer.web.cookies import Cookie, Jar
from gossamer.web.http import Headers
from gossamer.web.url import host_name
from services.fetcher.outcome import Failure, Reply, Wanted

T = TypeVar("T")


class Rest(Struct, frozen=True):
    """Leave the host alone for *seconds*, or until the crawl is paused."""

    seconds: float


class Fetch(Struct, frozen=True):
    """Request *url*; while its body is *wanted*, read at most *limit* bytes of it."""

    url: str
    wanted: Wanted
    limit: int
    headers: Headers = ()
    """Those that are sent beside those of every request."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Of types that have a limit of their own."""


class Emit(Struct, frozen=True):
    """Put *events* on the log, all or none."""

    events: tuple[Event, ...]


class StepResult(Struct, frozen=True):
    """How a step went; *answer* is None unless a request was made. *now* is epoch seconds."""

    now: float
    paused: bool
    answer: Reply | Failure | None = None


Step = Rest | Fetch | Emit
Conversation: TypeAlias = Generator[Step, StepResult, T]


class Terms(Struct, frozen=True):
    """The limits of a visit; see `gossamer.settings.FetcherSettings`."""

    product: str
    wanted: Wanted
    visit_limit: float
    body_limit: int
    body_limits: Mapping[str, int]
    """Of types that have a limit of their own."""
    sitemap_limit: int
    robots_limit: int
    robots_age: float
    robots_age_floor: float
    ranges: bool = False
    """Whether documents are asked for as far as they are read."""
    cookies: int = 0
    cookie_size: int = 0
    blocklist: Blocklist = field(default_factory=Blocklist)
    speeds: Speeds = field(default_factory=Speeds)
    overridden: dict[str, float] = field(default_factory=dict)
    """By site, and by the name of a host, when it was last changed what is different there. All
    three change meanwhile."""


class Pace:
    """Keeps a pause between the requests of one order, and all of them within its lease."""

    def __init__(self, order: HostCheckedOut, terms: Terms, now: float) -> None:
        self.order, self.terms, self.now = order, terms, now
        self._pause = 0.0
        self._jar = Jar(order.cookies, terms.cookies, terms.cookie_size)
        self.probes_walls = terms.cookies > 0
        """Whether a redirect to another URL is tried as a cookie wall: until one was not a wall."""
        self.why = ""
        """Why the order had to end …"""
        self.wait = 0.0
        """… and in how many seconds the host may have its turn, if that is known."""

    def ask(self, request: Fetch) -> Conversation[Reply | Failure | None]:
        """Rest for the pause that is due, then make *request*; None if the order must end now.

        It must when the crawl is paused or has another speed than when it was ordered, the URL is
        blocklisted, or the lease could expire under the request. If it met a kept connection that
        its server was just closing, it is made once more after another pause: most likely nobody
        has read it.
        """
        answer = yield from self._ask_once(request)
        if isinstance(answer, Failure) and answer.stale:
            return (yield from self._ask_once(request)) or answer
        return answer

    def _ask_once(self, request: Fetch) -> Conversation[Reply | Failure | None]:
        if self._late(self._pause):
            return None
        result = yield Rest(self._pause)
        self.now = result.now
        if result.paused:
            self.why = "the crawl is paused"
            return None
        if self._held_back(request.url):
            return None
        if self._late(0.0):
            return None
        if cookie := self.cookie(request.url):
            request = replace(request, headers=(*request.headers, *cookie))
        result = yield request
        self.now = result.now
        answer = result.answer
        assert answer
        if isinstance(answer, Failure) and answer.outcome is Outcome.UNVISITED:
            self.why, self.wait = answer.reason, answer.wait
            return None
        self._pause = max(self.order.pause, self.order.pause_factor * answer.took)
        if isinstance(answer, Reply):
            self._jar.take(request.url, answer.headers, self.now)
        return answer

    def cookie(self, url: str) -> Headers:
        """Return the Cookie header that a request for *url* has; () without any."""
        return self._jar.header(url, self.now)

    def new_cookies(self) -> tuple[Cookie, ...]:
        """Return, once, the cookies that were set or deleted since this was last asked."""
        return self._jar.changes()

    def _held_back(self, url: str) -> bool:
        if rule := self.terms.blocklist.of_url(url):
            self.why = forbidden_by(rule)
        elif self.terms.speeds.is_outdated(self.order.at, self.now):
            self.why = "the crawl has another speed than when it was ordered"
        elif self.order.at < self._overridden_at() + PROPAGATION_SECONDS:
            self.why = "what is set for its site has changed since it was ordered"
        return bool(self.why)

    def _overridden_at(self) -> float:
        at, order = self.terms.overridden, self.order
        return max(at.get(order.site, -inf), at.get(host_name(order.host), -inf))

    def _late(self, pause: float) -> bool:
        if self.now + pause + self.terms.visit_limit <= self.order.expires_at:
            return False
        self.why = "the lease could end under the next request"
        return True
