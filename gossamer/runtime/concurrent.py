"""The strategy for concurrent work on many records: fetching and parsing.

Records finish in any order, and `OffsetTracker` determines how far the log may advance. The
messages of a record are appended when the log advances past it, after all earlier records of its
partition have finished. Work that a crash interrupts has therefore appended nothing, and is
repeated. If work must not be repeated (`begins_once`), the log advances before the work starts, and
messages are appended at once. After a crash during the work, another service must notice that its
results are missing: the frontier does when the order's lease expires.

Work that must not be repeated survives an outage of the log. It continues, and its messages are
held. The next successful advance includes the records and messages of the failed ones. Work that
may be repeated is dropped instead, and log and store are reopened. All work of a member that was
fenced is cancelled, because another process may have its name.
"""

import asyncio
import contextlib
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog

from gossamer import clock
from gossamer.clock import Clock, IdleTimer
from gossamer.errors import Fenced, GossamerError, Poison, Unavailable, retry_waits
from gossamer.events import Event
from gossamer.log import MAX_POLL_RECORDS, Log, Message, Record
from gossamer.log.codec import Decoded, decode, encode
from gossamer.log.throttling import Hold
from gossamer.runtime.handling import dead_letter_for, handling
from gossamer.runtime.loop import Batch, Loop, Report, ignore
from gossamer.runtime.processor import AsyncProcessor
from gossamer.store import Store

IDLE_WAIT, MAX_IDLE_WAIT = 0.02, 0.25
"""Minimum and maximum seconds between two polls while work is in progress. The interval grows while
nothing happens."""
IDLE_POLL, MAX_IDLE_POLL = 0.1, 0.5
"""Minimum and maximum seconds of one poll while no work is in progress. Polls become longer while
nothing happens. The control topic and the stop event are checked between polls."""
MIN_ADVANCE_INTERVAL = 0.1
"""Minimum seconds between two advances under load, each with one append and one commit. The result
of a lone record is advanced as soon as it finishes."""
MAX_HELD_OUTPUTS = 500
"""Maximum number of finished records that wait for an earlier one, before no new work starts."""
MAX_WAITING_BYTES = 64 << 20
"""Maximum bytes of messages that wait for an unavailable log, before work in progress is
cancelled."""
MAX_STOP_SECONDS = 10.0
"""Maximum seconds that the shutdown waits for an unavailable log."""
logger = structlog.get_logger()
STOP_INTERVAL = 0.2
"""Seconds between two checks of the stop event."""


