"""Faust's transport to Kafka, changed so that it loses no records and sends none twice.

In a rebalance, Faust drops fetched records and seeks back to the committed offset. Sometimes it
seeks first and drops afterwards, and records are lost. Faust commits the records that its streams
acknowledge. When partitions are revoked, it forgets acknowledgements since the last commit, and it
commits past an unprocessed record if a later one is processed. So here only records of an earlier
assignment are dropped, nothing seeks, streams acknowledge nothing, and the runner returns the
offsets to commit.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from faust.transport.drivers import aiokafka
from faust.types import TP
from mode import ServiceT

CommittableOffsets = Callable[[], dict[TP, int]]
HandOver = Callable[[], Awaitable[None]]

FLOW_CHECK_INTERVAL = 0.02
"""Seconds between two checks whether events flow."""


class Producer(aiokafka.Producer):
    """Retries until all in-sync replicas have a record; none of them stores it twice."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}

    async def partitions(self, topic: str) -> int:
        """Return the number of partitions of *topic*."""
        return len(await self._ensure_producer().partitions_for(topic))


class Thread(aiokafka.AIOKafkaConsumerThread):
    """The thread of aiokafka's consumer."""

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
