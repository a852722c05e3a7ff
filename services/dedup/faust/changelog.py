"""The changelog of the URL-seen table on Kafka: created, read back into the table, and completed.

Faust would create it as well, but would not notice that a table on disk belongs to an earlier one.
Where the topic was recreated, or its brokers lost the end of it, the tables on disk are the only
copies of what it lacks: they are published before anything is read. Several instances may publish
copies of a table. That is harmless, since all copies of a key name the same first finder. An owner
that went on without them has perhaps written a later one: whichever value stays names a finder
whose URL was admitted, or whose record comes again.
"""

import threading
from collections.abc import Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

import structlog
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable
from gossamer.events import topics
from gossamer.log.kafka.client import Trouble, client, consumer, error_of, producer
from gossamer.log.kafka.topics import Wanted, wanted
from gossamer.settings.servers import KafkaSettings
from services.dedup.faust.tables import Change, SeenTable

BATCH = 5000
WAIT = 0.2
"""Most seconds until reading notices that it should stop."""
LOOK = 0.1

logger = structlog.get_logger()


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
    """Reads partitions of the table's changelog into it, and publishes what the changelog lacks."""

    def __init__(self, kafka: KafkaSettings, table: SeenTable) -> None:
        self._kafka, self.table = kafka, table
        self._topic = table.changelog_topic_name
        self._trouble = Trouble(kafka.servers)
        self._ends: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self._publishing: dict[int, int] = {}

    @property
    def why_waiting(self) -> str:
        """Why the instance is not ready: what is published or read; "" if it is."""
        for number, sent in list(self._publishing.items()):
            done = f"partition {number}, {sent} URLs so far"
            return f"the URL-seen table is published into its changelog: {done}"
        if left := sum(list(self._left.values())):
            return f"the URL-seen table is read from its changelog: {left} records to go"
        return ""

    def read(self, partitions: Collection[int], halt: threading.Event, follow: bool) -> None:
        """Read to the end, or with *follow* until *halt* is set; first publish what it lacks."""
        with self._consumer() as reading:
            for number in partitions:
                self._complete(reading, number, halt)
            if halt.is_set():
                return
            reading.assign([self._position(reading, number) for number in partitions])
            while not halt.is_set() and (self._left or follow):
                self.table.restore(self._changes(reading.consume(BATCH, WAIT)))

    def complete(self, halt: threading.Event) -> None:
        """Publish what the changelog lacks of all tables in the folder, until *halt* is set.

        Also tables of partitions that other instances own now: they may be the only copies.
        """
        with self._consumer() as reading:
            for number in self.table.on_disk():
                self._complete(reading, number, halt)
                self.table.close_partition(number)

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        reading: Any = Consumer(
            {
                **client(self._kafka, self._trouble),
                **consumer(self._kafka.prefix + "tail"),
                "enable.partition.eof": True,
            }
        )
        try:
            yield reading
        except KafkaException as failure:
            raise self._trouble.translate_error(error_of(failure)) from failure
        finally:
            self._left, self._publishing = {}, {}
            reading.close()

    def _complete(self, reading: Any, number: int, halt: threading.Event) -> None:
        """Publish the table of partition *number* unless the changelog has what it holds."""
        known, end = self.table.known(number), self._end(reading, number)
        if known >= end:
            logger.warning(
                "the changelog has lost its end",
                partition=number,
                end=end,
                table=str(self.table.folder(number)),
                known=known,
            )
            # Noted first: once we have published a part, the end lies beyond what was known.
            self.table.forget_offset(number)
        elif known >= 0:
            return
        self._publish(number, halt)

    def _publish(self, number: int, halt: threading.Event) -> None:
        """Publish all that the table of partition *number* holds.

        It has no offset, and gets one when the changelog is read: if we are killed meanwhile, it is
        published again.
        """
        changes = self.table.stored(number)
        if (first := next(changes, None)) is None:
            return
        failed: list[KafkaError] = []
        sending = Producer(
            {
                **client(self._kafka, self._trouble),
                **producer(self._kafka),
                "on_delivery": lambda error, _: failed.append(error) if error else None,
            }
        )
        for change in chain([first], changes):
            if halt.is_set() or failed:
                break
            self._produce(sending, change)
            self._publishing[number] = self._publishing.get(number, 0) + 1
        while sending.flush(WAIT) and not halt.is_set():
            pass
        for error in failed:
            raise self._trouble.translate_error(error)
        urls = self._publishing.pop(number, 0)
        if not halt.is_set():
            logger.info("the table was published into its changelog", partition=number, urls=urls)

    def _produce(self, sending: Producer, change: Change) -> None:
        while True:
            try:
                sending.produce(self._topic, change.value, change.key, change.partition)
                return
            except BufferError:
                sending.poll(WAIT)

    def _end(self, reading: Any, number: int) -> int:
        place = TopicPartition(self._topic, number)
        _, end = reading.get_watermark_offsets(place, timeout=self._kafka.timeout)
        self._ends[number] = end
        return int(end)

    def _position(self, reading: Any, number: int) -> TopicPartition:
        known = self.table.known(number)
        self._left[number] = self._end(reading, number) - 1 - known
        return TopicPartition(self._topic, number, known + 1)

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
    return Change(number, message.key() or b"", message.value() or None, offset)
