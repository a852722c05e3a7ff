"""Faust's transport to Kafka, changed so that nothing is lost on it and nothing is sent twice.

In a rebalance Faust drops what it has fetched and seeks back to what is committed; now and then it
seeks first and drops afterwards, and records are lost. It commits what its streams acknowledge:
when partitions are revoked that forgets what was done since the last commit, and it moves past a
record that is not done if the one after it is. So here only records of an assignment that is over
are dropped, nothing seeks, streams acknowledge nothing, and the runner says how far each partition
is done.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from faust.transport.drivers import aiokafka
from faust.types import TP
from mode import ServiceT

Passed = Callable[[], dict[TP, int]]
HandOver = Callable[[], Awaitable[None]]

IDLE = 0.02
"""Seconds between two checks whether events flow."""


class Producer(aiokafka.Producer):
    """Retries until the brokers have a record, and they keep it once."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}

    async def partitions(self, topic: str) -> int:
        """Return how many partitions *topic* has."""
        return len(await self._ensure_producer().partitions_for(topic))


class Thread(aiokafka.AIOKafkaConsumerThread):
    """The thread in which aiokafka's consumer runs."""

    def assigned(self) -> object:
        """Return the present assignment: each rebalance makes a new object."""
        return self._ensure_consumer()._subscription.subscription.assignment

    async def fetch(self, tps: Collection[TP]) -> tuple[object, Mapping[TP, list[Any]]]:
        """Return the next records of *tps*, and the assignment they belong to."""

        async def fetch() -> tuple[object, Mapping[TP, list[Any]]]:
            records = await self._fetch_records(self._ensure_consumer(), set(tps), timeout=1.0)
            return self.assigned(), records

        found: tuple[object, Mapping[TP, list[Any]]] = await self.call_thread(fetch)
        return found


class Consumer(aiokafka.Consumer):
    """Hands over before partitions are revoked, and commits what *passed* says."""

    _thread: Thread
    passed: Passed
    hand_over: HandOver
    """Finishes and commits what is under way."""
    check: Callable[[Mapping[TP, int]], None]
    """Blocks, and raises Gap where records are missing. Who builds the app sets all three."""
    positions: dict[TP, int]
    """The offset that comes next, of each partition where it is known."""

    def _new_consumer_thread(self) -> Thread:
        return Thread(self, loop=self.loop, beacon=self.beacon)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Finish and commit while the partitions are still ours."""
        # First of all, or events flow again if restoring ends just now.
        self.app.tables.on_partitions_revoked(revoked)
        if revoked:
            await self.hand_over()
        await super().on_partitions_revoked(revoked)

    def _filter_committable_offsets(self, tps: Iterable[TP]) -> dict[TP, int]:
        return self.passed()

    async def _drain_messages(self, fetcher: ServiceT) -> None:
        def ended() -> bool:
            return self.should_stop or fetcher.should_stop

        while not ended():
            active = frozenset(self._get_active_partitions())
            if not active or not self.flow_active:
                await self.sleep(IDLE)
                continue
            assignment, records = await self._thread.fetch(active)
            for tp, record in self.scheduler.iterate(records):
                while not self.flow_active and not ended():
                    await self.sleep(IDLE)
                if ended() or self._thread.assigned() is not assignment:
                    break
                if record.offset != self.positions.get(tp, record.offset):
                    check = partial(self.check, {tp: self.positions[tp]})
                    await asyncio.get_running_loop().run_in_executor(None, check)
                self.positions[tp] = record.offset + 1
                await self.callback(self._to_message(tp, record))

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Check nothing: Faust judges by acknowledgements, which nothing makes here."""


class Transport(aiokafka.Transport):
    """Makes this producer and this consumer."""

    Consumer = Consumer
    Producer = Producer
