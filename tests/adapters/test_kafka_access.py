"""Access to a real Kafka: passwords, TLS, and brokers that are absent or stop."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from threading import Event, Thread
from typing import TypeVar

import pytest

from gossamer.errors import Fenced, GossamerError, Unavailable
from gossamer.events import Outcome, VisitEnded
from gossamer.events.topics import VISITS_ENDED
from gossamer.log import Message, Record
from gossamer.log.codec import decode, encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.services.fetcher.wiring import Coordination, fixed_epoch, serve
from gossamer.settings import Settings
from gossamer.store.sqlite import SqliteStore
from tests.fetcher.orders import order
from tests.fetcher.orders import settings as fetcher_settings
from tests.fetcher.servers import page, serving
from tests.runtime.manual import until as until_async
from tests.servers import free_ports
from tests.support.waiting import until

from .kafka_broker import PASSWORD, USER, Broker
from .kafka_member import Nothing

T = TypeVar("T")
TOPIC = VISITS_ENDED.name
VISITS = 6
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a Kafka of these tests, with topics."""
    broker = Broker(tmp_path_factory.mktemp("kafka") / "data")
    broker.start()
    list(Topics(broker.settings()).apply())
    yield broker
    broker.server.kill()


def everything(log: KafkaLog) -> list[Record]:
    tail, found = log.tail([TOPIC]), []
    while records := tail.poll(0):
        found += records
    return found


KNOWN = {"username": USER, "password": PASSWORD}
WAYS = {
    "plain": {**KNOWN, "security": "sasl_plaintext", "mechanism": "PLAIN"},
    "scram": {**KNOWN, "security": "sasl_plaintext", "mechanism": "SCRAM-SHA-512"},
    "tls": {**KNOWN, "security": "sasl_ssl"},
}


NAMES = [name if name == "scram" else pytest.param(name, marks=pytest.mark.long) for name in WAYS]


def way(broker: Broker, name: str, **changes: object) -> dict[str, object]:
    where = {"servers": broker.sasl}
    if name == "tls":
        where = {"servers": broker.tls, "ca_file": str(broker.ca_file)}
    return {**where, **WAYS[name], **changes}


@pytest.mark.parametrize("name", NAMES)
def test_right_password_is_accepted(broker: Broker, name: str) -> None:
    with closing(KafkaLog(broker.settings(**way(broker, name, prefix="")))) as log:  # type: ignore[arg-type]
        log.append([Message(TOPIC, "k", name.encode(), "k")])
        assert name.encode() in {record.value for record in everything(log)}
        reader = log.reader(f"reads-{name}", [TOPIC], Nothing())  # type: ignore[arg-type]
        while not (records := reader.poll(1.0)):
            pass
        assert reader.advance(records, ())
        assert not list(Topics(broker.settings(**way(broker, name))).apply())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_wrong_password_is_reported_at_once(broker: Broker, name: str) -> None:
    settings = broker.settings(**way(broker, name, password="not this"))  # type: ignore[arg-type]
    for attempt in (lambda: KafkaLog(settings), lambda: list(Topics(settings).apply())):
        with pytest.raises(GossamerError, match="wrong username or password") as error:
            attempt()
        assert not isinstance(error.value, Unavailable)
        assert "not this" not in str(error.value)


def test_unknown_certificate_is_reported_at_once(broker: Broker) -> None:
    settings = broker.settings(**way(broker, "tls", ca_file=None))  # type: ignore[arg-type]
    with pytest.raises(GossamerError, match=r"TLS failed.*kafka\.ca_file") as error:
        KafkaLog(settings)
    assert not isinstance(error.value, Unavailable)


def test_absent_brokers_are_unavailable(broker: Broker) -> None:
    settings = broker.settings(f"127.0.0.1:{free_ports(1)}", timeout=1.0)
    for attempt in (lambda: KafkaLog(settings), lambda: list(Topics(settings).apply())):
        with pytest.raises(Unavailable, match=r"does not answer.*refused"):
            attempt()


