"""A fetcher during an outage of its Kafka: it reports its visits later, once."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from gossamer.errors import Fenced
from gossamer.events import Outcome, VisitEnded
from gossamer.events.topics import VISITS_ENDED
from gossamer.log.codec import decode, encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.services.fetcher.wiring import Coordination, fixed_epoch, serve
from gossamer.settings import Settings
from gossamer.store.sqlite import SqliteStore
from tests.adapters.kafka_broker import Broker
from tests.fetcher.orders import order, settings
from tests.fetcher.servers import page, serving
from tests.runtime.manual import until

pytestmark = pytest.mark.slow
VISITS = 6


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a Kafka of this test, with topics."""
    broker = Broker(tmp_path_factory.mktemp("kafka") / "data")
    broker.start()
    list(Topics(broker.settings()).apply())
    yield broker
    broker.server.kill()


@pytest.mark.parametrize("member", [pytest.param("", marks=pytest.mark.long), "fetcher-1"])
async def test_visits_during_a_kafka_outage_are_reported_once_afterwards(
    broker: Broker, store: SqliteStore, member: str
) -> None:
    given = Settings(fetcher=settings(connect_limit=30.0, first_byte_limit=30.0, visit_limit=60.0))
    stop = asyncio.Event()
    with closing(KafkaLog(broker.settings(timeout=10.0), member)) as log:
        async with serving(**{f"p{n}": page() for n in range(VISITS)}) as server:
            urls = [f"{server.root}/p{n}" for n in range(VISITS)]
            log.append([encode(order(*urls, pause=1.0))])
            running = asyncio.create_task(serve_as_a_process(given, log, store, stop))
            await until(lambda: len(server.paths) >= 2)
            await asyncio.to_thread(broker.server.kill)
            await until(lambda: len(server.paths) == VISITS)
            await asyncio.to_thread(broker.server.start)
            ended = await reported_visits(log)
            stop.set()
            await running
    assert [one.outcome for one in ended] == [Outcome.PAGE] * VISITS
    assert Counter(server.paths) == Counter(f"/p{n}" for n in range(VISITS)), "one request a page"


async def serve_as_a_process(
    given: Settings, log: KafkaLog, store: SqliteStore, stop: asyncio.Event
) -> None:
    """Fetch until *stop*; start again after a fence, as a process of a fleet does.

    The broker may fence a static member that rejoins twice. The visits have ended by then. If they
    were repeated or lost, the pages would not be reported once.
    """
    while not stop.is_set():
        try:
            await serve(given, log, store, Coordination(fixed_epoch(1)), stop)
        except Fenced:
            continue


async def reported_visits(log: KafkaLog) -> list[VisitEnded]:
    """Return the reported visits by their numbers, once the last one is on the log."""
    tail = log.tail([VISITS_ENDED.name])
    found: dict[int, VisitEnded] = {}
    while not any(one.last for one in found.values()):
        for record in await asyncio.to_thread(tail.poll, 0.5):
            if isinstance(event := decode(record), VisitEnded):
                found.setdefault(event.index, event)
    return [found[index] for index in sorted(found)]
