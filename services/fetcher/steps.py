"""The steps of a conversation and their results. `service.py` carries the steps out.

A conversation is a generator: it yields a step, and receives the result of the step and the time.
So all of politeness is decided without a clock or a socket, and tested in virtual time.
"""

from collections.abc import Generator, Mapping
from math import inf
from typing import TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.events import Event, HostCheckedOut, Outcome, PageFetched, SharedCapture
from gossamer.services.fetcher.outcome import Accepts, Exchange, Failure, Reply, mark_partial
from gossamer.speed import PROPAGATION_SECONDS, Speeds
from gossamer.web.cookies import Cookie, Jar
from gossamer.web.http import Headers
from gossamer.web.url import host_name
from gossamer.web.usage import Category, UsagePolicy
from gossamer.web.walls import Walls

T = TypeVar("T")


class Delay(Struct, frozen=True):
    """Wait for *seconds*, or until the crawl is paused."""

    seconds: float


class Fetch(Struct, frozen=True):
    """Request *url*; read at most *limit* bytes of its body, while its type is accepted."""

    url: str
    accepts: Accepts
    limit: int
    headers: Headers = ()
    """Headers beside the headers of every request."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Document type → limit in bytes, in place of *limit*."""
    sign: bool = False
    """Whether the request is signed, because the host asked for signatures."""


class ReadKept(Struct, frozen=True):
    """Read the capture of *url* that another crawl has made, from the blob *name*."""

    name: str
    url: str


class Keep(Struct, frozen=True):
    """Store *page* as a blob, so that other crawls may take it."""

    page: PageFetched


class Emit(Struct, frozen=True):
    """Append *events* to the log, all or none."""

    events: tuple[Event, ...]


class StepResult(Struct, frozen=True):
    """The result of a step; *response* is None unless a request was made. *now* is epoch
    seconds."""

    now: float
    paused: bool
    response: Reply | Failure | None = None
    page: PageFetched | None = None
    """The capture that was read; None if it is missing."""
    kept: str = ""
    """The name of the blob that was stored; "" if it could not be stored."""


Step = Delay | Fetch | ReadKept | Keep | Emit
Conversation: TypeAlias = Generator[Step, StepResult, T]


class VisitLimits(Struct, frozen=True):
    """The limits of a visit; see `gossamer.settings.FetcherSettings`."""

    product: str
    accepts: Accepts
    visit_limit: float
    body_limit: int
    body_limits: Mapping[str, int]
    """Document type → limit in bytes, in place of *body_limit*."""
    sitemap_limit: int
    robots_limit: int
    robots_age: float
    robots_age_floor: float
    requisite_limit: int
    archive_headers: Headers = ()
    """Headers of the requests of a crawl with the purpose `archive`."""
    ranges: bool = False
    """Whether requests have a Range header for the bytes that are read."""
    cookies: int = 0
    cookie_size: int = 0
    blocklist: Blocklist = field(default_factory=Blocklist)
    speeds: Speeds = field(default_factory=Speeds)
    overridden: dict[str, float] = field(default_factory=dict)
    """Site or host name → when its overrides last changed."""
    usage: dict[str, UsagePolicy] = field(default_factory=dict)
    """Crawl → its purposes. Blocklist, speeds, overrides and purposes may change during visits."""


