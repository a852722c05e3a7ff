"""The loop for work on many records at once: fetching, parsing.

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
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import structlog

from gossamer import clock
from gossamer.clock import Clock, Quiet
from gossamer.errors import Fenced, GossamerError, Poison, Unavailable
from gossamer.events import Event
from gossamer.log import BATCH, Log, Message, Record
from gossamer.log.codec import decode, encode
from gossamer.log.control import ControlTail
from gossamer.log.throttling import HOLD_INTERVAL, Hold
from gossamer.runtime.answers import dead_letter_for
from gossamer.runtime.offsets import OffsetTracker
from gossamer.runtime.polled import Polled
from gossamer.runtime.processor import AsyncProcessor
from gossamer.runtime.retries import waits
from gossamer.runtime.trace import handling
from gossamer.store import Store
from gossamer.telemetry import observe

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
T = TypeVar("T")


class ConcurrentRunner:
    """One processor on the log, with up to *limit* records under way.

    It starts none of the partitions that *hold* returns: those who read its answers are behind
    there. What follows from a record has its partition's number, but where its sender has asked.
    """

    def __init__(
        self,
        processor: AsyncProcessor,
        log: Log,
        store: Store,
        clock: Clock,
        limit: int,
        hold: Hold,
    ) -> None:
        self._processor, self._clock, self._limit, self._hold = processor, clock, limit, hold
        topics = [topic.name for topic in processor.reads]
        self._open = partial(log.reader, processor.name, topics, store)
        self._reader = self._open()
        self._control = ControlTail(log)
        self._offsets = OffsetTracker()
        self._partitions = self._reader.partitions
        self._polled = Polled()
        self._held: Container[int] = ()
        self._asked_at = self._polled_at = self._advanced_at = float("-inf")
        """When we last asked who is behind, polled, and moved anything."""
        self._started: list[Record] = []
        self._passed: list[Record] = []
        self._outbox: list[Message] = []
        """These three until an advance has succeeded."""
        self._answers: dict[tuple[str, int, int], list[Message]] = {}
        """By topic, partition and offset: what waits for the log to move past that record."""
        self._working: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._quiet = Quiet()
        # SQLite and librdkafka block: one thread of their own keeps the event loop free of them.
        self._thread = ThreadPoolExecutor(1, "log")

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; what is under way then is left to the next reader.

        Raise what stops a service: GossamerError where the record is not to blame.
        """
        try:
            await self._turns(stop)
            if not self._processor.begins_once:
                await self._cancel()
                await self._advance()
        finally:
            await self._cancel()
            await self._report()
            await self._in_thread(self._reader.close)
            self._thread.shutdown()

    async def _turns(self, stop: asyncio.Event) -> None:
        growing, fenced = waits(), False
        while not stop.is_set():
            try:
                await self._turn()
                growing, fenced = waits(), False
            except Unavailable as error:
                if fenced or not self._at_stake():
                    raise
                if fenced := isinstance(error, Fenced):
                    await self._join_anew()
                logger.warning("waiting", why=str(error), under_way=len(self._working))
                if sum(len(message.value) for message in self._outbox) > WAITING_BYTES:
                    await self._cancel()
                await _wait_for(stop, next(growing))
            self._raise_failures()

    async def _join_anew(self) -> None:
        """Become another member of the group; what has begun is nobody else's, and goes on."""
        await self._in_thread(self._reader.close)
        self._reader = await self._in_thread(self._open)
        self._passed.clear()
        self._rebalance(frozenset())

    def _at_stake(self) -> bool:
        return self._processor.begins_once and bool(self._working or self._outbox)

    def _raise_failures(self) -> None:
        for task in [task for task in self._working if task.done()]:
            self._working.discard(task)
            if not task.cancelled():
                task.result()

    async def _report(self) -> None:
        """Append what work that is not done again has answered, if the log takes it in time."""
        loop, growing = asyncio.get_running_loop(), waits()
        until = loop.time() + STOP_LIMIT
        # No further than begun: what was only polled is the next reader's.
        while self._processor.begins_once and (messages := self._outbox):
            try:
                await self._in_thread(partial(self._reader.advance, (), messages))
                self._outbox = []
            except GossamerError as error:
                if not isinstance(error, Unavailable) or loop.time() > until:
                    logger.error("answers are lost", count=len(messages), why=str(error))
                    return
                await asyncio.sleep(next(growing))

    async def _cancel(self) -> None:
        # Let every task run once: one that is cancelled before could not clean up.
        await asyncio.sleep(0)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    async def _turn(self) -> None:
        if self._wakeup.is_set():
            self._wakeup.clear()
            self._quiet.end()
        await self._take_in()
        self._start()
        moved = False
        if not self._processor.begins_once:
            self._begin()
        if not self._working or clock.steady() >= self._advanced_at + GROUP:
            moved = await self._step()
        if moved and self._processor.begins_once and self._working:
            # Nothing begins before the next advance, whatever ends meanwhile.
            rest = max(0.0, self._advanced_at + GROUP - clock.steady())
            await asyncio.wait(self._working, timeout=rest)
        elif self._working or self._polled:
            interval = self._quiet.poll_interval(IDLE_WAIT, LONGEST_IDLE_WAIT)
            await _wait_for(self._wakeup, interval)

    async def _step(self) -> bool:
        """Advance, then begin what may only begin then; return whether there was anything to do."""
        began = clock.steady()
        ours, moved = await self._advance()
        if moved:
            self._advanced_at = began
            observe("gossamer_step_seconds", clock.steady() - began, service=self._processor.name)
        if not ours and self._processor.begins_once:
            self._started.clear()
        self._begin()
        return moved

    def _begin(self) -> None:
        started, self._started = self._started, []
        for record in started:
            self._working.add(asyncio.create_task(self._work(record)))

    async def _take_in(self) -> None:
        """Poll: with patience where there is nothing to do, rarely where there is enough."""
        if not self._working and not self._polled:
            await self._poll(self._quiet.poll_interval(IDLE_POLL, LONGEST_IDLE_POLL), BATCH)
            return
        wanted = self._polled.lacks(self._held) and len(self._working) < self._limit
        if clock.steady() >= self._polled_at + (IDLE_WAIT if wanted else GROUP):
            await self._poll(0.0, BATCH if wanted else 0)

    async def _poll(self, timeout: float, most: int) -> None:
        while news := await self._in_thread(lambda: self._control.poll(0)):
            self._quiet.end()
            for record in news:
                self._learn(record)
        records = await self._in_thread(lambda: self._reader.poll(timeout, most))
        self._polled_at = clock.steady()
        if records:
            self._quiet.end()
        if self._reader.partitions != self._partitions:
            self._rebalance(self._reader.partitions)
        self._polled.add(records)
        await self._check_hold()

    def _learn(self, record: Record) -> None:
        try:
            self._processor.control(decode(record))
        except Exception as error:
            self._emit(self._dead_letter(record, error))

    def _rebalance(self, partitions: frozenset[int]) -> None:
        """Forget what belongs to partitions that other members have now."""
        self._partitions = partitions
        self._offsets.release(partitions)
        self._polled.keep(partitions)
        self._started = [r for r in self._started if r.partition in partitions]
        for at in [at for at in self._answers if at[1] not in partitions]:
            del self._answers[at]

    async def _check_hold(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._polled and now - self._asked_at >= HOLD_INTERVAL:
            self._held, self._asked_at = await self._in_thread(self._hold), now

    def _start(self) -> None:
        room = self._limit - len(self._working) if len(self._answers) < ANSWERS_LIMIT else 0
        for record in self._polled.take(room - len(self._started), self._held):
            self._started.append(record)
            self._offsets.begin(record)
            if self._processor.begins_once:
                self._offsets.complete(record)

    async def _work(self, record: Record) -> None:
        answers: list[Message] = []
        emit = self._emit if self._processor.begins_once else partial(_add, answers)
        try:
            event = decode(record)
            with handling(event):
                await self._processor.work(event, emit)
        except Exception as error:
            emit(self._dead_letter(record, error))
        if not self._processor.begins_once and record.partition in self._partitions:
            self._answers[record.topic, record.partition, record.offset] = answers
            self._offsets.complete(record)
        self._wakeup.set()

    def _dead_letter(self, record: Record, error: Exception) -> Event:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise error
        return dead_letter_for(record, self._processor.name, error, self._clock())

    def _emit(self, *events: Event) -> None:
        _add(self._outbox, *events)
        self._wakeup.set()

    async def _advance(self) -> tuple[bool, bool]:
        """Return whether our partitions are still ours, and whether there was anything to move."""
        for record in self._offsets.passed():
            self._passed.append(record)
            self._outbox += self._released(record)
        passed, messages = self._passed[:], self._outbox[:]
        if not passed and not messages:
            return True, False
        ours = await self._in_thread(lambda: self._reader.advance(passed, messages))
        self._passed.clear()
        del self._outbox[: len(messages)]
        return ours, True

    def _released(self, record: Record) -> Iterator[Message]:
        """Yield the answers to *record* and to those of its partition before it."""
        partition = record.topic, record.partition
        mine = [at for at in self._answers if at[:2] == partition and at[2] <= record.offset]
        for at in sorted(mine):
            yield from self._answers.pop(at)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def _add(messages: list[Message], *events: Event) -> None:
    # All of them, or none if one is too large.
    messages.extend([encode(event) for event in events])
