"""Carries Dedup along Faust's streams: what the runtime does for other services.

Seeds and discovered URLs are answered one after another, in the event loop, since Faust's table is
the current event's. Parsed pages ask the store, which takes its time, in a thread of their own. A
record is moved past when its answers, and what it changed in the table, are acknowledged by the
brokers; the next ones do not wait for that.
"""

import asyncio
import threading
from collections.abc import Awaitable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import faust
import structlog
from faust.events import Event
from faust.types import TP
from faust.types.tuples import RecordMetadata

from gossamer import clock
from gossamer.errors import Absent
from gossamer.log import Message, Record, partition_of
from gossamer.runtime import answered
from gossamer.store import Store
from gossamer.watermark import Watermark
from services.dedup.changelog import Changelog
from services.dedup.service import Dedup
from services.dedup.tables import Change, SeenTable
from services.dedup.transport import Producer

OPEN = 1000
"""Most records whose answers are on their way to the brokers."""
JUDGED = 32
"""Most pages that are judged, or wait to be sent."""
LAST_WAIT = 5.0
"""Seconds that work under way may take when partitions are taken away, or the end has come."""
RETRY = 1.0

Stream = faust.Stream[bytes]

logger = structlog.get_logger()


class Carrier:
    """One instance's way from records to answers."""

    def __init__(self, app: faust.App, seen: SeenTable, changelog: Changelog, store: Store) -> None:
        self.dedup = Dedup(seen, store)
        self.app, self.seen, self.changelog, self._store = app, seen, changelog, store
        self._prefix = app.conf.id.removesuffix(self.dedup.name)
        self._pool = ThreadPoolExecutor(1, "judge")
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped = threading.Event()
        self._watermark = Watermark()
        self._room = asyncio.Semaphore(OPEN)
        self._under_way: set[asyncio.Task[None]] = set()
        self._line: asyncio.Queue[tuple[Record, Awaitable[list[Message]]]] = asyncio.Queue(JUDGED)
        self._begun = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def answer(self, stream: Stream) -> None:
        """Answer seeds and discovered URLs."""
        async for event in stream.noack().events():
            record = self._begin(event)
            messages = answered(self.dedup, record, clock.now())
            await self._say(record, messages, self.seen.written())

    async def judge(self, stream: Stream) -> None:
        """Answer parsed pages."""
        loop = asyncio.get_running_loop()
        async for event in stream.noack().events():
            record = self._begin(event)
            await self._line.put((record, loop.run_in_executor(self._pool, self._judged, record)))

    async def send_judged(self) -> None:
        """Send what the judges answer, in the order of the pages."""
        while True:
            record, judged = await self._line.get()
            await self._say(record, await judged)

    def _begin(self, event: Event) -> Record:
        at = event.message
        record = Record(
            at.topic.removeprefix(self._prefix),
            at.partition,
            at.offset,
            (at.key or b"").decode(errors="replace"),
            at.value or b"",
        )
        self._watermark.begin(record)
        self._begun += 1
        self._quiet.clear()
        return record

    def _judged(self, record: Record) -> list[Message]:
        while True:
            try:
                messages = answered(self.dedup, record, clock.now())
                self._store.flush()
            except Absent as error:
                logger.warning("waiting", why=str(error))
                if self._stopped.wait(RETRY):
                    raise
            else:
                return messages

    async def _say(
        self, record: Record, messages: Iterable[Message], changed: Iterable[Change] = ()
    ) -> None:
        await self._room.acquire()
        topic = self.seen.changelog_topic_name
        changes = [await self._send(topic, c.partition, c.key, c.value) for c in changed]
        answers = [await self._sent(message) for message in messages]
        task = asyncio.create_task(self.guarded(self._settle(record, changes, answers)))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _sent(self, message: Message) -> Awaitable[RecordMetadata]:
        topic = self._prefix + message.topic
        partition = partition_of(message.place, await self._producer.partitions(topic))
        return await self._send(topic, partition, message.key.encode(), message.value or None)

    @property
    def _producer(self) -> Producer:
        return cast(Producer, self.app.producer)

    async def _send(
        self, topic: str, partition: int, key: bytes, value: bytes | None
    ) -> Awaitable[RecordMetadata]:
        return await self._producer.send(topic, key, value, partition, None, None)

    async def _settle(
        self,
        record: Record,
        changes: list[Awaitable[RecordMetadata]],
        answers: list[Awaitable[RecordMetadata]],
    ) -> None:
        if changes:
            written = await asyncio.gather(*changes)
            self.seen.on_changelog(written[0], written[-1])
        await asyncio.gather(*answers)
        self._watermark.complete(record)
        self._room.release()
        self._begun -= 1
        if not self._begun:
            self._quiet.set()

    def passed(self) -> dict[TP, int]:
        """Return, once, how far the partitions are done: what the log may move to."""
        return {
            TP(self._prefix + last.topic, last.partition): last.offset + 1
            for last in self._watermark.passed()
        }

    async def hand_over(self) -> None:
        """Begin nothing more, finish what is begun, commit it; from now on all of it is others'."""
        consumer = self.app.consumer
        consumer.stop_flow()
        self.app.flow_control.suspend()
        try:
            await asyncio.wait_for(self._quiet.wait(), LAST_WAIT)
        except TimeoutError:
            logger.warning("left to the next owner", records=self._begun)
        # The first one only waits, if a commit is under way.
        for _ in range(2):
            await consumer.commit()
        self._watermark = Watermark()

    async def guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work*; if it breaks, everything is to end, and nothing is begun in its place."""
        try:
            await work
        except Exception as error:
            if not self._failed.done():
                self._failed.set_exception(error)
            await asyncio.Event().wait()

    async def failure(self) -> None:
        """Wait until work breaks, and raise what broke it."""
        await self._failed

    def close(self) -> None:
        """Let go of the threads."""
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