class Concurrent:
    """Has up to *limit* records in progress, in an event loop. See `Strategy`.

    The messages of a record go to its partition number, unless their sender names another one.
    """

    def __init__(self, processor: AsyncProcessor, clock: Clock, limit: int) -> None:
        self.name, self.topics = processor.name, [topic.name for topic in processor.reads]
        self.checkpoints, self.restoring = None, frozenset[int]()
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
        """Messages to append. Like the two lists above, it is cleared after an advance."""
        self._collected = 0
        """Number of messages in the outbox that the current advance includes."""
        self._outputs: dict[tuple[str, int, int], list[Message]] = {}
        """Messages of finished records that the log has not advanced past, by the record."""
        self._working: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._idle_timer = IdleTimer()

    @property
    def in_progress(self) -> int:
        """Number of records in progress."""
        return len(self._working)

    @property
    def is_at_stake(self) -> bool:
        """Whether this process has work or messages that the log does not repeat after a crash."""
        return self._begins_once and bool(self._working or self._outbox)

    @property
    def unsent(self) -> int:
        """Number of messages of unrepeatable work that the log does not have yet."""
        return len(self._outbox) if self._begins_once else 0

    @property
    def waiting_bytes(self) -> int:
        """Bytes of all messages that the log does not have yet."""
        return sum(len(message.value) for message in self._outbox)

    def due(self) -> float | None:
        """Return None, because finished work wakes the loop."""
        return None

    def assign(self, partitions: frozenset[int]) -> None:
        """Forget the records of partitions that are assigned to other members now."""
        self._partitions = partitions
        self._offsets.release(partitions)
        self._started = [one for one in self._started if one.record.partition in partitions]
        self._passed = [one for one in self._passed if one.partition in partitions]
        for at in [at for at in self._outputs if at[1] not in partitions]:
            del self._outputs[at]

    def prepare(self) -> None:
        """Do nothing, because there is no state to restore."""

    def room(self) -> int:
        """Return the number of records that can start."""
        free = self._limit - len(self._working) - len(self._started)
        return min(MAX_POLL_RECORDS, free) if len(self._outputs) < MAX_HELD_OUTPUTS else 0

    def control(self, records: Sequence[Record]) -> None:
        """Pass *records* to the processor."""
        self._idle_timer.end()
        for record in records:
            try:
                self._processor.control(decode(record))
            except Exception as error:
                self._emit(self._dead_letter(record, error))

    def fits(self, decoded: Sequence[Decoded]) -> int:
        """Return the number of all of *decoded*: no work waits for another."""
        return len(decoded)

    def submit(self, decoded: Sequence[Decoded]) -> None:
        """Start this work. Work that must not be repeated starts after the log has advanced."""
        if decoded:
            self._found = True
            self._idle_timer.end()
        for one in decoded:
            self._offsets.begin(one.record)
            if self._begins_once:
                if not isinstance(one.event, GossamerError):
                    self._emit(*self._processor.announce(one.event, one.record.offset))
                self._started.append(one)
                self._offsets.complete(one.record)
            else:
                self._begin(one)

    def collect(self) -> Batch | None:
        """Return the finished batch, or None.

        Batches are at least MIN_ADVANCE_INTERVAL apart while work is in progress.
        """
        if self._working and clock.steady() < self._advanced_at + MIN_ADVANCE_INTERVAL:
            return None
        for record in self._offsets.pop_completed():
            self._passed.append(record)
            self._outbox += self._release_messages(record)
        if not self._passed and not self._outbox:
            return None
        self._collected = len(self._outbox)
        return Batch(self._passed[:], self._outbox[:])

    def finish_advance(self, ours: bool, seconds: float) -> None:
        """Start the work that waited for the advance."""
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
        outputs: list[Message] = []
        emit = self._emit if self._begins_once else partial(_add, outputs)
        try:
            if isinstance(event, GossamerError):
                raise event
            with handling(event):
                await self._processor.work(event, emit)
        except Exception as error:
            emit(self._dead_letter(record, error))
        if not self._begins_once and record.partition in self._partitions:
            self._outputs[record.topic, record.partition, record.offset] = outputs
            self._offsets.complete(record)
        self._wakeup.set()

    def _dead_letter(self, record: Record, error: Exception) -> Event:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise error
        return dead_letter_for(record, self.name, error, self._clock())

    def _emit(self, *events: Event) -> None:
        _add(self._outbox, *events)
        self._wakeup.set()

    def _release_messages(self, record: Record) -> Iterator[Message]:
        """Yield the messages of *record* and of the earlier records of its partition."""
        partition = record.topic, record.partition
        mine = [at for at in self._outputs if at[:2] == partition and at[2] <= record.offset]
        for at in sorted(mine):
            yield from self._outputs.pop(at)

    def timeout(self) -> float | None:
        """Return the maximum seconds of the next poll, or None if no poll is due.

        Without work in progress, a poll may wait long for records. At the limit of concurrent work,
        polls are rare, because a polled record could not start.
        """
        if not self._working:
            self._found = False
            return self._idle_timer.poll_interval(IDLE_POLL, MAX_IDLE_POLL)
        has_room = len(self._working) + len(self._started) < self._limit
        interval = (0.0 if self._found else IDLE_WAIT) if has_room else MIN_ADVANCE_INTERVAL
        now = clock.steady()
        if now < self._polled_at + interval:
            return None
        self._polled_at, self._found = now, False
        return 0.0

    async def rest(self, moved: bool) -> None:
        """Wait until there may be something to do. Return at once if no work is in progress."""
        if moved and self._begins_once and self._working:
            # New work starts with the next advance, which is not due before this time.
            rest = max(0.0, self._advanced_at + MIN_ADVANCE_INTERVAL - clock.steady())
            await asyncio.wait(self._working, timeout=rest)
        elif self._working:
            await _wait_for(self._wakeup, self._idle_timer.poll_interval(IDLE_WAIT, MAX_IDLE_WAIT))
        if self._wakeup.is_set():
            self._wakeup.clear()
            self._idle_timer.end()

    def raise_failures(self) -> None:
        """Raise errors of work that must stop the service."""
        for task in [task for task in self._working if task.done()]:
            self._working.discard(task)
            if not task.cancelled():
                task.result()

    async def cancel(self) -> None:
        """Cancel all work in progress."""
        # Let every task begin, because a task that is cancelled earlier never runs its cleanup.
        await asyncio.sleep(0)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        self._advanced_at = float("-inf")


