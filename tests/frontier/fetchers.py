"""Simulated fetchers of different speed, in virtual time, with real frontiers; servers record their
requests.

Connections and turns at a site belong to one fetcher. An order reaches the owner of its
partition at once.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from gossamer.events import Discovery, HostCheckedOut, OrderBegun, UrlsAdmitted, VisitEnded
from gossamer.log import partition_of
from gossamer.services.fetcher.outcome import Reply, accept_types
from gossamer.services.fetcher.rate_limits import SiteRateLimit
from gossamer.services.fetcher.steps import (
    Conversation,
    Delay,
    Emit,
    Fetch,
    StepResult,
    VisitLimits,
)
from gossamer.services.fetcher.visit import converse
from gossamer.services.frontier.service import Frontier
from gossamer.settings import FrontierSettings
from gossamer.settings.sections import DOCUMENTS
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import site_of
from tests.frontier.simulation import START, VISIT_LIMIT, crawl

VISIT_LIMITS = VisitLimits(
    product="gossamer", accepts=accept_types(DOCUMENTS), visit_limit=VISIT_LIMIT,
    body_limit=1 << 20, body_limits={}, sitemap_limit=1 << 20, robots_limit=1 << 19,
    robots_age=86400.0, robots_age_floor=3600.0, requisite_limit=1 << 20,
)  # fmt: skip


class Request(NamedTuple):
    """A request as its server received it."""

    start: float
    end: float
    url: str
    fetcher: int


@dataclass
class Fetcher:
    """A fetcher with *places* concurrent requests, each of *took* seconds, to at most *hosts* hosts
    in turn."""

    took: float
    places: int = 8
    hosts: int = 64
    starts: SiteRateLimit = field(default_factory=SiteRateLimit)
    orders: deque[HostCheckedOut] = field(default_factory=deque)
    """Orders that have not begun."""
    waiting: deque["Run"] = field(default_factory=deque)
    """Hosts whose request waits for a free place."""
    begun: int = 0
    asking: int = 0
    busy: float = 0.0
    """Seconds of all places so far."""


@dataclass
class Run:
    """An order in flight."""

    order: HostCheckedOut
    conversation: Conversation[None]
    fetcher: int
    url: str = ""


class Fleet:
    """A fleet in which *fetchers*, and as many *frontiers*, share the *partitions*, with an empty
    store.

    *balanced*: orders move to partitions with few orders.
    """

    def __init__(
        self,
        fetchers: Sequence[Fetcher],
        partitions: int,
        balanced: bool,
        frontiers: int = 1,
        **settings: object,
    ) -> None:
        self.fetchers, self.partitions, self.balanced = fetchers, partitions, balanced
        self.lagging: set[int] = set()
        """The partitions in which the parser lags."""
        self.settings = FrontierSettings(**{"probe_after": 0, **settings})  # type: ignore[arg-type]
        self.database, self.now = Database(":memory:"), START
        self.requests: list[Request] = []
        self.sent: list[HostCheckedOut] = []
        self._agenda: list[tuple[float, int, Run, str]] = []
        self._count = 0
        self.ended: dict[tuple[str, str], float] = {}
        """(order, host) → the end of its last visit."""
        self._shares = [frozenset(range(n, partitions, frontiers)) for n in range(frontiers)]
        self.frontiers = [self._frontier(share) for share in self._shares]

    def _frontier(self, share: frozenset[int]) -> tuple[Frontier, SqliteStore]:
        store = SqliteStore(self.database)
        lagging = (lambda: self.lagging) if self.balanced else None
        frontier = Frontier(self.settings, store, VISIT_LIMIT, self.partitions, False, lagging)
        frontier.assign(share, self.now)
        frontier.handle(crawl(), self.now)
        frontier.finish_catching_up(share, self.now)
        return frontier, store

    def take_over(self, number: int) -> None:
        """Replace the process that owns the partitions of a frontier. Fetchers refuse its orders
        that have not begun."""
        self.frontiers[number] = self._frontier(self._shares[number])
        for fetcher in self.fetchers:
            for order in [*fetcher.orders]:
                if self.partition(order.site) in self._shares[number]:
                    fetcher.orders.remove(order)
                    self.ended[order.order, order.host] = self.now

    def partition(self, site: str) -> int:
        """Return the partition of *site*."""
        return partition_of(site, self.partitions)

    def where(self, order: HostCheckedOut) -> int:
        """Return the partition that *order* was sent to."""
        return self.partition(order.site) if order.sent_to < 0 else order.sent_to

    def owner(self, site: str) -> Frontier:
        """Return the frontier that owns the partition."""
        return self.frontiers[self.partition(site) % len(self.frontiers)][0]

    def admit(self, sizes: Mapping[str, int]) -> None:
        """Admit *count* URLs of each host."""
        for host, size in sizes.items():
            urls = tuple(Discovery(f"{host}/{page}", 0) for page in range(size))
            event = UrlsAdmitted(at=self.now, site=site_of(host), via="test", urls=urls)
            self.owner(event.site).handle(event, self.now)
        self._settle()

    def run(self, until: float = float("inf")) -> None:
        """Run until all URLs are visited, at most for *seconds*."""
        while self.now < START + until:
            dues = [frontier.due() for frontier, _ in self.frontiers]
            dues += [self._agenda[0][0]] if self._agenda else []
            times = [due for due in dues if due is not None]
            if not times:
                return
            self._pass_time(max(self.now, min(times)))
            self._step()

    def _pass_time(self, now: float) -> None:
        for fetcher in self.fetchers:
            fetcher.busy += fetcher.asking * (now - self.now)
        self.now = now

    def _step(self) -> None:
        while self._agenda and self._agenda[0][0] <= self.now:
            _, _, run, what = heappop(self._agenda)
            getattr(self, what)(run)
        for (frontier, _), share in zip(self.frontiers, self._shares, strict=True):
            if frontier.must_catch_up(self.now):
                frontier.finish_catching_up(share, self.now)
            for event in [*frontier.wake(self.now)]:
                assert isinstance(event, HostCheckedOut)
                self._send(event)
        self._settle()

    def _settle(self) -> None:
        for frontier, store in self.frontiers:
            frontier.settle()
            store.flush()

    def _send(self, order: HostCheckedOut) -> None:
        self.sent.append(order)
        number = self.where(order) % len(self.fetchers)
        self.fetchers[number].orders.append(order)
        self._begin(number)

    def _begin(self, number: int) -> None:
        fetcher = self.fetchers[number]
        while fetcher.orders and fetcher.begun < fetcher.hosts:
            fetcher.begun += 1
            order = fetcher.orders.popleft()
            self._report_begun(order, number)
            self._go_on(Run(order, converse(order, VISIT_LIMITS, self.now), number))

    def _report_begun(self, order: HostCheckedOut, number: int) -> None:
        event = OrderBegun(
            at=self.now,
            site=order.site,
            host=order.host,
            order=order.order,
            fetcher=f"fetcher-{number}",
            offset=0,
        )
        self.owner(order.site).handle(event, self.now)

    def _later(self, seconds: float, run: Run, what: str) -> None:
        self._count += 1
        heappush(self._agenda, (self.now + seconds, self._count, run, what))

    def _end_delay(self, run: Run) -> None:
        self._go_on(run, StepResult(self.now, False))

    def _ask(self, run: Run) -> None:
        fetcher = self.fetchers[run.fetcher]
        fetcher.waiting.append(run)
        while fetcher.waiting and fetcher.asking < fetcher.places:
            fetcher.asking += 1
            asks = fetcher.waiting.popleft()
            self.requests.append(Request(self.now, self.now + fetcher.took, asks.url, asks.fetcher))
            self._later(fetcher.took, asks, "_answer")

    def _answer(self, run: Run) -> None:
        fetcher = self.fetchers[run.fetcher]
        fetcher.asking -= 1
        took = fetcher.took
        status = 404 if run.url.endswith("/robots.txt") else 200
        headers = (("Content-Type", "text/html"),)
        started_at = self.now - took
        reply = Reply(status=status, headers=headers, started_at=started_at, took=took)
        self._go_on(run, StepResult(self.now, False, reply))
        if fetcher.waiting:
            self._ask(fetcher.waiting.popleft())

    def _go_on(self, run: Run, result: StepResult | None = None) -> None:
        try:
            step = next(run.conversation) if result is None else run.conversation.send(result)
            while isinstance(step, Emit):
                for event in step.events:
                    if isinstance(event, VisitEnded):
                        self.ended[event.order, event.host] = self.now
                        self.owner(event.site).handle(event, self.now)
                step = run.conversation.send(StepResult(self.now, False))
        except StopIteration:
            self.fetchers[run.fetcher].begun -= 1
            self._begin(run.fetcher)
            return
        if isinstance(step, Delay):
            self._later(step.seconds, run, "_end_delay")
            return
        assert isinstance(step, Fetch), "a crawl alone keeps no captures"
        order, run.url = run.order, step.url
        wait = self.fetchers[run.fetcher].starts.reserve_start(order.site, order.site_gap, self.now)
        self._later(wait, run, "_ask")

    @property
    def pages(self) -> list[Request]:
        """The requests, except for robots.txt."""
        return [request for request in self.requests if not request.url.endswith("/robots.txt")]

    def idle(self) -> Iterator[float]:
        """Yield for each fetcher the share of time in which its places were free."""
        for fetcher in self.fetchers:
            yield 1 - fetcher.busy / (fetcher.places * (self.now - START))
