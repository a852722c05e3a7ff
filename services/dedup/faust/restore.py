"""Restores the table's partitions before events flow, and keeps the standbys up to date.

It replaces Faust's recovery, which reads changelogs and events through the same queues and empties
them on the way: a standby then misses changes, and admits URLs again. Here a thread reads the
changelog with a consumer of its own, and events flow only when that is done.
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
from faust.types import TP
from mode import Service

from gossamer.log.kafka.client import Trouble, client, consumer
from gossamer.log.kafka.gaps import GapCheck
from gossamer.log.kafka.trimming import Trimmer
from gossamer.settings.servers import KafkaSettings
from services.dedup.faust.changelog import Changelog
from services.dedup.faust.transport import Consumer
from services.dedup.service import Dedup


class Offsets:
    """Asks about Dedup's group without being a member. Its methods block."""

    def __init__(self, kafka: KafkaSettings) -> None:
        trouble, group = Trouble(kafka.servers), kafka.prefix + Dedup.name
        asking = KafkaConsumer({**client(kafka, trouble), **consumer(group)})
        self._prefix, self._gaps = kafka.prefix, GapCheck(kafka, group, asking, trouble)
        self._trimmer = Trimmer(kafka)

    def standing(self, tps: Collection[TP]) -> dict[TP, int]:
        """Return the offsets that the group goes on from; raise Gap if records are missing."""
        found = self._gaps.standing([TopicPartition(tp.topic, tp.partition) for tp in tps])
        return {TP(*at): offset for at, offset in found.items()}

    def check(self, positions: Mapping[TP, int]) -> None:
        """Raise Gap if records from one of *positions* on are missing."""
        self._gaps.check({(tp.topic, tp.partition): n for tp, n in positions.items()})

    def trim(self, tps: Collection[TP]) -> None:
        """Delete what was read of *tps*, if that is due again."""
        self._trimmer.trim((tp.topic.removeprefix(self._prefix), tp.partition) for tp in tps)


logger = structlog.get_logger()


class Restorer(Service):
    """Takes the place of Faust's recovery, for the one table, partitioned like *source*.

    It halts as soon as partitions are revoked.
    """

    def __init__(
        self, app: faust.App, source: str, changelog: Changelog, offsets: Offsets, **mode: Any
    ) -> None:
        super().__init__(**mode)
        self.load: Callable[[], Awaitable[None]]
        """Reads what else must be known of the partitions; who builds the app sets it."""
        self.completed = asyncio.Event()
        """Set when events have flowed for the first time."""
        self._app, self._source, self._changelog = app, source, changelog
        self._offsets = offsets
        self._thread = ThreadPoolExecutor(1, "changelog")
        self._halt = threading.Event()

    def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Halt: the new assignment is not known yet."""
        self._halt.set()

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Restore the partitions assigned now, unless a later assignment is on its way."""
        mine, gained = _of({self._source}, assigned), _of({self._source}, newly_assigned)
        lost = _of({self._source}, revoked) - mine
        logger.info("rebalance", partitions=len(mine), gained=sorted(gained), lost=sorted(lost))
        if generation_id == self._app.consumer_generation_id:
            self._halt.set()
            self._halt = threading.Event()
            self.add_future(self._restore(self._halt))

    async def _restore(self, halt: threading.Event) -> None:
        mine = _of({self._source}, self._app.consumer.assignment())
        await self._read(mine, halt, follow=False)
        read = read_by(self._app)
        ask = partial(self._offsets.standing, read)
        await self.load()
        positions = await asyncio.get_running_loop().run_in_executor(self._thread, ask)
        if not halt.is_set():
            cast(Consumer, self._app.consumer).positions = positions
            await self._flow(read)
            standbys = self._app.assignor.assigned_standbys()
            spare = _of(self._app.tables.changelog_topics, standbys) - mine
            await self._read(spare, halt, follow=True)

    async def _read(self, partitions: Collection[int], halt: threading.Event, follow: bool) -> None:
        if partitions:
            read = partial(self._changelog.read, partitions, halt, follow)
            await asyncio.get_running_loop().run_in_executor(self._thread, read)

    async def _flow(self, partitions: set[TP]) -> None:
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
        """Halt, and end the thread."""
        self._halt.set()
        self._thread.shutdown(wait=False)


def read_by(app: faust.App) -> set[TP]:
    """Return the partitions that are assigned to *app*, but for changelogs."""
    changelogs = cast(TableManager, app.tables).changelog_topics
    return {tp for tp in app.consumer.assignment() if tp.topic not in changelogs}


def _of(topics: set[str], tps: Iterable[TP]) -> set[int]:
    return {tp.partition for tp in tps if tp.topic in topics}
