"""The changelog of the URL-seen table on Kafka: created, and read back into the table.

Faust would create it as well, but would not notice that a table on disk belongs to an earlier one.
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

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable
from gossamer.events import topics
from gossamer.log.kafka.client import Trouble, client, consumer, error_of
from gossamer.log.kafka.topics import Wanted, wanted
from gossamer.settings.servers import KafkaSettings
from services.dedup.faust.tables import Change, SeenTable

BATCH = 5000
WAIT = 0.2
"""Most seconds until reading notices that it should stop."""
LOOK = 0.1


def make_changelog(kafka: KafkaSettings, partitions: int) -> str:
    """Create the topic if it is missing; return its id, which changes when it is created anew."""
    topic, trouble = _changelog_topic(kafka), Trouble(kafka.servers)
    admin: Any = AdminClient(client(kafka, trouble))
    new = NewTopic(topic.name, partitions, topic.replication, config=topic.config)
    until = clock.steady() + kafka.timeout
    try:
        _done(admin.create_topics([new])[topic.name], KafkaError.TOPIC_ALREADY_EXISTS)
        while not (found := _described(admin, topic.name)):
            if clock.steady() > until:
                raise Unavailable(f"Kafka does not bring up {topic.name}")
            clock.pause(LOOK)
    except KafkaException as failure:
        raise trouble.translate_error(error_of(failure)) from failure
    if len(found.partitions) != partitions:
        raise GossamerError(
            f"{topic.name} has {len(found.partitions)} partitions, the topics keyed by site have "
            f"{partitions}: neither number can be changed"
        )
    return str(found.topic_id)


def _described(admin: Any, name: str) -> Any:
    described = admin.describe_topics(TopicCollection([name]))[name]
    return _done(described, KafkaError.UNKNOWN_TOPIC_OR_PART)


def _done(future: "Future[Any]", unless: int) -> Any:
    """Return the result of *future*; None if it failed with *unless*."""
    try:
        return future.result()
    except KafkaException as failure:
        if error_of(failure).code() != unless:
            raise
    return None


def _changelog_topic(kafka: KafkaSettings) -> Wanted:
    """Return the topic as it should be: like that of the discovered URLs, but compacted."""
    name = kafka.prefix + topics.URLS_DISCOVERED.name
    like = next(topic for topic in wanted(kafka) if topic.name == name)
    config = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "min.insync.replicas": like.config["min.insync.replicas"],
    }
    return replace(like, name=f"{kafka.prefix}dedup-seen-changelog", fixed=config, kept={})


class Changelog:
    """Reads partitions of the table's changelog into it."""

    def __init__(self, kafka: KafkaSettings, table: SeenTable) -> None:
        self._kafka, self.table = kafka, table
        self._topic = table.changelog_topic_name
        self._trouble = Trouble(kafka.servers)
        self._ends: dict[int, int] = {}
        self._left: dict[int, int] = {}

    @property
    def left(self) -> int:
        """How many records are still to be read."""
        return sum(list(self._left.values()))

    def read(self, partitions: Collection[int], halt: threading.Event, follow: bool) -> None:
        """Read to the end, or with *follow* until *halt* is set.

        Raise GossamerError if the table on disk does not belong to this changelog.
        """
        reading: Any = Consumer(
            {
                **client(self._kafka, self._trouble),
                **consumer(self._kafka, "tail"),
                "enable.partition.eof": True,
            }
        )
        try:
            reading.assign(self._positions(reading, partitions))
            while not halt.is_set() and (self._left or follow):
                self.table.restore(self._changes(reading.consume(BATCH, WAIT)))
        except KafkaException as failure:
            raise self._trouble.translate_error(error_of(failure)) from failure
        finally:
            self._left = {}
            reading.close()

    def _positions(self, reading: Any, partitions: Collection[int]) -> list[TopicPartition]:
        positions = [TopicPartition(self._topic, number) for number in partitions]
        known = {number: self.table.known(number) for number in partitions}
        for position in positions:
            _, end = reading.get_watermark_offsets(position, timeout=self._kafka.timeout)
            self._ends[position.partition] = end
            position.offset = known[position.partition] + 1
        if beyond := [number for number in sorted(known) if known[number] >= self._ends[number]]:
            raise self._misfit({number: known[number] for number in beyond})
        self._left = {number: self._ends[number] - 1 - known[number] for number in known}
        return positions

    def _misfit(self, beyond: dict[int, int]) -> GossamerError:
        named = "; ".join(
            f"{self.table.folder(number)} (partition {number}) holds changes up to {known}, "
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
                self._trouble.raise_if_lasting(error)


def _change(message: "Message[bytes, bytes]") -> Change:
    number, offset = message.partition(), message.offset()
    assert number is not None
    assert offset is not None, "a consumed message has a position"
    return Change(number, message.key() or b"", message.value() or b"", offset)
