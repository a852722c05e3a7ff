"""The processor: carries out the steps of conversations, and finishes every order it begins."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

import structlog
from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.crawl import accept
from gossamer.errors import GossamerError, Poison, Unavailable, retry_waits
from gossamer.events import (
    BlocklistChanged,
    CrawlDefined,
    Event,
    FleetPaused,
    HostCheckedOut,
    HostOverridden,
    OrderBegun,
    Outcome,
    PageFetched,
    SiteOverridden,
    SpeedSet,
    VisitEnded,
)
from gossamer.events.topics import VISITS_ORDERED, Topic
from gossamer.log.blobs import keep, may_refer, read_kept, refer
from gossamer.runtime.processor import Emitter
from gossamer.services.fetcher.access import archive_headers
from gossamer.services.fetcher.http.client import HostClient, Web
from gossamer.services.fetcher.http.limiters import Admission, Request, Stage
from gossamer.services.fetcher.limitations import ClockSkew, Limitations, LocalBackoff, LocalFault
from gossamer.services.fetcher.outcome import (
    Failure,
    Reply,
    accept_types,
    count_visit,
    failed_result,
    make_events,
)
from gossamer.services.fetcher.rate_limits import Denied
from gossamer.services.fetcher.steps import (
    Delay,
    Emit,
    Fetch,
    Keep,
    ReadKept,
    Step,
    StepResult,
    VisitLimits,
)
from gossamer.services.fetcher.visit import converse, refusal
from gossamer.telemetry import set_gauge
from gossamer.volumes import Volume, VolumeUnavailable
from gossamer.web.sniffing import PACKED_XML, UNCUTTABLE_TYPES
from gossamer.web.url import Site, host_name
from gossamer.web.usage import policy_of

logger = structlog.get_logger()
T = TypeVar("T")

LARGE_BODIES = "blobs"
"""The kind of the limitation that large bodies cannot be stored."""
MAX_STORE_WAIT = 2.0
"""The last wait in seconds before a body that cannot be stored is given up."""
KEPT_TIMEOUT = 2.0
"""Seconds for which a visit waits until a capture for other crawls is stored or read."""
KEPT_PAUSE = 60.0
"""Seconds without kept captures after the volume did not answer."""
BLOB_WAIT = 60.0
"""Seconds until a URL whose body could not be stored is visited again."""

EpochOf = Callable[[Site], Awaitable[int]]
"""Takes a site; returns the oldest epoch whose orders are valid. May raise Unavailable."""


class BlobStore:
    """Stores bodies of more than *inline_limit* bytes in *volume*, before their events are emitted.

    While the volume is unavailable, `limitations` shows it, and smaller bodies are not affected.
    """

    def __init__(self, volume: Volume, inline_limit: int, limitations: Limitations) -> None:
        self._volume, self._inline_limit, self._limitations = volume, inline_limit, limitations
        self._kept_from = 0.0
        """When kept captures are stored and read again, by the clock of the event loop."""

    async def refer(
        self, events: tuple[Event, ...], remaining_seconds: Callable[[], float]
    ) -> tuple[Event, ...]:
        """Return *events* with references to large bodies; retry for some seconds.

        Raise VolumeUnavailable if a body cannot be stored.
        """
        return tuple([await self._refer_one(event, remaining_seconds) for event in events])

    async def _refer_one(self, event: Event, remaining_seconds: Callable[[], float]) -> Event:
        if not may_refer(event, self._inline_limit):
            return event
        waits = retry_waits()
        while True:
            try:
                found = await asyncio.to_thread(refer, event, self._volume, self._inline_limit)
            except VolumeUnavailable as error:
                self._limitations.report(LARGE_BODIES, f"large bodies cannot be stored: {error}")
                if (wait := next(waits)) > min(MAX_STORE_WAIT, remaining_seconds()):
                    raise
                await asyncio.sleep(wait)
            else:
                self._limitations.report(LARGE_BODIES, "")
                return found

    async def keep(self, page: PageFetched) -> str:
        """Store the capture *page* for other crawls; return the name of its blob, or "" if it
        cannot be stored now. Nothing is lost then: other crawls make a request."""
        return await self._use_kept(partial(keep, page, self._volume)) or ""

    async def read_kept(self, step: ReadKept) -> PageFetched | None:
        """Return a capture of another crawl; None if it cannot be read now."""
        return await self._use_kept(partial(read_kept, step.name, step.url, self._volume))

    async def _use_kept(self, use: Callable[[], T]) -> T | None:
        """Return the result of *use* in a thread; None if the volume does not answer soon, or did
        not answer a short time ago."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._kept_from:
            return None
        try:
            return await asyncio.wait_for(asyncio.to_thread(use), KEPT_TIMEOUT)
        except (VolumeUnavailable, TimeoutError) as error:
            reason = str(error) or f"no answer in {KEPT_TIMEOUT:g} s"
            logger.warning("captures are not shared for now", reason=reason, seconds=KEPT_PAUSE)
            self._kept_from = loop.time() + KEPT_PAUSE
            return None


