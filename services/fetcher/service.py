"""The processor: carries out conversations, and ends every order that was begun."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable

import structlog
from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.crawl import accept
from gossamer.errors import GossamerError, Poison, Unavailable
from gossamer.events import (
    BlocklistChanged,
    CrawlDefined,
    Event,
    HostCheckedOut,
    HostOverridden,
    Outcome,
    SiteOverridden,
    SpeedSet,
    VisitEnded,
)
from gossamer.events.topics import VISITS_ORDERED, Topic
from gossamer.retries import waits
from gossamer.runtime.processor import Emitter
from gossamer.telemetry import set_gauge
from gossamer.web.sniffing import PACKED_XML, WHOLE
from gossamer.web.url import host_name
from services.fetcher.http.client import HostClient, Web
from services.fetcher.http.limiters import Admission, Request, Stage
from services.fetcher.limitations import ClockSkew, OwnFault, Pauses
from services.fetcher.outcome import Failure, Reply, count_visit, events, failed, wanting
from services.fetcher.rate_limits import Denied
from services.fetcher.steps import Emit, Fetch, Rest, Step, StepResult, Terms
from services.fetcher.visit import converse, refusal

logger = structlog.get_logger()

EpochOf = Callable[[str], Awaitable[int]]
"""Site → the oldest epoch whose orders are in force; may raise Unavailable."""


class Fetcher:
    """Carries out orders; see `gossamer.runtime.processor.AsyncProcessor`."""

    name = "fetcher"
    reads: tuple[Topic, ...] = (VISITS_ORDERED,)
    begins_once = True

    def __init__(
        self, web: Web, clock: Clock, epoch_of: EpochOf, skew: ClockSkew, pauses: Pauses
    ) -> None:
        self._web, self._clock, self._epoch_of = web, clock, epoch_of
        self._skew, self.pauses = skew, pauses
        settings = web.settings
        self._terms = Terms(
            product=settings.product,
            wanted=wanting(settings.types),
            visit_limit=settings.visit_limit,
            body_limit=settings.body_limit,
            body_limits={
                **dict.fromkeys(WHOLE, settings.pdf_limit),
                PACKED_XML: settings.sitemap_limit,
            },
            sitemap_limit=settings.sitemap_limit,
            robots_limit=settings.robots_limit,
            robots_age=settings.robots_age,
            robots_age_floor=settings.robots_age_floor,
            ranges=settings.ranges,
            cookies=settings.cookies,
            cookie_size=settings.cookie_size,
            blocklist=web.blocklist,
        )
        self._paused: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._open = 0

    def control(self, event: Event) -> None:
        """Pause a crawl, or let it go on; a pause between its visits is cut short. What else is set
        counts for each request from now on: none that is under way is broken off."""
        match event:
            case BlocklistChanged():
                self._web.blocklist.change(event)
            case SpeedSet():
                self._terms.speeds.change(replace(event, at=self._set_at(event)))
            case SiteOverridden():
                self._web.trust.change(event.site, event.certificate)
                self._terms.overridden[event.site] = self._set_at(event)
            case HostOverridden():
                self._web.trust.change_host(event.host, event.certificate)
                self._terms.overridden[event.host] = self._set_at(event)
            case CrawlDefined():
                accept(event)
                paused = self._paused[event.crawl]
                (paused.set if event.paused else paused.clear)()

    def _set_at(self, event: SpeedSet | SiteOverridden | HostOverridden) -> float:
        # Who wrote it may have a clock that is ahead.
        return min(event.at, self._clock())

    async def work(self, event: Event, emit: Emitter) -> None:
        """Carry out the order *event*; whatever happens, its last `VisitEnded` is emitted.

        Raise Poison if it is no order.
        """
        if not isinstance(event, HostCheckedOut) or not event.visits:
            raise Poison("not an order of visits")
        run = OrderRun(event, emit, self._clock, self._skew, self._terms.visit_limit)
        set_gauge("gossamer_fetches_open", self._opened(1))
        try:
            await self._carry_out(run)
        except asyncio.CancelledError:
            run.hand_back("the fetcher was stopped")
            raise
        except Exception as error:
            # An error that needs a person stops the process; any other ends the order alone.
            if isinstance(error, GossamerError) and not isinstance(error, Poison):
                raise
            logger.exception("visit failed", order=event.order, host=event.host)
            run.break_off(error)
        finally:
            set_gauge("gossamer_fetches_open", self._opened(-1))

    def _marked(self, order: HostCheckedOut, emitted: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return *emitted* with what was noticed of the name or its domain meanwhile."""
        noticed = self._web.noticed(host_name(order.host), order.site)
        if not noticed:
            return emitted
        return tuple(
            replace(event, hazards=(*event.hazards, *noticed))
            if isinstance(event, VisitEnded)
            else event
            for event in emitted
        )

    async def _carry_out(self, run: "OrderRun") -> None:
        try:
            if why := await self._refusal(run):
                order = run.order
                logger.info("order not begun", order=order.order, host=order.host, why=why)
                run.hand_back(why)
            else:
                await self._run(run)
        except OwnFault as fault:
            self.pauses.failed(fault, self._clock())
            run.requested_at = 0.0
            run.hand_back(str(fault))

    async def _refusal(self, run: "OrderRun") -> str:
        """Return why the order of *run* must not be begun, or ""; wait for the store in time."""
        order = run.order
        for wait in waits():
            try:
                return await self._refusal_now(run)
            except Unavailable as error:
                if wait > run.left():
                    return f"nothing says in time whether epoch {order.epoch} is in force: {error}"
                logger.warning("order waits", order=order.order, why=str(error), seconds=wait)
                await asyncio.sleep(wait)
        raise AssertionError("waits never end")

    async def _refusal_now(self, run: "OrderRun") -> str:
        """Return why the order of *run* must not be begun, or ""; raise Unavailable if the store
        does not answer."""
        order = run.order
        epoch = await self._epoch_of(order.site)
        if order.epoch >= epoch:
            # An order that an earlier run left on the log is old, whatever the clocks say.
            self._skew.met(order.at, run.came_at)
        return refusal(order, epoch, run.now())

    async def _ask(self, step: Fetch, host: HostClient, run: "OrderRun") -> Reply | Failure:
        """Make a request past its limiters; it is not made if one of them denies it."""
        order = run.order
        request = Request(order.site, order.site_gap, order.pause, len(order.visits), run.left)
        try:
            async with Admission(self._web.limiters, request) as admission:
                await admission.reach(Stage.BEGIN)
                run.requested_at = run.now()
                return await host.fetch(step, admission)
        except Denied as denied:
            return Failure(outcome=Outcome.UNVISITED, reason=str(denied), wait=denied.wait)

    def _opened(self, more: int) -> int:
        self._open += more
        return self._open

    async def _run(self, run: "OrderRun") -> None:
        conversation = converse(run.order, self._terms, run.now())
        host, step = self._web.host(), next(conversation)
        while True:
            result = await self._take(step, host, run)
            try:
                step = conversation.send(result)
            except StopIteration:
                return

    async def _take(self, step: Step, host: HostClient, run: "OrderRun") -> StepResult:
        paused = self._paused[run.order.crawl]
        answer = None
        match step:
            case Rest(seconds=seconds):
                await _rest(seconds, paused)
            case Fetch():
                answer = await self._ask(step, host, run)
                if answer.started_at:
                    answer = replace(answer, started_at=run.reckoned(answer.started_at))
                    self.pauses.worked()
                else:
                    run.requested_at = 0.0
            case Emit(events=emitted):
                run.emit(self._marked(run.order, emitted))
        return StepResult(run.now(), paused.is_set(), answer)


