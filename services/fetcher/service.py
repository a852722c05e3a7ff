"""The job: carries conversations out, and sees to it that every order begun comes to an end."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable

import structlog

from gossamer.clock import Clock
from gossamer.errors import GossamerError, Poison
from gossamer.events import CrawlDefined, Event, HostCheckedOut, Outcome, VisitEnded
from gossamer.telemetry import count, gauge
from gossamer.topics import VISITS_ORDERED, Topic
from gossamer.url import host_key
from gossamer.worker import Emit
from services.fetcher.ending import events, failed
from services.fetcher.outcome import Failure
from services.fetcher.steps import Ask, Rest, Say, Step, Terms, Told
from services.fetcher.turns import Turns
from services.fetcher.visit import converse, refusal
from services.fetcher.web import HostClient, Web

logger = structlog.get_logger()

EpochOf = Callable[[str], Awaitable[int]]
"""Site → the oldest epoch whose orders count."""


class Fetcher:
    """Visits what is ordered; see `gossamer.worker.Job`."""

    name = "fetcher"
    reads: tuple[Topic, ...] = (VISITS_ORDERED,)
    begins_once = True

    def __init__(self, web: Web, clock: Clock, epoch_of: EpochOf) -> None:
        self._web, self._clock, self._epoch_of = web, clock, epoch_of
        settings = web.settings
        self._terms = Terms(
            product=settings.product,
            visit_limit=settings.visit_limit,
            body_limit=settings.body_limit,
            robots_limit=settings.robots_limit,
            robots_age=settings.robots_age,
        )
        self._paused: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._turns = Turns(asyncio.get_running_loop().time)
        self._open = 0

    def control(self, event: Event) -> None:
        """Learn whether a crawl runs; what rests is woken to hear it."""
        if isinstance(event, CrawlDefined):
            paused = self._paused[event.crawl]
            (paused.set if event.paused else paused.clear)()

    async def work(self, event: Event, emit: Emit) -> None:
        """Carry *event*, an order, out; its last `VisitEnded` comes whatever happens."""
        if not isinstance(event, HostCheckedOut) or not event.visits:
            raise Poison("not an order of visits")
        errand = Errand(event, emit)
        gauge("gossamer_fetches_open", self._opened(1))
        try:
            if why := refusal(event, await self._epoch_of(event.site), self._clock()):
                logger.info("order not begun", order=event.order, host=event.host, why=why)
                errand.hand_back(why, self._clock())
            else:
                await self._run(errand)
        except asyncio.CancelledError:
            errand.hand_back("the fetcher was stopped", self._clock())
            raise
        except Exception as error:
            # What a person must hear stops us; what is too large to say ends its order.
            if isinstance(error, GossamerError) and not isinstance(error, Poison):
                raise
            logger.exception("visit failed", order=event.order, host=event.host)
            errand.break_off(error, self._clock())
        finally:
            gauge("gossamer_fetches_open", self._opened(-1))

    def _opened(self, more: int) -> int:
        self._open += more
        return self._open

    async def _run(self, errand: "Errand") -> None:
        talk = converse(errand.order, self._terms, self._clock())
        async with self._web.host() as host:
            step = next(talk)
            while True:
                told = await self._take(step, host, errand)
                try:
                    step = talk.send(told)
                except StopIteration:
                    return

    async def _take(self, step: Step, host: HostClient, errand: "Errand") -> Told:
        paused = self._paused[errand.order.crawl]
        answer = None
        match step:
            case Rest(seconds=seconds):
                await _rest(seconds, paused)
            case Ask():
                errand.asked_at = self._clock()
                at, order = host_key(step.url), errand.order
                async with self._turns.take(at, order.pause, own=at == order.host):
                    answer = await host.fetch(step)
            case Say(events=said):
                errand.say(said)
        return Told(self._clock(), paused.is_set(), answer)


async def _rest(seconds: float, paused: asyncio.Event) -> None:
    if seconds > 0:
        try:
            await asyncio.wait_for(paused.wait(), seconds)
        except TimeoutError:
            return


class Errand:
    """One order under way: what was said of it so far."""

    def __init__(self, order: HostCheckedOut, emit: Emit) -> None:
        self.order, self._emit = order, emit
        self.asked_at = 0.0
        """When the present visit last asked for something; 0 if it did not."""
        self._ended, self._over = 0, False

    def say(self, events: tuple[Event, ...]) -> None:
        """Put *events* on the log together, and count them."""
        self._emit(*events)
        for event in events:
            if isinstance(event, VisitEnded):
                self._ended, self._over = self._ended + 1, event.last
                self.asked_at = 0.0
                _count(event)

    def break_off(self, error: Exception, now: float) -> None:
        """End the order with the visit at which our own *error* happened."""
        if self._over:
            return
        reason = f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace").decode()
        broken = Failure(outcome=Outcome.BROKEN, reason=reason, started_at=self.asked_at)
        self.say(events(self.order, self._ended, failed(broken), True, now))

    def hand_back(self, why: str, now: float) -> None:
        """Give back what is not visited, so that nobody waits for the lease.

        A request under way may have arrived: that it was made is said.
        """
        if self._over:
            return
        took = now - self.asked_at if self.asked_at else 0.0
        left = Failure(
            outcome=Outcome.UNVISITED, reason=why, started_at=self.asked_at, took=max(0.0, took)
        )
        self.say(events(self.order, self._ended, failed(left), True, now))


def _count(event: VisitEnded) -> None:
    count("gossamer_outcomes_total", outcome=event.outcome)
    count("gossamer_received_bytes_total", event.received)
    for hazard in event.hazards:
        count("gossamer_hazards_total", hazard=hazard)