class ConcurrentRunner:
    """Runs *processor* beside an event loop, with up to *limit* records in progress."""

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
        # Blocking calls of SQLite and librdkafka run in one separate thread.
        self._thread = ThreadPoolExecutor(1, "log")

    async def run(self, stop: asyncio.Event) -> None:
        """Work until *stop*. Work in progress is then cancelled. If it may be repeated, the next
        reader repeats it.

        Raise the error that stops the service: GossamerError if no record has caused it.
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
        strategy, growing = self._strategy, retry_waits()
        while not stop.is_set():
            try:
                timeout = strategy.timeout()
                moved = await self._loop.step_in(self._thread, timeout)
                await strategy.rest(moved)
                if timeout is not None:
                    growing = retry_waits()
            except Unavailable as error:
                if isinstance(error, Fenced) or not strategy.is_at_stake:
                    raise
                logger.warning(
                    "log or store unavailable: keeping work in progress",
                    reason=str(error),
                    in_progress=strategy.in_progress,
                )
                if strategy.waiting_bytes > MAX_WAITING_BYTES:
                    await strategy.cancel()
                await _wait_for(stop, next(growing))
            strategy.raise_failures()

    async def _report(self) -> None:
        """Append the messages of unrepeatable work, if the log accepts them in time."""
        growing, until = retry_waits(), clock.steady() + MAX_STOP_SECONDS
        if self._strategy.unsent:
            # Polled work that has not started is left to the next reader.
            self._strategy.assign(frozenset())
        while self._strategy.unsent:
            try:
                await self._loop.flush_in(self._thread)
            except GossamerError as error:
                if not isinstance(error, Unavailable) or clock.steady() > until:
                    logger.error(
                        "log unavailable at the end: messages lost",
                        count=self._strategy.unsent,
                        reason=str(error),
                    )
                    return
                await asyncio.sleep(next(growing))


class OffsetTracker:
    """The records in progress of each partition, and the offset up to which all records are
    done."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], OrderedDict[int, tuple[Record, bool]]] = defaultdict(
            OrderedDict
        )

    def begin(self, record: Record) -> None:
        """Track *record*. The records of a partition must come in the order of their offsets."""
        self._open[record.topic, record.partition][record.offset] = (record, False)

    def complete(self, record: Record) -> None:
        """Mark *record* as done, unless its partition was released."""
        records = self._open[record.topic, record.partition]
        if record.offset in records:
            records[record.offset] = (record, True)

    def release(self, kept: Container[int]) -> None:
        """Forget all partitions except *kept*, because other members have them now."""
        for at in [at for at in self._open if at[1] not in kept]:
            del self._open[at]

    def pop_completed(self) -> list[Record]:
        """Return the last record of each partition up to which all records are done.

        Each record is returned at most once. An empty list means that the log cannot advance.
        """
        passed = []
        for records in self._open.values():
            last = None
            while records and next(iter(records.values()))[1]:
                _, (last, _) = records.popitem(last=False)
            if last is not None:
                passed.append(last)
        return passed


def run_async(work: Callable[[asyncio.Event], Awaitable[None]], stop: threading.Event) -> None:
    """Run *work* in an event loop. *work* gets an asyncio event that is set soon after *stop*."""

    async def until_stopped() -> None:
        ended = asyncio.Event()
        forwarding = asyncio.create_task(_forward(stop, ended))
        await work(ended)
        forwarding.cancel()

    asyncio.run(until_stopped())


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def _add(messages: list[Message], *events: Event) -> None:
    # All events are encoded before the first is appended. If one is too large, none is appended.
    messages.extend([encode(event) for event in events])


async def _forward(stop: threading.Event, ended: asyncio.Event) -> None:
    # *stop* is polled. A thread that waited for it would have to be woken if the work ends first.
    while not stop.is_set():
        await asyncio.sleep(STOP_INTERVAL)
    ended.set()
