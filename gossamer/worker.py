"""The loop for work that runs many records at once: fetching, parsing.

A job answers a record in its own time. What it says goes out when the log moves past the record,
up to the watermark, so that what dies before is done again and nothing is said twice. A job that
must not be begun twice says so (`begins_once`): the log then moves before the work begins, what it
says goes out as it comes, and what dies under way is for somebody else to notice (the frontier's
lease).
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from gossamer.clock import Clock
from gossamer.codec import decode, encode
from gossamer.errors import GossamerError, Poison
from gossamer.events import Event
from gossamer.log import BATCH, Log, Message, Record
from gossamer.runtime import buried
from gossamer.store import Store
from gossamer.topics import CONTROL, Topic
from gossamer.trace import handling
from gossamer.watermark import Watermark

POLL = 0.02
LOOK = 0.5
"""How often is asked whether others are behind: on Kafka that is a question to the brokers."""
STOP_LOOK = 0.2
"""Seconds between two looks whether the work is to stop."""
KEPT = 500
"""While the answers to so many records wait for one before them, none is begun."""
T = TypeVar("T")

Emit = Callable[..., None]
"""Takes events; those of one call are appended together or not at all."""


class Job(Protocol):
    """What a worker does with a record."""

    name: str
    reads: tuple[Topic, ...]
    begins_once: bool

    def control(self, event: Event) -> None:
        """Learn what the operators say."""

    async def work(self, event: Event, emit: Emit) -> None:
        """Answer one event through *emit*, now or over time."""


class Worker:
    """One job on the log, *limit* records at once, none while *hold* says others are behind."""

    def __init__(
        self, job: Job, log: Log, store: Store, clock: Clock, limit: int, hold: Callable[[], bool]
    ) -> None:
        self._job, self._clock, self._limit, self._hold = job, clock, limit, hold
        self._reader = log.reader(job.name, [topic.name for topic in job.reads], store)
        self._control = log.tail([CONTROL.name])
        self._watermark = Watermark()
        self._partitions = self._reader.partitions
        self._waiting: deque[Record] = deque()
        self._held, self._looked_at = False, float("-inf")
        self._outbox: list[Message] = []
        self._kept: dict[tuple[str, int, int], list[Message]] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        # SQLite and librdkafka block: one thread of their own keeps the event loop free of them.
        self._thread = ThreadPoolExecutor(1, "log")

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*; then leave what is under way to the next reader."""
        try:
            while not stop.is_set():
                await self._turn()
            await self._drop()
            await self._advance()
        finally:
            await self._drop()
            await self._in_thread(self._reader.close)
            self._thread.shutdown()

    async def _drop(self) -> None:
        # What was begun must learn that it is to end: a task that never ran would not.
        await asyncio.sleep(0)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)

    async def _turn(self) -> None:
        self._news.clear()
        await self._take()
        fresh = self._begin()
        ours = await self._advance()
        for record in fresh if ours or not self._job.begins_once else ():
            self._working.add(asyncio.create_task(self._work(record)))
        if not self._outbox:
            await self._rest()
        for task in [task for task in self._working if task.done()]:
            self._working.discard(task)
            task.result()

    async def _rest(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), POLL)

    async def _take(self) -> None:
        for record in await self._in_thread(lambda: self._control.poll(0)):
            if not record.value:
                continue  # A tombstone says nothing.
            try:
                self._job.control(decode(record))
            except Exception as error:
                self._emit(self._letter(record, error))
        await self._look()
        full = self._held or self._waiting or len(self._working) >= self._limit
        most = 0 if full else BATCH
        records = await self._in_thread(lambda: self._reader.poll(0, most))
        if self._reader.partitions != self._partitions:
            self._keep(self._reader.partitions)
        self._waiting.extend(records)

    def _keep(self, partitions: frozenset[int]) -> None:
        """Leave to their new readers what is of other partitions."""
        self._partitions = partitions
        self._watermark.let_go(partitions)
        self._waiting = deque(r for r in self._waiting if r.partition in partitions)
        for at in [at for at in self._kept if at[1] not in partitions]:
            del self._kept[at]

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= LOOK:
            self._held, self._looked_at = await self._in_thread(self._hold), now

    def _begin(self) -> list[Record]:
        fresh: list[Record] = []
        if self._held:
            return fresh
        room = self._limit - len(self._working) if len(self._kept) < KEPT else 0
        while self._waiting and len(fresh) < room:
            fresh.append(record := self._waiting.popleft())
            self._watermark.begin(record)
            if self._job.begins_once:
                self._watermark.complete(record)
        return fresh

    async def _work(self, record: Record) -> None:
        said: list[Message] = []
        emit = self._emit if self._job.begins_once else partial(_say, said)
        try:
            event = decode(record)
            with handling(event):
                await self._job.work(event, emit)
        except Exception as error:
            emit(self._letter(record, error))
        if not self._job.begins_once and record.partition in self._partitions:
            self._kept[record.topic, record.partition, record.offset] = said
            self._watermark.complete(record)
        self._news.set()

    def _letter(self, record: Record, error: Exception) -> Event:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise error
        return buried(record, self._job.name, error, self._clock())

    def _emit(self, *events: Event) -> None:
        _say(self._outbox, *events)
        self._news.set()

    async def _advance(self) -> bool:
        passed = self._watermark.passed()
        outcome = [*self._outbox, *(said for record in passed for said in self._released(record))]
        self._outbox = []
        if not passed and not outcome:
            return True
        return await self._in_thread(lambda: self._reader.advance(passed, outcome))

    def _released(self, record: Record) -> Iterator[Message]:
        """Yield what was said of *record* and those of its partition before it."""
        partition = record.topic, record.partition
        for at in sorted(at for at in self._kept if at[:2] == partition and at[2] <= record.offset):
            yield from self._kept.pop(at)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def _say(said: list[Message], *events: Event) -> None:
    # All of them, or none if one is too large.
    said.extend([encode(event) for event in events])


def run_async(work: Callable[[asyncio.Event], Awaitable[None]], stop: threading.Event) -> None:
    """Do asynchronous *work*, whose event is set when *stop* is."""

    async def until_stopped() -> None:
        ended = asyncio.Event()
        telling = asyncio.create_task(_tell(stop, ended))
        await work(ended)
        telling.cancel()

    asyncio.run(until_stopped())


async def _tell(stop: threading.Event, ended: asyncio.Event) -> None:
    # A thread that waits for it would have to be woken when the work ends by itself.
    while not stop.is_set():
        await asyncio.sleep(STOP_LOOK)
    ended.set()
