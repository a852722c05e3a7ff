"""The notifier: raises notices, and sends them, while the console runs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import structlog

from gossamer import clock
from gossamer.console.notifications.channels import NotDelivered, open_channels
from gossamer.console.notifications.digest import due_period, report_content, report_notice
from gossamer.console.notifications.lease import FleetLease, FolderLease, Lease
from gossamer.console.notifications.memory import Delivery, Memory
from gossamer.console.notifications.messages import Content, content_of
from gossamer.console.notifications.rules import REPORT, evaluate
from gossamer.console.notifications.sampling import Sampler, measure
from gossamer.console.reader import Opening, Reader
from gossamer.errors import GossamerError
from gossamer.events import FLEET, NoticeRaised, NoticeSent
from gossamer.events.topics import NOTIFICATIONS
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Tail
from gossamer.log.codec import encode
from gossamer.settings import NotifySettings
from gossamer.web.url import HostKey

logger = structlog.get_logger()
TICK = 2.0
"""Seconds between two readings of the topic. The claim in a fleet is renewed as often."""
RETRY_WAITS = (60.0, 3600.0)
"""Seconds before the second and the third try of a delivery. A receiver that is restarted within
this time misses nothing."""
FINAL_SECONDS = 1.5
"""Seconds for the last deliveries when the process ends. The next one continues them."""
MAX_FINAL_SECONDS = 4.0
"""Seconds for the last deliveries, and before them for a sample that is being read."""
Pending = list[tuple[NoticeRaised, str, Content]]


class Notifier:
    """Raises and sends the notices of one folder or fleet."""

    def __init__(
        self,
        opening: Opening,
        folder: Path | None,
        settings: NotifySettings,
        now: Callable[[], float] = clock.now,
        tick: float = TICK,
        retry_waits: tuple[float, ...] = RETRY_WAITS,
    ) -> None:
        """*folder* is None for a fleet. *now* is the clock of the rules and the retries."""
        self.settings = settings
        self.channels = open_channels(settings)
        self._reader, self._folder = Reader(opening), folder
        self._now, self._tick, self._retry_waits = now, tick, retry_waits
        self._started_at = now()
        self._sample_at = float("-inf")
        self._sampler = Sampler(settings)
        self._lease: Lease | None = None
        self._tail: Tail | None = None
        self._memory = Memory()
        self._tasks: dict[Delivery, asyncio.Task[None]] = {}
        self._failed: dict[Delivery, tuple[int, float]] = {}
        """Delivery → its failed tries, and when the next one is due."""
        self._unrecorded: dict[Delivery, NoticeSent] = {}
        """Deliveries that have ended, and are not on the topic yet."""
        self._source = ""

    @asynccontextmanager
    async def running(self, _: object = None) -> AsyncIterator[None]:
        """Raise and send notices in the block. At its end the conditions are evaluated once more,
        because a crawl that has finished ends its console."""
        if not self.settings.is_enabled:
            yield
            return
        stop = asyncio.Event()
        task = asyncio.create_task(self._run(stop))
        try:
            yield
        finally:
            stop.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_FINAL_SECONDS):
                    await task
            await self._reader.stop()

    async def _run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._step()
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._tick)
        self._sample_at = float("-inf")
        with suppress(TimeoutError):
            async with asyncio.timeout(FINAL_SECONDS):
                await self._step()
                await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        with suppress(GossamerError):
            await self._reader.start(self._end)

    async def _step(self) -> None:
        """Raise what is to be raised, and begin the deliveries that are due."""
        try:
            pending = await asyncio.shield(self._reader.start(self._work))
        except GossamerError as error:
            logger.warning("notices cannot be evaluated now: trying again", reason=str(error))
            return
        except Exception as error:
            logger.error("notices failed with an internal error: trying again", exc_info=error)
            return
        for notice, channel, content in pending:
            delivery = (notice.id, channel)
            _, due_at = self._failed.get(delivery, (0, float("-inf")))
            if delivery not in self._tasks and self._now() >= due_at:
                task = asyncio.create_task(self._deliver(notice, channel, content))
                self._tasks[delivery] = task
                task.add_done_callback(partial(self._end_task, delivery))

    def _end_task(self, delivery: Delivery, _: asyncio.Task[None]) -> None:
        self._tasks.pop(delivery, None)

    # The following methods run in the thread of the reader.

    def _work(self, crawl: OpenCrawl) -> Pending:
        try:
            self._source = crawl.name
            self._record(crawl)
            return self._work_as_holder(crawl)
        except Exception:
            # The reader opens log and store again: nothing of the old ones may be used.
            self._forget()
            raise

    def _work_as_holder(self, crawl: OpenCrawl) -> Pending:
        if self._lease is None:
            self._lease = FolderLease(self._folder) if self._folder else FleetLease(crawl.store())
        if not self._lease.hold(clock.now()):
            self._close_tail()
            return []
        self._read(crawl)
        if self._now() >= self._sample_at:
            self._sample_at = self._now() + self.settings.interval
            self._raise(crawl)
        waiting = {one for one, (_, due_at) in self._failed.items() if self._now() < due_at}
        busy = {*self._tasks, *self._unrecorded, *waiting}
        return [
            (notice, channel, self._content(crawl, notice))
            for notice, channel in self._memory.pending()
            if (notice.id, channel) not in busy
        ]

    def _content(self, crawl: OpenCrawl, notice: NoticeRaised) -> Content:
        if notice.rule == REPORT:
            return report_content(crawl, notice)
        return content_of(notice, crawl.name)

    def _read(self, crawl: OpenCrawl) -> None:
        """Read the topic to its end."""
        if self._tail is None:
            self._memory = Memory()
            self._tail = crawl.log.tail([NOTIFICATIONS.name])
        else:
            self._tail.find_end()
        while records := self._tail.poll(0):
            self._memory.add(records)

    def _raise(self, crawl: OpenCrawl) -> None:
        now, last = self._now(), self._memory.last
        lost = last("host_lost", FLEET)
        situation = self._sampler.read(crawl, [*map(HostKey, lost.subjects)] if lost else (), now)
        raised = [
            notice
            for sample in measure(situation, self.settings, last)
            if (notice := evaluate(sample, last(sample.rule, sample.crawl), now, self.settings))
        ]
        before = last(REPORT, FLEET)
        if period := due_period(self.settings, before, self._started_at, now):
            raised.append(report_notice(crawl, self.settings, period, before, now))
        # Taking the samples may have outlasted the claim.
        if raised and self._lease and self._lease.hold(clock.now()):
            crawl.log.append([encode(notice) for notice in raised])
            self._read(crawl)

    def _record(self, crawl: OpenCrawl) -> None:
        """Append the results of deliveries that are not on the topic yet."""
        if done := dict(self._unrecorded):
            crawl.log.append([encode(sent) for sent in done.values()])
            for delivery in done:
                del self._unrecorded[delivery]

    def _end(self, crawl: OpenCrawl) -> None:
        try:
            self._record(crawl)
        finally:
            self._forget()

    def _forget(self) -> None:
        self._close_tail()
        if self._lease:
            self._lease.release()
            self._lease = None

    def _close_tail(self) -> None:
        if self._tail:
            self._tail.close()
            self._tail = None

    # The following methods run in the event loop.

    async def _deliver(self, notice: NoticeRaised, channel: str, content: Content) -> None:
        delivery = (notice.id, channel)
        error = await self._try(notice, channel, content)
        tries, _ = self._failed.pop(delivery, (0, 0.0))
        if error and channel in self.channels and tries < len(self._retry_waits):
            self._failed[delivery] = tries + 1, self._now() + self._retry_waits[tries]
            logger.warning(
                "notice not delivered: trying again later",
                notice=notice.id,
                channel=channel,
                reason=error,
            )
            return
        if error:
            logger.error(
                "notice not delivered: giving up", notice=notice.id, channel=channel, reason=error
            )
        # No await between the answer and this line: a cancelled task still records its delivery.
        self._unrecorded[delivery] = NoticeSent(
            at=self._now(), crawl=notice.crawl, id=notice.id, channel=channel, error=error
        )
        try:
            await self._reader.start(self._record)
        except GossamerError as fault:
            logger.warning(
                "result of a delivery cannot be recorded now: trying again",
                notice=notice.id,
                channel=channel,
                reason=str(fault),
            )

    async def _try(self, notice: NoticeRaised, channel: str, content: Content) -> str:
        """Send the notice; return why it failed, or ""."""
        if (found := self.channels.get(channel)) is None:
            return f"the settings have no channel {channel}"
        try:
            await found.send(notice, content, self._source)
        except NotDelivered as error:
            return str(error)
        except Exception as error:
            logger.error(
                "delivery of a notice failed with an internal error",
                notice=notice.id,
                channel=channel,
                exc_info=error,
            )
            return f"internal error: {type(error).__name__}"
        return ""
