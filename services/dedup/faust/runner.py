"""Runs Dedup on Faust's streams, as the runtime's loop runs the other services.

Seeds and discovered URLs are handled one by one in the event loop, because Faust's table can only
be written while an event is current. Parsed pages access the store, which blocks, so they are
handled in a thread of their own. Pages that wait together are handled in one batch, with one flush.
A record is committed when the brokers have acknowledged its outputs and its changes of the table.
Later records do not wait for that.
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
from gossamer.errors import GossamerError, Unavailable
from gossamer.events import FLEET
from gossamer.events import Event as AnyEvent
from gossamer.log import Message, Record, partition_of
from gossamer.log.blobs import load_all
from gossamer.log.codec import decode_all
from gossamer.runtime.concurrent import OffsetTracker
from gossamer.runtime.handling import events_of, handle_record, handle_records, read_ahead, reads_of
from gossamer.services.dedup.faust.changelog import Changelog
from gossamer.services.dedup.faust.tables import Change
from gossamer.services.dedup.faust.transport import Producer
from gossamer.services.dedup.service import Dedup
from gossamer.store import Store
from gossamer.telemetry import observe
from gossamer.telemetry.timing import observe_duration
from gossamer.volumes import Volume

MAX_UNACKNOWLEDGED = 1000
"""Maximum number of records with outputs that are not acknowledged yet."""
MAX_PAGES_PER_BATCH = 32
"""Maximum number of pages in the queue, and so in a batch."""
BATCH_INTERVAL = 0.1
"""Seconds between two batches of pages, unless a batch was full."""
DRAIN_TIMEOUT = 5.0
"""Seconds that records in flight may take when partitions are revoked, or at the end."""
UNKNOWN_INTERVAL = 1.0
"""Seconds between two attempts to read the definition of a crawl that is not defined."""
RETRY_INTERVAL = 1.0
"""Seconds between two attempts while the store is unavailable."""

Stream = faust.Stream[bytes]
T = TypeVar("T")

logger = structlog.get_logger()


class PendingRecord(NamedTuple):
    """A record in flight, from its stream to its commit."""

    record: Record
    begun_at: float
    """Monotonic time at which it was received."""


class FaustRunner:
    """Handles records, and tracks each of them until its outputs are acknowledged."""

    def __init__(
        self,
        app: faust.App,
        dedup: Dedup,
        changelog: Changelog,
        store: Store,
        blobs: Volume | None = None,
    ) -> None:
        self._blobs = blobs
        self.dedup = dedup
        self.read_control: Callable[[], Awaitable[None]] | None = None
        """Reads the control topic to its present end."""
        self._unknown = dict[str, float]()
        """Unknown crawl → the steady time from which the control topic is read for it again."""
        self.app, self.seen, self.changelog, self._store = app, changelog.table, changelog, store
        self._prefix = app.conf.id.removesuffix(self.dedup.name)
        self._pool = ThreadPoolExecutor(1, "pages")
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopped = threading.Event()
        self._offsets = OffsetTracker()
        self._capacity = asyncio.Semaphore(MAX_UNACKNOWLEDGED)
        self._commits: set[asyncio.Task[None]] = set()
        self._pages: asyncio.Queue[PendingRecord] = asyncio.Queue(MAX_PAGES_PER_BATCH)
        self._in_flight = 0
        """The number of records in flight."""
        self._idle = asyncio.Event()
        """Set while no record is in flight."""
        self._idle.set()

    async def handle_urls(self, stream: Stream) -> None:
        """Handle seeds and discovered URLs."""
        async for event in stream.noack().events():
            pending = self._register(event)
            (one,) = decode_all([pending.record])
            await self._read_definition(one.event)
            # For events without pages, `reads_of` yields a single group of keys, which is mostly
            # empty.
            if keys := next(reads_of(self.dedup, events_of([one])), None):
                await self._in_thread(partial(read_ahead, self._store, [keys]))
            messages, changes = handle_record(self.dedup, one, clock.now()), self.seen.pop_changes()
            if self.dedup.is_unsettled:
                await self._in_thread(self._settle_store)
            await self._send_outputs(pending, messages, changes)

    async def _read_definition(self, event: AnyEvent | GossamerError) -> None:
        """Read the control topic if the crawl of *event* is not known yet.

        A crawl is defined before its first seed, but the control topic may arrive later.
        """
        if isinstance(event, GossamerError) or event.crawl == FLEET:
            return
        now = clock.steady()
        if self.dedup.knows(event.crawl) or self._unknown.get(event.crawl, now) > now:
            return
        if self.read_control:
            await self.read_control()
        self._unknown = {crawl: until for crawl, until in self._unknown.items() if until > now}
        self._unknown[event.crawl] = clock.steady() + UNKNOWN_INTERVAL

    async def queue_pages(self, stream: Stream) -> None:
        """Queue parsed pages for `handle_pages`."""
        async for event in stream.noack().events():
            await self._pages.put(self._register(event))

    async def handle_pages(self) -> None:
        """Handle queued pages in batches, each with one flush of the store."""
        while True:
            batch = [await self._pages.get()]
            begun_at = clock.steady()
            while not self._pages.empty():
                batch.append(self._pages.get_nowait())
            records = [pending.record for pending in batch]
            outputs = await self._in_thread(partial(self._handle_batch, records))
            for pending, messages in zip(batch, outputs, strict=True):
                await self._send_outputs(pending, messages)
            if len(batch) < MAX_PAGES_PER_BATCH:
                await asyncio.sleep(max(0.0, begun_at + BATCH_INTERVAL - clock.steady()))

    def _register(self, event: Event) -> PendingRecord:
        """Return the record of *event*, which is in flight from now on."""
        message = event.message
        record = Record(
            message.topic.removeprefix(self._prefix),
            message.partition,
            message.offset,
            (message.key or b"").decode(errors="replace"),
            message.value or b"",
        )
        self._offsets.begin(record)
        self._in_flight += 1
        self._idle.clear()
        return PendingRecord(record, clock.steady())

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Do *work* on the store in the thread, and retry while the store is unavailable."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._retry, work)

    def _retry(self, work: Callable[[], T]) -> T:
        while True:
            try:
                return work()
            except Unavailable as error:
                logger.warning("store unavailable: repeating the work", reason=str(error))
                if self._stopped.wait(RETRY_INTERVAL):
                    raise

    def _handle_batch(self, records: Sequence[Record]) -> list[list[Message]]:
        decoded = load_all(decode_all(records), self._blobs)
        read_ahead(self._store, reads_of(self.dedup, events_of(decoded)))
        messages = handle_records(self.dedup, decoded, clock.now, self._restart)
        self._store.flush()
        return messages

    def _restart(self) -> None:
        self._store.discard()
        self.dedup.restart(frozenset(), clock.now())

    def _settle_store(self) -> None:
        self.dedup.settle()
        self._store.flush()

    async def _send_outputs(
        self, pending: PendingRecord, messages: Iterable[Message], changes: Iterable[Change] = ()
    ) -> None:
        await self._capacity.acquire()
        topic = self.seen.changelog_topic_name
        sent_changes = [await self._send(topic, c.partition, c.key, c.value) for c in changes]
        outputs = [await self._send_message(message) for message in messages]
        finish = self._await_acknowledgements(pending, sent_changes, outputs)
        task = asyncio.create_task(self.guard(finish))
        self._commits.add(task)
        task.add_done_callback(self._commits.discard)

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

    async def _await_acknowledgements(
        self,
        pending: PendingRecord,
        changes: list[Awaitable[RecordMetadata]],
        outputs: list[Awaitable[RecordMetadata]],
    ) -> None:
        with (
            observe_duration("gossamer_log_append_seconds") if changes or outputs else nullcontext()
        ):
            if changes:
                written = await asyncio.gather(*changes)
                self.seen.record_published(written[0], written[-1])
            await asyncio.gather(*outputs)
        self._offsets.complete(pending.record)
        observe("gossamer_step_seconds", clock.steady() - pending.begun_at, service=self.dedup.name)
        self._capacity.release()
        self._in_flight -= 1
        if not self._in_flight:
            self._idle.set()

    def committable_offsets(self) -> dict[TP, int]:
        """Return the offsets to commit that are new since the last call."""
        return {
            TP(self._prefix + last.topic, last.partition): last.offset + 1
            for last in self._offsets.pop_completed()
        }

    async def hand_over(self) -> None:
        """Stop the flow of events, then finish and commit the records in flight."""
        consumer = self.app.consumer
        consumer.stop_flow()
        self.app.flow_control.suspend()
        try:
            await asyncio.wait_for(self._idle.wait(), DRAIN_TIMEOUT)
        except TimeoutError:
            logger.warning(
                "records in flight are not finished: the next owner processes them again",
                records=self._in_flight,
            )
        # If a commit is in progress, the first call only waits for it.
        for _ in range(2):
            await consumer.commit()
        self._offsets = OffsetTracker()

    async def guard(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work*; if it fails, pass the error to `failure`, and never return."""
        try:
            await work
        except Exception as error:
            if not self._failed.done():
                self._failed.set_exception(error)
            await asyncio.Event().wait()

    async def failure(self) -> None:
        """Wait until guarded work fails, and raise its error."""
        await self._failed

    async def load(self) -> None:
        """Load the erasures, before events flow."""
        await self._in_thread(self.dedup.load)

    def close(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