class Fetcher:
    """Carries out orders; see `gossamer.runtime.processor.AsyncProcessor`."""

    name = "fetcher"
    reads: tuple[Topic, ...] = (VISITS_ORDERED,)
    begins_once = True

    def __init__(
        self,
        web: Web,
        clock: Clock,
        epoch_of: EpochOf,
        skew: ClockSkew,
        backoff: LocalBackoff,
        blobs: BlobStore | None = None,
        instance: str = "",
    ) -> None:
        """*instance*: the name under which begun orders are reported; "" reports none."""
        self._web, self._clock, self._epoch_of, self._blobs = web, clock, epoch_of, blobs
        self._skew, self.backoff, self._instance = skew, backoff, instance
        settings = web.settings
        self._limits = VisitLimits(
            product=settings.product,
            accepts=accept_types(settings.types),
            visit_limit=settings.visit_limit,
            body_limit=settings.body_limit,
            body_limits={
                **dict.fromkeys(UNCUTTABLE_TYPES, settings.pdf_limit),
                PACKED_XML: settings.sitemap_limit,
            },
            sitemap_limit=settings.sitemap_limit,
            robots_limit=settings.robots_limit,
            robots_age=settings.robots_age,
            robots_age_floor=settings.robots_age_floor,
            requisite_limit=settings.requisite_limit,
            archive_headers=archive_headers(settings),
            ranges=settings.ranges,
            cookies=settings.cookies,
            cookie_size=settings.cookie_size,
            blocklist=web.blocklist,
        )
        self._pauses, self._crawls = Pauses(), dict[str, CrawlDefined]()
        self._open = 0

    def control(self, event: Event) -> None:
        """Pause or resume crawls, or apply changed purposes, a blocklist, speed or override.

        Pausing ends the wait between visits. Other changes apply to the next request; requests in
        flight are not aborted.
        """
        match event:
            case BlocklistChanged():
                self._web.blocklist.change(event)
            case SpeedSet():
                self._limits.speeds.change(replace(event, at=self._set_at(event)))
            case SiteOverridden():
                self._web.trust.change(event.site, event.certificate)
                self._limits.overridden[event.site] = self._set_at(event)
            case HostOverridden():
                self._web.trust.change_host(event.host, event.certificate)
                self._limits.overridden[event.host] = self._set_at(event)
            case CrawlDefined():
                accept(event, self._crawls.get(event.crawl))
                self._crawls[event.crawl] = event
                self._limits.usage[event.crawl] = policy_of(event)
                self._pauses.pause(event.crawl, event.paused)
            case FleetPaused():
                self._pauses.pause_all(event.paused)

    def _set_at(self, event: SpeedSet | SiteOverridden | HostOverridden) -> float:
        # The writer's clock may be ahead.
        return min(event.at, self._clock())

    def announce(self, event: Event, offset: int) -> Iterable[Event]:
        """Return the report that the order *event* is begun, if this fetcher has a name."""
        if not self._instance or not isinstance(event, HostCheckedOut):
            return ()
        begun = OrderBegun(
            crawl=event.crawl,
            at=self._clock(),
            site=event.site,
            host=event.host,
            order=event.order,
            fetcher=self._instance,
            offset=offset,
        )
        return (begun,)

    async def work(self, event: Event, emit: Emitter) -> None:
        """Carry out the order *event*, and emit its last `VisitEnded` unless the process fails.

        Raise Poison if *event* is not an order.
        """
        if not isinstance(event, HostCheckedOut) or not event.visits:
            raise Poison("not an order of visits")
        run = OrderRun(event, emit, self._clock, self._skew, self._limits.visit_limit)
        set_gauge("gossamer_fetches_open", self._count_open(1))
        try:
            await self._carry_out(run)
        except asyncio.CancelledError:
            run.return_order("the fetcher was stopped")
            raise
        except Exception as error:
            # An error that needs a person stops the process. Any other error ends only the order.
            if isinstance(error, GossamerError) and not isinstance(error, Poison):
                raise
            logger.exception(
                "visit failed with an internal error", order=event.order, host=event.host
            )
            run.fail_order(error)
        finally:
            set_gauge("gossamer_fetches_open", self._count_open(-1))

    def _add_hazards(self, order: HostCheckedOut, emitted: tuple[Event, ...]) -> tuple[Event, ...]:
        """Return *emitted* with the hazards that lookups have found for the host or its domain."""
        hazards = self._web.pop_hazards(host_name(order.host), order.site)
        if not hazards:
            return emitted
        return tuple(
            replace(event, hazards=(*event.hazards, *hazards))
            if isinstance(event, VisitEnded)
            else event
            for event in emitted
        )

    async def _carry_out(self, run: "OrderRun") -> None:
        try:
            if reason := await self._refusal(run):
                order = run.order
                logger.info("order not begun", order=order.order, host=order.host, reason=reason)
                run.return_order(reason)
            else:
                await self._run(run)
        except LocalFault as fault:
            self.backoff.record_fault(fault, self._clock())
            run.requested_at = 0.0
            run.return_order(str(fault))
        except VolumeUnavailable as error:
            # The page is lost, and its host is not to blame: the URL is visited again.
            run.return_order(f"a large body cannot be stored: {error}", BLOB_WAIT)

    async def _refusal(self, run: "OrderRun") -> str:
        """Return why the order of *run* must not be begun, or ""; wait for an unavailable store."""
        order, waits = run.order, retry_waits()
        while True:
            try:
                return await self._refusal_now(run)
            except Unavailable as error:
                if (wait := next(waits)) > run.remaining_seconds():
                    what = f"whether epoch {order.epoch} is in force"
                    return f"the store did not say in time {what}: {error}"
                logger.warning(
                    "store unavailable: order waits",
                    order=order.order,
                    reason=str(error),
                    seconds=wait,
                )
                await asyncio.sleep(wait)

    async def _refusal_now(self, run: "OrderRun") -> str:
        """Return why the order of *run* must not be begun, or "".

        Raise Unavailable if the store does not answer.
        """
        order = run.order
        epoch = await self._epoch_of(order.site)
        if order.epoch >= epoch:
            # An order of an older epoch is old anyway, and says nothing about the clocks.
            self._skew.record_order(order.at, run.received_at)
        return refusal(order, epoch, run.now())

    async def _ask(self, step: Fetch, host: HostClient, run: "OrderRun") -> Reply | Failure:
        """Take a request through its limiters and make it, unless a limiter denies it."""
        order = run.order
        request = Request(
            order.site, order.site_gap, order.pause, len(order.visits), run.remaining_seconds
        )
        try:
            async with Admission(self._web.limiters, request) as admission:
                await admission.reach(Stage.BEGIN)
                run.requested_at = run.now()
                return await host.fetch(step, admission)
        except Denied as denied:
            return Failure(outcome=Outcome.UNVISITED, reason=str(denied), wait=denied.wait)

    def _count_open(self, more: int) -> int:
        self._open += more
        return self._open

    async def _run(self, run: "OrderRun") -> None:
        conversation = converse(run.order, self._limits, run.now())
        host, step = self._web.host(), next(conversation)
        while True:
            result = await self._carry_out_step(step, host, run)
            try:
                step = conversation.send(result)
            except StopIteration:
                return

    async def _carry_out_step(self, step: Step, host: HostClient, run: "OrderRun") -> StepResult:
        paused = self._pauses.of(run.order.crawl)
        response, page, kept = None, None, ""
        match step:
            case Delay(seconds=seconds):
                await _wait(seconds, paused)
            case Fetch():
                response = await self._ask(step, host, run)
                if response.started_at:
                    response = replace(response, started_at=run.to_lease_time(response.started_at))
                    self.backoff.record_request()
                else:
                    run.requested_at = 0.0
            case ReadKept():
                page = await self._blobs.read_kept(step) if self._blobs else None
            case Keep():
                kept = await self._blobs.keep(step.page) if self._blobs else ""
            case Emit(events=emitted):
                emitted = self._add_hazards(run.order, emitted)
                if self._blobs:
                    emitted = await self._blobs.refer(emitted, run.remaining_seconds)
                run.emit(emitted)
        return StepResult(run.now(), paused.is_set(), response, page, kept)


