"""The changelog of the URL-seen table, as it lies on Kafka: made, and read back into the table.

Faust would make it too, but not see whether it is still the one that a table on disk belongs to.
"""

import threading
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from gossamer import clock, topics
from gossamer.errors import Absent, GossamerError
from gossamer.log.kafka_client import Trouble, client, consumer, error_of
from gossamer.log.kafka_topics import Wanted, wanted
from gossamer.servers import KafkaSettings
from services.dedup.tables import Change, SeenTable

BATCH = 5000
WAIT = 0.2
"""Seconds that reading may take to notice that it is to end."""
LOOK = 0.1


def make_changelog(kafka: KafkaSettings, partitions: int) -> str:
    """Make the topic unless it is there; return its id: another one if it is made anew."""
    wish, trouble = _wish(kafka), Trouble(kafka.servers)
    admin: Any = AdminClient(client(kafka, trouble))
    new = NewTopic(wish.name, partitions, wish.replication, config=wish.config)
    until = clock.steady() + kafka.timeout
    try:
        _done(admin.create_topics([new])[wish.name], KafkaError.TOPIC_ALREADY_EXISTS)
        while not (found := _described(admin, wish.name)):
            if clock.steady() > until:
                raise Absent(f"Kafka does not bring up {wish.name}")
            clock.pause(LOOK)
    except KafkaException as failure:
        raise trouble.told(error_of(failure)) from failure
    if len(found.partitions) != partitions:
        raise GossamerError(
            f"{wish.name} has {len(found.partitions)} partitions, the topics keyed by site have "
            f"{partitions}: neither number can be changed"
        )
    return str(found.topic_id)


def _described(admin: Any, name: str) -> Any:
    described = admin.describe_topics(TopicCollection([name]))[name]
    return _done(described, KafkaError.UNKNOWN_TOPIC_OR_PART)


def _done(future: "Future[Any]", unless: int) -> Any:
    """Return what comes of it; None if that is the error *unless*."""
    try:
        return future.result()
    except KafkaException as failure:
        if error_of(failure).code() != unless:
            raise
    return None


def _wish(kafka: KafkaSettings) -> Wanted:
    """Return how the topic is to be: as that of the discovered URLs, but compacted."""
    name = kafka.prefix + topics.URLS_DISCOVERED.name
    like = next(wish for wish in wanted(kafka) if wish.name == name)
    config = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "min.insync.replicas": like.config["min.insync.replicas"],
    }
    return replace(like, name=f"{kafka.prefix}dedup-seen-changelog", config=config)


class Changelog:
    """Reads partitions of the table's changelog into it."""

    def __init__(self, kafka: KafkaSettings, table: SeenTable) -> None:
        self._kafka, self._table = kafka, table
        self._topic = table.changelog_topic_name
        self._trouble = Trouble(kafka.servers)
        self._ends: dict[int, int] = {}
        self._left: dict[int, int] = {}

    @property
    def left(self) -> int:
        """How many records there are still to be read."""
        return sum(list(self._left.values()))

    def read(self, partitions: Collection[int], halt: threading.Event, follow: bool) -> None:
        """Read up to the end, or *follow* what comes, until *halt*."""
        reading: Any = Consumer(
            {
                **client(self._kafka, self._trouble),
                **consumer(self._kafka, "tail"),
                "enable.partition.eof": True,
            }
        )
        try:
            reading.assign(self._places(reading, partitions))
            while not halt.is_set() and (self._left or follow):
                self._table.restore(self._changes(reading.consume(BATCH, WAIT)))
        except KafkaException as failure:
            raise self._trouble.told(error_of(failure)) from failure
        finally:
            self._left = {}
            reading.close()

    def _places(self, reading: Any, partitions: Collection[int]) -> list[TopicPartition]:
        places = [TopicPartition(self._topic, number) for number in partitions]
        known = {number: self._table.known(number) for number in partitions}
        for place in places:
            _, end = reading.get_watermark_offsets(place, timeout=self._kafka.timeout)
            self._ends[place.partition] = end
            place.offset = known[place.partition] + 1
        if beyond := [number for number in sorted(known) if known[number] >= self._ends[number]]:
            raise self._misfit({number: known[number] for number in beyond})
        self._left = {number: self._ends[number] - 1 - known[number] for number in known}
        return places

    def _misfit(self, beyond: dict[int, int]) -> GossamerError:
        named = "; ".join(
            f"{self._table.folder(number)} (partition {number}) holds changes up to {known}, "
            f"while {self._topic} ends at {self._ends[number] - 1}"
            for number, known in beyond.items()
        )
        return GossamerError(
            f"the data folder does not fit its changelog: {named}. The changelog was made anew, "
            "or its brokers lost what they had. Remove what is named here and start again: "
            "the table is then rebuilt from the changelog"
        )

    def _changes(self, messages: "list[Message[bytes, bytes]]") -> Iterator[Change]:
        for message in messages:
            number, error = message.partition() or 0, message.error()
            if error is None:
                change = _change(message)
                if number in self._left:
                    self._left[number] = max(0, self._ends[number] - 1 - change.offset)
                yield change
            elif error.code() == KafkaError._PARTITION_EOF:
                self._left.pop(number, None)
            else:
                self._trouble.judge(error)


def _change(message: "Message[bytes, bytes]") -> Change:
    number, offset = message.partition(), message.offset()
    assert number is not None
    assert offset is not None, "what was consumed lies somewhere"
    return Change(number, message.key() or b"", message.value() or b"", offset)
