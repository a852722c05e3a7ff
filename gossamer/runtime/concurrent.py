"""The strategy for work on many records at once: fetching, parsing.

Records are finished in any order. The answers to one are appended when the log moves past it, that
is when everything before it in its partition is finished: what a crash interrupts is done again,
and nothing is appended twice. Work that must not be done twice says so (`begins_once`): then the
log moves before the work starts, answers are appended as they come, and a crash under way is for
somebody else to notice (the frontier's lease).

A log that is unavailable costs none of that work. What is under way goes on, its answers are kept,
and all that an advance was to move is moved by the next one that succeeds. A member that was fenced
joins anew beside it. Only work that may be done again is dropped: log and store are opened anew.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from gossamer import clock
from gossamer.clock import Clock, Quiet
from gossamer.errors import Fenced, GossamerError, Poison, Unavailable
from gossamer.events import Event
from gossamer.log import BATCH, Log, Message, Record
from gossamer.log.codec import Decoded, decode, encode
from gossamer.log.throttling import Hold
from gossamer.retries import waits
from gossamer.runtime.answers import dead_letter_for
from gossamer.runtime.loop import Batch, Loop, Report, ignore
from gossamer.runtime.offsets import OffsetTracker
from gossamer.runtime.processor import AsyncProcessor
from gossamer.runtime.trace import handling
from gossamer.store import Store

IDLE_WAIT, LONGEST_IDLE_WAIT = 0.02, 0.25
"""Seconds between two polls while nothing finishes; they grow while nothing happens."""
IDLE_POLL, LONGEST_IDLE_POLL = 0.1, 0.5
"""Seconds that one poll waits while nothing is under way; they grow while nothing happens. The
control topic, and whether to stop, are looked at between polls."""
GROUP = 0.1
"""Seconds between two advances with one append and one commit each, while there is much to move:
what is alone under way is moved as soon as it ends."""
ANSWERS_LIMIT = 500
"""Start nothing while so many answers wait behind one."""
WAITING_BYTES = 64 << 20
"""Stop what is under way when answers of so many bytes wait for a log that is unavailable."""
STOP_LIMIT = 10.0
"""Most seconds that the end waits for a log that is unavailable."""
logger = structlog.get_logger()


class Concurrent:
    """Have up to *limit* records under way; see `Strategy`. It runs in an event loop.

    What follows from a record has its partition's number, but where its sender has asked.
    """

    def __init__(self, processor: AsyncProcessor, clock: Clock, limit: int) -> None:
        self.name, self.topics = processor.name, [topic.name for topic in processor.reads]
        self.positions = None
        self._processor, self._clock, self._limit = processor, clock, limit
        self._begins_once = processor.begins_once
        self._partitions = frozenset[int]()
        self._offsets = OffsetTracker()
        self._advanced_at = self._polled_at = float("-inf")
        self._found = False
        """Whether the last poll returned records, so that more are likely waiting."""
        self._started: list[Decoded] = []
        self._passed: list[Record] = []
        self._outbox: list[Message] = []
        """These three until an advance has succeeded."""
        self._collected = 0
        """How many messages of the outbox the advance has that is under way."""
        self._answers: dict[tuple[str, int, int], list[Message]] = {}
        """By topic, partition and offset: what waits for the log to move past that record."""
        self._working: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._quiet = Quiet()

    @property
    def under_way(self) -> int:
        """How many records are worked on."""
        return len(self._working)

    @property
    def is_at_stake(self) -> bool:
        """Whether something would be lost with this process."""
        return self._begins_once and bool(self._working or self._outbox)

    @property
    def unsent(self) -> int:
        """How many answers to work that is not done again the log does not have yet."""
        return len(self._outbox) if self._begins_once else 0

    @property
    def waiting_bytes(self) -> int:
        """The bytes of all answers that the log does not have yet."""
        return sum(len(message.value) for message in self._outbox)

    def due(self) -> float | None:
        """Return None: answers wake the loop."""
        return None

    def assign(self, partitions: frozenset[int]) -> None:
        """Forget what belongs to partitions that other members have now."""
        self._partitions = partitions
        self._offsets.release(partitions)
        self._started = [one for one in self._started if one.record.partition in partitions]
        self._passed = [one for one in self._passed if one.partition in partitions]
        for at in [at for at in self._answers if at[1] not in partitions]:
            del self._answers[at]

    def prepare(self) -> bool:
        """Return True: nothing is kept here that has to be restored."""
        return True

    def room(self) -> int:
        """Return how many records can begin."""
        free = self._limit - len(self._working) - len(self._started)
        return min(BATCH, free) if len(self._answers) < ANSWERS_LIMIT else 0

    def control(self, records: Sequence[Record]) -> None:
        """Tell the processor."""
        self._quiet.end()
        for record in records:
            try:
                self._processor.control(decode(record))
            except Exception as error:
                self._emit(self._dead_letter(record, error))

    def submit(self, decoded: Sequence[Decoded]) -> None:
        """Begin this work; first, the log moves past what must not begin twice."""
        if decoded:
            self._found = True
            self._quiet.end()
        for one in decoded:
            self._offsets.begin(one.record)
            if self._begins_once:
                self._started.append(one)
                self._offsets.complete(one.record)
            else:
                self._begin(one)

    def collect(self) -> Batch | None:
        """Return what was finished; seldom while work is under way."""
        if self._working and clock.steady() < self._advanced_at + GROUP:
            return None
        for record in self._offsets.passed():
            self._passed.append(record)
            self._outbox += self._released(record)
        if not self._passed and not self._outbox:
            return None
        self._collected = len(self._outbox)
        return Batch(self._passed[:], self._outbox[:])

    def advanced(self, ours: bool, seconds: float) -> None:
        """Begin what may begin now."""
        self._advanced_at = clock.steady()
        self._passed.clear()
        del self._outbox[: self._collected]
        started, self._started = self._started, []
        for one in started if ours else ():
            self._begin(one)

    def _begin(self, decoded: Decoded) -> None:
        self._working.add(asyncio.create_task(self._work(decoded)))

    async def _work(self, decoded: Decoded) -> None:
        record, event = decoded
        answers: list[Message] = []
        emit = self._emit if self._begins_once else partial(_add, answers)
        try:
            if isinstance(event, GossamerError):
                raise event
            with handling(event):
                await self._processor.work(event, emit)
        except Exception as error:
            emit(self._dead_letter(record, error))
        if not self._begins_once and record.partition in self._partitions:
            self._answers[record.topic, record.partition, record.offset] = answers
            self._offsets.complete(record)
        self._wakeup.set()

    def _dead_letter(self, record: Record, error: Exception) -> Event:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise error
        return dead_letter_for(record, self.name, error, self._clock())

    def _emit(self, *events: Event) -> None:
        _add(self._outbox, *events)
        self._wakeup.set()

    def _released(self, record: Record) -> Iterator[Message]:
        """Yield the answers to *record* and to those of its partition before it."""
        partition = record.topic, record.partition
        mine = [at for at in self._answers if at[:2] == partition and at[2] <= record.offset]
        for at in sorted(mine):
            yield from self._answers.pop(at)

    def timeout(self) -> float | None:
        """Return the seconds that a poll may wait; None if none is due.

        Polls are patient while there is nothing to do, and rare while there is enough.
        """
        if not self._working:
            self._found = False
            return self._quiet.poll_interval(IDLE_POLL, LONGEST_IDLE_POLL)
        has_room = len(self._working) + len(self._started) < self._limit
        interval = (0.0 if self._found else IDLE_WAIT) if has_room else GROUP
        now = clock.steady()
        if now < self._polled_at + interval:
            return None
        self._polled_at, self._found = now, False
        return 0.0

    async def rest(self, moved: bool) -> None:
        """Wait until there may be something to do, while work is under way."""
        if moved and self._begins_once and self._working:
            # Nothing begins before the next advance, whatever ends meanwhile.
            rest = max(0.0, self._advanced_at + GROUP - clock.steady())
            await asyncio.wait(self._working, timeout=rest)
        elif self._working:
            await _wait_for(self._wakeup, self._quiet.poll_interval(IDLE_WAIT, LONGEST_IDLE_WAIT))
        if self._wakeup.is_set():
            self._wakeup.clear()
            self._quiet.end()

    def raise_failures(self) -> None:
        """Raise what ended the work on a record and must end the service."""
        for task in [task for task in self._working if task.done()]:
            self._working.discard(task)
            if not task.cancelled():
                task.result()

    async def cancel(self) -> None:
        """Cancel what is under way."""
        # Let every task run once: one that is cancelled before could not clean up.
        await asyncio.sleep(0)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        self._advanced_at = float("-inf")


class ConcurrentRunner:
    """The loop of *processor* beside an event loop, with up to *limit* records under way."""

    def __init__(
        self,
        processor: AsyncProcessor,
        log: Log,
        store: Store,
        clock: Clock,
        limit: int,
        hold: Hold,
        report: Report = ignore,
    ) -> None:
        self._processor = processor
        self._strategy = Concurrent(processor, clock, limit)
        self._loop = Loop(self._strategy, log, store, hold, report)
        # SQLite and librdkafka block: one thread of their own keeps the event loop free of them.
        self._thread = ThreadPoolExecutor(1, "log")

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; what is under way then is left to the next reader.

        Raise what stops a service: GossamerError where the record is not to blame.
        """
        try:
            await self._steps(stop)
            if not self._processor.begins_once:
                await self._strategy.cancel()
                await self._loop.flush_in(self._thread)
        finally:
            await self._strategy.cancel()
            await self._report()
            running = asyncio.get_running_loop()
            await running.run_in_executor(self._thread, self._loop.close)
            self._thread.shutdown()

    async def _steps(self, stop: asyncio.Event) -> None:
        strategy, growing, fenced = self._strategy, waits(), False
        while not stop.is_set():
            try:
                timeout = strategy.timeout()
                moved = await self._loop.step_in(self._thread, timeout)
                await strategy.rest(moved)
                if timeout is not None:
                    # A step without a poll does not show whether the member was fenced again.
                    growing, fenced = waits(), False
            except Unavailable as error:
                if fenced or not strategy.is_at_stake:
                    raise
                if fenced := isinstance(error, Fenced):
                    # What has begun is nobody else's, and goes on.
                    await self._loop.rejoin_in(self._thread)
                logger.warning("waiting", why=str(error), under_way=strategy.under_way)
                if strategy.waiting_bytes > WAITING_BYTES:
                    await strategy.cancel()
                await _wait_for(stop, next(growing))
            strategy.raise_failures()

    async def _report(self) -> None:
        """Append what work that is not done again has answered, if the log takes it in time."""
        growing, until = waits(), clock.steady() + STOP_LIMIT
        if self._strategy.unsent:
            # The log moves no further: what was polled and has not begun is the next reader's.
            self._strategy.assign(frozenset())
        while self._strategy.unsent:
            try:
                await self._loop.flush_in(self._thread)
            except GossamerError as error:
                if not isinstance(error, Unavailable) or clock.steady() > until:
                    logger.error("answers are lost", count=self._strategy.unsent, why=str(error))
                    return
                await asyncio.sleep(next(growing))


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def _add(messages: list[Message], *events: Event) -> None:
    # All of them, or none if one is too large.
    messages.extend([encode(event) for event in events])