class Pauses:
    """The crawls that are paused, alone or all together, as events that end a wait."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self._paused, self._are_all_paused = set[str](), False

    def of(self, crawl: str) -> asyncio.Event:
        """Return the event of *crawl*, which is set while it is paused."""
        event = self._events.get(crawl)
        if event is None:
            event = self._events[crawl] = asyncio.Event()
            self._update(crawl)
        return event

    def pause(self, crawl: str, is_paused: bool) -> None:
        """Pause or resume one crawl."""
        (self._paused.add if is_paused else self._paused.discard)(crawl)
        self._update(crawl)

    def pause_all(self, are_paused: bool) -> None:
        """Pause all crawls together, or end that."""
        self._are_all_paused = are_paused
        for crawl in self._events:
            self._update(crawl)

    def _update(self, crawl: str) -> None:
        if event := self._events.get(crawl):
            is_paused = self._are_all_paused or crawl in self._paused
            (event.set if is_paused else event.clear)()


async def _wait(seconds: float, paused: asyncio.Event) -> None:
    if seconds > 0:
        try:
            await asyncio.wait_for(paused.wait(), seconds)
        except TimeoutError:
            return


class OrderRun:
    """An order that is carried out: its progress and its lease."""

    def __init__(
        self,
        order: HostCheckedOut,
        emit: Emitter,
        clock: Clock,
        skew: ClockSkew,
        visit_limit: float,
    ) -> None:
        self.order, self._emitter, self._clock, self._skew = order, emit, clock, skew
        self.received_at = clock()
        self._ahead = skew.seconds_ahead(order.epoch, order.at, self.received_at)
        self._latest, self._visit_limit = order.expires_at - visit_limit, visit_limit
        self.requested_at = 0.0
        """When the current visit made its last request; 0 if it has made none."""
        self._finished_visits, self._is_finished = 0, False

    def now(self) -> float:
        """Return the time for the lease: by the later of this clock and the frontier's.

        A later order may show that the frontier's clock is ahead. For example, a second order of
        the same host proves that the lease of this order has expired.
        """
        now = self._clock()
        self._ahead = max(
            self._ahead, self._skew.seconds_ahead(self.order.epoch, self.order.at, now)
        )
        return self.to_lease_time(now)

    def remaining_seconds(self) -> float:
        """Return the seconds in which a request may still start; negative if it is too late."""
        return self._latest - self.now()

    def to_lease_time(self, at: float) -> float:
        """Convert a time of this clock to the later of the two clocks.

        The frontier plans the next visit with this time. By a clock that is behind, the next visit
        would be due at once.
        """
        return at + self._ahead

    def emit(self, events: tuple[Event, ...]) -> None:
        """Append *events* to the log and count them; raise Poison if one is too large."""
        self._emitter(*events)
        for event in events:
            if isinstance(event, VisitEnded):
                self._finished_visits, self._is_finished = self._finished_visits + 1, event.last
                self.requested_at = 0.0
                if event.lease:
                    end = event.at + event.lease - self._visit_limit
                    self._latest = min(self._latest, end)
                count_visit(event)

    def fail_order(self, error: Exception) -> None:
        """End the order at the current visit, which failed with the internal *error*."""
        if self._is_finished:
            return
        reason = f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace").decode()
        failure = Failure(
            outcome=Outcome.INTERNAL_ERROR, reason=reason, started_at=self.requested_at
        )
        self._finish(failure)

    def return_order(self, reason: str, wait: float = 0.0) -> None:
        """End the order now, so that the frontier need not wait for its lease to expire.

        The order may be made again in *wait* seconds. A request in flight may have reached the
        server, so it is reported.
        """
        if self._is_finished:
            return
        took = self.now() - self.requested_at if self.requested_at else 0.0
        failure = Failure(
            outcome=Outcome.UNVISITED,
            reason=reason,
            wait=wait,
            started_at=self.requested_at,
            took=max(0.0, took),
        )
        self._finish(failure)

    def _finish(self, failure: Failure) -> None:
        result, index = failed_result(failure), self._finished_visits
        self.emit(make_events(self.order, index, result, True, self.now()))
