"""Faust's transport to Kafka and its recovery, changed so that they lose no records.

The transport sends no record twice. In a rebalance, Faust drops fetched records and seeks back to
the committed offset. Sometimes it seeks first and drops afterwards, and records are lost. Faust
commits the records that its streams acknowledge. When partitions are revoked, it forgets
acknowledgements since the last commit, and it commits past an unprocessed record if a later one is
processed. So here only records of an earlier assignment are dropped, nothing seeks, streams
acknowledge nothing, and the runner returns the offsets to commit.

`Restorer` restores the table's partitions before events flow, and keeps standbys up to date. It
replaces Faust's recovery, which reads changelogs and events through the same queues and empties
them on the way. A standby then misses changes, and admits URLs a second time after it has taken
over. Here a thread reads the changelog with its own consumer, and events flow only after it has
read the changelog.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import faust
import structlog
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import TopicPartition
from faust.tables.manager import TableManager
from faust.transport.drivers import aiokafka
from faust.types import TP
from mode import Service, ServiceT
from mode.threads import ServiceThread

from gossamer.log.kafka.client import ConnectionErrors, client_config, consumer_config
from gossamer.log.kafka.retention import GapCheck, Trimmer
from gossamer.services.dedup.faust.changelog import Changelog
from gossamer.services.dedup.service import Dedup
from gossamer.settings.servers import KafkaSettings

CommittableOffsets = Callable[[], dict[TP, int]]
HandOver = Callable[[], Awaitable[None]]

FLOW_CHECK_INTERVAL = 0.02
"""Seconds between two checks whether events flow."""
logger = structlog.get_logger()


class Producer(aiokafka.Producer):
    """Retries until all in-sync replicas have a record; none of them stores it twice."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}

    async def partitions(self, topic: str) -> int:
        """Return the number of partitions of *topic*."""
        return len(await self._ensure_producer().partitions_for(topic))


class Thread(aiokafka.AIOKafkaConsumerThread):
    """The thread of aiokafka's consumer."""

    async def stop(self) -> None:
        """Stop the consumer, and wait for the end of its thread.

        mode waits for it in the event loop. A job in the thread that waits for that loop would then
        never end.
        """
        if self._started.is_set():
            await super(ServiceThread, self).stop()
            if self._thread is not None:
                await asyncio.get_running_loop().run_in_executor(None, self._thread.stop)

    def current_assignment(self) -> object:
        """Return the current assignment, a new object after each rebalance."""
        return self._ensure_consumer()._subscription.subscription.assignment

    async def fetch(self, tps: Collection[TP]) -> tuple[object, Mapping[TP, list[Any]]]:
        """Return the next records of *tps*, and the assignment that they belong to."""

        async def fetch() -> tuple[object, Mapping[TP, list[Any]]]:
            records = await self._fetch_records(self._ensure_consumer(), set(tps), timeout=1.0)
            return self.current_assignment(), records

        found: tuple[object, Mapping[TP, list[Any]]] = await self.call_thread(fetch)
        return found


class Consumer(aiokafka.Consumer):
    """Commits the runner's offsets, and finishes records before partitions are revoked.

    The builder of the app sets all fields.
    """

    _thread: Thread
    committable_offsets: CommittableOffsets
    hand_over: HandOver
    """Finishes and commits the records in flight."""
    check: Callable[[Mapping[TP, int]], None]
    """Blocks; raises Gap if records are missing."""
    positions: dict[TP, int]
    """Partition → the next expected offset."""

    def _new_consumer_thread(self) -> Thread:
        return Thread(self, loop=self.loop, beacon=self.beacon)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Finish and commit records while the partitions are still assigned."""
        # The restore is halted first: if it completed during `hand_over`, events would flow again.
        self.app.tables.on_partitions_revoked(revoked)
        if revoked:
            await self.hand_over()
        await super().on_partitions_revoked(revoked)

    def _filter_committable_offsets(self, tps: Iterable[TP]) -> dict[TP, int]:
        return self.committable_offsets()

    async def _drain_messages(self, fetcher: ServiceT) -> None:
        def must_stop() -> bool:
            return self.should_stop or fetcher.should_stop

        while not must_stop():
            active = frozenset(self._get_active_partitions())
            if not active or not self.flow_active:
                await self.sleep(FLOW_CHECK_INTERVAL)
                continue
            assignment, records = await self._thread.fetch(active)
            for tp, record in self.scheduler.iterate(records):
                while not self.flow_active and not must_stop():
                    await self.sleep(FLOW_CHECK_INTERVAL)
                if must_stop() or self._thread.current_assignment() is not assignment:
                    break
                if record.offset != self.positions.get(tp, record.offset):
                    check = partial(self.check, {tp: self.positions[tp]})
                    await asyncio.get_running_loop().run_in_executor(None, check)
                self.positions[tp] = record.offset + 1
                await self.callback(self._to_message(tp, record))

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Skip Faust's check, which needs acknowledgements by streams."""


