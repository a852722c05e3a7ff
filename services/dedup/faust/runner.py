"""Runs Dedup on Faust's streams, as the runtime's loops run the other services.

Seeds and discovered URLs are handled one after another in the event loop, since Faust's table can
only be written while an event is current. Parsed pages ask the store, which blocks, in a thread of
their own; what they write is flushed once for all that waited together. The log moves past a record
when the brokers have acknowledged its answers and what it changed in the table; the next records do
not wait for that.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import faust
import structlog
from faust.events import Event
from faust.types import TP
from faust.types.tuples import RecordMetadata

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.log import Message, Record, partition_of
from gossamer.log.codec import decode_all
from gossamer.runtime.answers import answer, answer_all, events_of, read_ahead, reads_of
from gossamer.runtime.offsets import OffsetTracker
from gossamer.store import Store
from gossamer.telemetry import observe
from gossamer.telemetry.timing import timed
from services.dedup.faust.changelog import Changelog
from services.dedup.faust.tables import Change
from services.dedup.faust.transport import Producer
from services.dedup.service import Dedup

OPEN = 1000
"""Most records whose answers the brokers have not acknowledged yet."""
JUDGED = 32
"""Most pages that wait to be judged, and most that are judged at once."""
GROUP = 0.1
"""Seconds between two flushes while pages come, unless so many wait."""
LAST_WAIT = 5.0
"""Most seconds that work under way may take when partitions are revoked, or at the end."""
RETRY = 1.0

Stream = faust.Stream[bytes]
T = TypeVar("T")

logger = structlog.get_logger()


class Taken(NamedTuple):
    """A record that was taken from a stream, and when by a clock that only goes forward."""

    record: Record
    at: float


class FaustRunner:
    """One instance: from records to acknowledged answers."""

    def __init__(self, app: faust.App, dedup: Dedup, changelog: Changelog, store: Store) -> None:
        self.dedup = dedup
        self.app, self.seen, self.changelog, self._store = app, changelog.table, changelog, store
        self._prefix = app.conf.id.removesuffix(self.dedup.name)
        self._pool = ThreadPoolExecutor(1, "judge")
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped = threading.Event()
        self._offsets = OffsetTracker()
        self._room = asyncio.Semaphore(OPEN)
        self._under_way: set[asyncio.Task[None]] = set()
        self._line: asyncio.Queue[Taken] = asyncio.Queue(JUDGED)
        self._begun = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def answer(self, stream: Stream) -> None:
        """Answer seeds and discovered URLs."""
        async for event in stream.noack().events():
            taken = self._begin(event)
            (one,) = decode_all([taken.record])
            # Links need one group of rows, mostly an empty one.
            if keys := next(reads_of(self.dedup, events_of([one])), None):
                await self._in_thread(partial(read_ahead, self._store, [keys]))
            messages, changed = answer(self.dedup, one, clock.now()), self.seen.written()
            if self.dedup.unsettled:
                await self._in_thread(self._settled)
            await self._send_answers(taken, messages, changed)

    async def line_up(self, stream: Stream) -> None:
        """Let parsed pages wait for `judge`."""
        async for event in stream.noack().events():
            await self._line.put(self._begin(event))

    async def judge(self) -> None:
        """Answer the parsed pages that wait, all of them at once: the store is flushed once."""
        while True:
            taken = [await self._line.get()]
            began = clock.steady()
            while not self._line.empty():
                taken.append(self._line.get_nowait())
            records = [one.record for one in taken]
            judged = await self._in_thread(partial(self._judged, records))
            for one, messages in zip(taken, judged, strict=True):
                await self._send_answers(one, messages)
            if len(taken) < JUDGED:
                await asyncio.sleep(max(0.0, began + GROUP - clock.steady()))

    def _begin(self, event: Event) -> Taken:
        at = event.message
        record = Record(
            at.topic.removeprefix(self._prefix),
            at.partition,
            at.offset,
            (at.key or b"").decode(errors="replace"),
            at.value or b"",
        )
        self._offsets.begin(record)
        self._begun += 1
        self._quiet.clear()
        return Taken(record, clock.steady())

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Do *work* on the store, until it can be done."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._tried, work)

    def _tried(self, work: Callable[[], T]) -> T:
        while True:
            try:
                return work()
            except Unavailable as error:
                logger.warning("waiting", why=str(error))
                if self._stopped.wait(RETRY):
                    raise

    def _judged(self, records: Sequence[Record]) -> list[list[Message]]:
        decoded = decode_all(records)
        read_ahead(self._store, reads_of(self.dedup, events_of(decoded)))
        messages = answer_all(self.dedup, decoded, clock.now, self._restart)
        self._store.flush()
        return messages

    def _restart(self) -> None:
        self._store.discard()
        self.dedup.restart(frozenset(), clock.now())

    def _settled(self) -> None:
        self.dedup.settle()
        self._store.flush()

    async def _send_answers(
        self, taken: Taken, messages: Iterable[Message], changed: Iterable[Change] = ()
    ) -> None:
        await self._room.acquire()
        topic = self.seen.changelog_topic_name
        changes = [await self._send(topic, c.partition, c.key, c.value) for c in changed]
        answers = [await self._send_message(message) for message in messages]
        task = asyncio.create_task(self.guarded(self._settle(taken, changes, answers)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _send_message(self, message: Message) -> Awaitable[RecordMetadata]:
        topic = self._prefix + message.topic
        partition = partition_of(message.partition_key, await self._producer.partitions(topic))
        headers = [(name, value.encode()) for name, value in message.headers]
        key, value = message.key.encode(), message.value or None
        return await self._send(topic, partition, key, value, headers)

    @property
    def _producer(self) -> Producer:
        return cast(Producer, self.app.producer)

    async def _send(
        self,
        topic: str,
        partition: int,
        key: bytes,
        value: bytes | None,
        headers: list[tuple[str, bytes]] | None = None,
    ) -> Awaitable[RecordMetadata]:
        return await self._producer.send(topic, key, value, partition, None, headers)

    async def _settle(
        self,
        taken: Taken,
        changes: list[Awaitable[RecordMetadata]],
        answers: list[Awaitable[RecordMetadata]],
    ) -> None:
        with timed("gossamer_log_append_seconds") if changes or answers else nullcontext():
            if changes:
                written = await asyncio.gather(*changes)
                self.seen.on_changelog(written[0], written[-1])
            await asyncio.gather(*answers)
        self._offsets.complete(taken.record)
        observe("gossamer_step_seconds", clock.steady() - taken.at, service=self.dedup.name)
        self._room.release()
        self._begun -= 1
        if not self._begun:
            self._quiet.set()

    def passed(self) -> dict[TP, int]:
        """Return, once, the offsets up to which the partitions are done."""
        return {
            TP(self._prefix + last.topic, last.partition): last.offset + 1
            for last in self._offsets.passed()
        }

    async def hand_over(self) -> None:
        """Start nothing more, finish and commit what is under way; others go on from there."""
        consumer = self.app.consumer
        consumer.stop_flow()
        self.app.flow_control.suspend()
        try:
            await asyncio.wait_for(self._quiet.wait(), LAST_WAIT)
        except TimeoutError:
            logger.warning("left to the next owner", records=self._begun)
        # While a commit is under way, the first call only waits for it.
        for _ in range(2):
            await consumer.commit()
        self._offsets = OffsetTracker()

    async def guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work*; if it fails, make `failure` raise why, and never return."""
        try:
            await work
        except Exception as error:
            if not self._failed.done():
                self._failed.set_exception(error)
            await asyncio.Event().wait()

    async def failure(self) -> None:
        """Wait until some work fails, and raise its error."""
        await self._failed

    async def load(self) -> None:
        """Read what Dedup has to know before events flow."""
        await self._in_thread(self.dedup.load)

    def close(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