async def _rest(seconds: float, paused: asyncio.Event) -> None:
    if seconds > 0:
        try:
            await asyncio.wait_for(paused.wait(), seconds)
        except TimeoutError:
            return


class OrderRun:
    """One order under way, and how far it has come."""

    def __init__(
        self,
        order: HostCheckedOut,
        emit: Emitter,
        clock: Clock,
        skew: ClockSkew,
        visit_limit: float,
    ) -> None:
        self.order, self._emitter, self._clock, self._skew = order, emit, clock, skew
        self.came_at = clock()
        self._ahead = skew.ahead(order.epoch, order.at, self.came_at)
        self._latest = order.expires_at - visit_limit
        self.requested_at = 0.0
        """When the current visit last made a request; 0 if it has made none."""
        self._ended, self._over = 0, False

    def now(self) -> float:
        """Return the time by which the lease is reckoned: the later of two clocks.

        An order that came after this one may show that the other is ahead: one of the same host, of
        which both were held up here, is proof that this one's lease is over.
        """
        now = self._clock()
        self._ahead = max(self._ahead, self._skew.ahead(self.order.epoch, self.order.at, now))
        return self.reckoned(now)

    def left(self) -> float:
        """Return for how many seconds a request may still start; less than 0 if it may not."""
        return self._latest - self.now()

    def reckoned(self, at: float) -> float:
        """Return a time of this clock by the later of two clocks, as the frontier's plans need it:
        after a visit that seems to be long ago the next one would be due at once."""
        return at + self._ahead

    def emit(self, events: tuple[Event, ...]) -> None:
        """Put *events* on the log and count them; raise Poison if one is too large for that."""
        self._emitter(*events)
        for event in events:
            if isinstance(event, VisitEnded):
                self._ended, self._over = self._ended + 1, event.last
                self.requested_at = 0.0
                count_visit(event)

    def break_off(self, error: Exception) -> None:
        """End the order with the visit at which *error*, a mistake of ours, happened."""
        if self._over:
            return
        reason = f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace").decode()
        mistake = Failure(
            outcome=Outcome.INTERNAL_ERROR, reason=reason, started_at=self.requested_at
        )
        self.emit(events(self.order, self._ended, failed(mistake), True, self.now()))

    def hand_back(self, why: str) -> None:
        """End the order here, so that the frontier need not wait for its lease to expire.

        A request under way may have reached the server, so it is reported.
        """
        if self._over:
            return
        took = self.now() - self.requested_at if self.requested_at else 0.0
        left = Failure(
            outcome=Outcome.UNVISITED, reason=why, started_at=self.requested_at, took=max(0.0, took)
        )
        self.emit(events(self.order, self._ended, failed(left), True, self.now()))