class Transport(aiokafka.Transport):
    """The transport with the producer and consumer of this module."""

    Consumer = Consumer
    Producer = Producer


class Offsets:
    """Reads the offsets of dedup's group without being a member; finds gaps, and deletes records.

    Faust's consumer skips a gap silently, and deletes nothing. The methods block.
    """

    def __init__(self, kafka: KafkaSettings) -> None:
        trouble, group = ConnectionErrors(kafka.servers), kafka.prefix + Dedup.name
        reader = KafkaConsumer({**client_config(kafka, trouble), **consumer_config(group)})
        self._prefix, self._gaps = kafka.prefix, GapCheck(kafka, group, reader, trouble)
        self._trimmer = Trimmer(kafka)

    def read_positions(self, tps: Collection[TP]) -> dict[TP, int]:
        """Return the offsets at which the group continues; raise Gap if records are missing."""
        found = self._gaps.start_offsets([TopicPartition(tp.topic, tp.partition) for tp in tps])
        return {TP(*at): offset for at, offset in found.items()}

    def check(self, positions: Mapping[TP, int]) -> None:
        """Raise Gap if records after one of *positions* are missing."""
        self._gaps.check({(tp.topic, tp.partition): n for tp, n in positions.items()})

    def trim(self, tps: Collection[TP]) -> None:
        """Delete consumed records of *tps*, if that is due again."""
        self._trimmer.trim((tp.topic.removeprefix(self._prefix), tp.partition) for tp in tps)


class Restorer(Service):
    """Replaces Faust's recovery for the URL-seen table, which is partitioned like *source*.

    It halts as soon as partitions are revoked.
    """

    def __init__(
        self, app: faust.App, source: str, changelog: Changelog, offsets: Offsets, **mode: Any
    ) -> None:
        super().__init__(**mode)
        self.load: Callable[[], Awaitable[None]]
        """Loads other state before events flow; set by the builder of the app."""
        self.completed = asyncio.Event()
        """Set when events flow for the first time."""
        self._app, self._source, self._changelog = app, source, changelog
        self._offsets = offsets
        self._thread = ThreadPoolExecutor(1, "changelog")
        self._halt = threading.Event()

    def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Halt until the new assignment is known."""
        self._halt.set()

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Restore the assigned partitions, unless another rebalance has begun."""
        source = {self._source}
        ours, gained = _partitions_of(source, assigned), _partitions_of(source, newly_assigned)
        lost = _partitions_of(source, revoked) - ours
        logger.info(
            "partitions assigned by a rebalance",
            partitions=len(ours),
            gained=sorted(gained),
            lost=sorted(lost),
        )
        if generation_id == self._app.consumer_generation_id:
            self._halt.set()
            self._halt = threading.Event()
            self.add_future(self._restore(self._halt))

    async def _restore(self, halt: threading.Event) -> None:
        ours = _partitions_of({self._source}, self._app.consumer.assignment())
        await self._read(ours, halt, follow=False)
        consumed = consumed_partitions(self._app)
        read_positions = partial(self._offsets.read_positions, consumed)
        await self.load()
        positions = await asyncio.get_running_loop().run_in_executor(self._thread, read_positions)
        if not halt.is_set():
            cast(Consumer, self._app.consumer).positions = positions
            await self._resume_flow(consumed)
            standbys = self._app.assignor.assigned_standbys()
            standby_partitions = _partitions_of(self._app.tables.changelog_topics, standbys)
            await self._read(standby_partitions - ours, halt, follow=True)

    async def _read(self, partitions: Collection[int], halt: threading.Event, follow: bool) -> None:
        if partitions:
            read = partial(self._changelog.read, partitions, halt, follow)
            await asyncio.get_running_loop().run_in_executor(self._thread, read)

    async def _resume_flow(self, partitions: set[TP]) -> None:
        app, consumer = self._app, self._app.consumer
        tables = cast(TableManager, app.tables)
        consumer.resume_partitions(partitions)
        self.completed.set()
        app.flow_control.resume()
        consumer.resume_flow()
        await app._fetcher.maybe_start()
        tables.on_actives_ready()
        tables.on_standbys_ready()
        app.on_rebalance_end()

    async def on_stop(self) -> None:
        """Halt, and stop the thread."""
        self._halt.set()
        self._thread.shutdown(wait=False)


def consumed_partitions(app: faust.App) -> set[TP]:
    """Return the partitions assigned to *app*, without changelogs."""
    changelogs = cast(TableManager, app.tables).changelog_topics
    return {tp for tp in app.consumer.assignment() if tp.topic not in changelogs}


def _partitions_of(topics: set[str], tps: Iterable[TP]) -> set[int]:
    return {tp.partition for tp in tps if tp.topic in topics}