def await_answer(attempt: Callable[[], T]) -> T:
    """Repeat *attempt* until the broker answers within the client's timeout."""
    answers: list[T] = []

    def has_answered() -> bool:
        with suppress(Unavailable):
            answers.append(attempt())
        return bool(answers)

    until(has_answered, "an answer of the broker")
    return answers[0]


class Appender:
    """Appends until the end of the test, in a thread, and records acknowledged messages."""

    def __init__(self, log: KafkaLog) -> None:
        self.acknowledged: list[int] = []
        self._log, self._enough = log, Event()
        self._thread = Thread(target=self._append)
        self._thread.start()

    def _append(self) -> None:
        for number in count():
            self._log.append([Message(TOPIC, "n", b"%d" % number, str(i)) for i in range(10)])
            self.acknowledged.append(number)
            if self._enough.is_set():
                return

    def goes_on(self) -> None:
        """Wait until it has appended many more messages."""
        further = len(self.acknowledged) + 50
        until(lambda: len(self.acknowledged) > further, "appending goes on")

    def end(self) -> list[bytes]:
        """Stop it; return the acknowledged messages."""
        self._enough.set()
        self._thread.join(60)
        return sorted(b"%d" % number for number in self.acknowledged for _ in range(10))


@pytest.mark.long
def test_killed_broker_keeps_acknowledged_records_and_clients_continue(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.log.kafka.reader.CHECK_INTERVAL", 2.0)
    log = KafkaLog(broker.settings(timeout=90.0))
    hasty = await_answer(lambda: KafkaLog(broker.settings(timeout=5.0)))
    reader = log.reader("reads-on", [TOPIC], Nothing())  # type: ignore[arg-type]
    tail = log.tail([TOPIC])
    appender = Appender(log)
    appender.goes_on()
    while not reader.advance(records := reader.poll(1.0), ()) or not records:
        pass
    beginner = log.reader("begins", [TOPIC], Nothing())  # type: ignore[arg-type]
    while not beginner.partitions:
        beginner.poll(0.05)
    broker.server.kill()
    for attempt in (
        lambda: hasty.append([Message(TOPIC, "k", b"hasty", "k")]),
        lambda: hasty.lag("reads-on", TOPIC),
    ):
        with pytest.raises(Unavailable, match="does not answer"):
            attempt()
    broker.server.start()
    appender.goes_on()
    expected = appender.end()
    found = sorted(one.value for one in everything(log) if one.key == "n")
    assert found == expected, "lost, or twice"
    await_answer(lambda: hasty.append([Message(TOPIC, "k", b"later", "k")]))
    for group, one in (("reads-on", reader), ("begins", beginner)):
        while log.lag(group, TOPIC):
            one.advance(one.poll(0.05), ())
    until(lambda: b"later" in {record.value for record in tail.poll(0.1)}, "the tail goes on")
    for opened in (log, hasty):
        opened.close()


# A fetcher during an outage


@pytest.mark.parametrize("member", [pytest.param("", marks=pytest.mark.long), "fetcher-1"])
async def test_visits_during_a_kafka_outage_are_reported_once_afterwards(
    broker: Broker, store: SqliteStore, member: str
) -> None:
    given = Settings(
        fetcher=fetcher_settings(connect_limit=30.0, first_byte_limit=30.0, visit_limit=60.0)
    )
    stop, topics = asyncio.Event(), broker.settings(timeout=10.0, prefix=f"outage{member}.")
    list(Topics(topics).apply())
    with closing(KafkaLog(topics, member)) as log:
        async with serving(**{f"p{n}": page() for n in range(VISITS)}) as server:
            urls = [f"{server.root}/p{n}" for n in range(VISITS)]
            log.append([encode(order(*urls, pause=1.0))])
            running = asyncio.create_task(serve_as_a_process(given, log, store, stop))
            await until_async(lambda: len(server.paths) >= 2)
            await asyncio.to_thread(broker.server.kill)
            await until_async(lambda: len(server.paths) == VISITS)
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