class Pace:
    """Makes the requests of one order: with a pause between them, and within the lease."""

    def __init__(self, order: HostCheckedOut, limits: VisitLimits, now: float) -> None:
        self.order, self.limits, self.now = order, limits, now
        self._ends_at = order.expires_at
        self._pause = 0.0
        self._jar = Jar(order.cookies, limits.cookies, limits.cookie_size)
        self.tries_cookie_walls = limits.cookies > 0
        """Whether a redirect to another URL is followed as a possible cookie wall: until the first
        redirect that was not a wall."""
        self.walls = Walls()
        """Recognises the challenges among the responses of the host."""
        self.refused_headers = frozenset[str]()
        """Headers that the host has refused, and that are not sent for the rest of the order."""
        self.reason = ""
        """Why the order has to end."""
        self.wait = 0.0
        """Seconds after which the order may be made again; 0 if that is not known."""
        self._exchanges: list[Exchange] = []
        """The responses since the last call of `pop_exchanges`."""

    def request(self, request: Fetch) -> Conversation[Reply | Failure | None]:
        """Wait for the pause, then make *request*; return None if the order must end now.

        The order must end if the crawl is paused, its speed or an override has changed, the URL is
        blocklisted, or the request could outlast the lease. If the server has just closed the
        reused connection, the request is repeated once after another pause: most likely the server
        did not read it.
        """
        response = yield from self._request_once(request)
        if isinstance(response, Failure) and response.stale:
            return (yield from self._request_once(request)) or response
        return response

    def _request_once(self, request: Fetch) -> Conversation[Reply | Failure | None]:
        if self._outlasts_lease(self._pause):
            return None
        result = yield Delay(self._pause)
        self.now = result.now
        if result.paused:
            self.reason = "the crawl is paused"
            return None
        if self._must_stop(request.url):
            return None
        if self._outlasts_lease(0.0):
            return None
        if cookie := self.cookie(request.url):
            request = replace(request, headers=(*request.headers, *cookie))
        policy = self.limits.usage.get(self.order.crawl)
        if policy and Category.ARCHIVE in policy.purposes:
            request = replace(request, headers=(*request.headers, *self.limits.archive_headers))
        if self.order.sign:
            request = replace(request, sign=True)
        result = yield request
        self.now = result.now
        response = result.response
        assert response
        if isinstance(response, Failure) and response.outcome is Outcome.UNVISITED:
            self.reason, self.wait = response.reason, response.wait
            return None
        self._pause = max(self.order.pause, self.order.pause_factor * response.took)
        if not isinstance(response, Reply):
            return response
        if not response.tls.fault:
            self._jar.take(request.url, response.headers, self.now)
        if any(name == "Range" for name, _ in request.headers):
            response = mark_partial(response)
        self._exchanges.append(Exchange(request.url, response))
        return response

    def pop_exchanges(self) -> tuple[Exchange, ...]:
        """Return the responses since the last call, with the URLs of their requests."""
        popped, self._exchanges = tuple(self._exchanges), []
        return popped

    def read_capture(self, shared: SharedCapture, url: str) -> Conversation[PageFetched | None]:
        """Return the *shared* capture of *url*; None if it is missing, or if a request for the URL
        would end the order now."""
        result = yield ReadKept(shared.blob, url)
        self.now = result.now
        ends = result.paused or self._must_stop(url) or self._outlasts_lease(0.0)
        return None if ends else result.page

    def shorten_lease(self, ended: int) -> float:
        """Return the seconds of the lease once *ended* visits have ended. It never ends later than
        before: the frontier may not have the outcome in time."""
        # The pause after a slow visit may be longer than that of the order.
        longer = max(0.0, self._pause - self.order.pause)
        lease = self.order.lease_after(ended, self.limits.visit_limit) + longer
        self._ends_at = min(self._ends_at, self.now + lease)
        return lease

    def cookie(self, url: str) -> Headers:
        """Return the Cookie header of a request for *url*; () if there is no cookie."""
        return self._jar.header(url, self.now)

    def new_cookies(self) -> tuple[Cookie, ...]:
        """Return the cookies that were set or deleted since the last call."""
        return self._jar.changes()

    def _must_stop(self, url: str) -> bool:
        if rule := self.limits.blocklist.of_url(url):
            self.reason = forbidden_by(rule)
        elif self.limits.speeds.is_outdated(self.order.at, self.now):
            self.reason = "the speed of the crawl has changed since the order"
        elif self.order.at < self._overridden_at() + PROPAGATION_SECONDS:
            self.reason = "the overrides of its site have changed since the order"
        return bool(self.reason)

    def _overridden_at(self) -> float:
        at, order = self.limits.overridden, self.order
        return max(at.get(order.site, -inf), at.get(host_name(order.host), -inf))

    def _outlasts_lease(self, pause: float) -> bool:
        if self.now + pause + self.limits.visit_limit <= self._ends_at:
            return False
        self.reason = "the next request could outlast the lease"
        return True
