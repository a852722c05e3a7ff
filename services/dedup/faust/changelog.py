"""The changelog of the URL-seen table on Kafka: creates, reads and completes it.

Faust could create it, but would not notice that a table on disk belongs to an earlier topic. If the
topic was recreated, or the brokers lost its end, the tables on disk have the only copies of the
missing URLs. They are published before anything is read. Several instances may publish copies of a
table. That is harmless, since all copies of a key have the same first finder. An owner that
continued without these copies may have written a later finder of a URL. No URL is lost, whichever
finder remains: the URL was admitted for that finder, or the finder's record is redelivered.
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
from gossamer.log.kafka.client import (
    ConnectionErrors,
    client_config,
    consumer_config,
    error_of,
    producer_config,
)
from gossamer.log.kafka.topics import TopicSpec, topic_specs
from gossamer.services.dedup.faust.tables import Change, FaustSeenTable
from gossamer.settings.servers import KafkaSettings

RECORDS_PER_POLL = 5000
POLL_TIMEOUT = 0.2
"""Seconds of one poll, after which a stop is noticed."""
DESCRIBE_INTERVAL = 0.1
"""Seconds between two checks whether a new topic exists."""

logger = structlog.get_logger()


def make_changelog(kafka: KafkaSettings, partitions: int) -> str:
    """Create the topic if it is missing; return its id, which changes when it is recreated."""
    topic, trouble = _changelog_topic(kafka), ConnectionErrors(kafka.servers)
    admin: Any = AdminClient(client_config(kafka, trouble))
    new = NewTopic(topic.name, partitions, topic.replication, config=topic.config)
    until = clock.steady() + kafka.timeout
    try:
        _result_unless(admin.create_topics([new])[topic.name], KafkaError.TOPIC_ALREADY_EXISTS)
        while not (found := _describe(admin, topic.name)):
            if clock.steady() > until:
                raise Unavailable(f"Kafka has not created the topic {topic.name} in time")
            clock.pause(DESCRIBE_INTERVAL)
    except KafkaException as failure:
        raise trouble.translate_error(error_of(failure)) from failure
    if len(found.partitions) != partitions:
        raise GossamerError(
            f"{topic.name} has {len(found.partitions)} partitions, but the topics keyed by site "
            f"have {partitions}: the numbers must be equal, and cannot be changed"
        )
    return str(found.topic_id)


def _describe(admin: Any, name: str) -> Any:
    description = admin.describe_topics(TopicCollection([name]))[name]
    return _result_unless(description, KafkaError.UNKNOWN_TOPIC_OR_PART)


def _result_unless(future: "Future[Any]", ignored: int) -> Any:
    """Return the result of *future*; None if it failed with the error code *ignored*."""
    try:
        return future.result()
    except KafkaException as failure:
        if error_of(failure).code() != ignored:
            raise
    return None


def _changelog_topic(kafka: KafkaSettings) -> TopicSpec:
    """Return the topic's definition: like `urls.discovered`, but compacted."""
    name = kafka.prefix + topics.URLS_DISCOVERED.name
    like = next(topic for topic in topic_specs(kafka) if topic.name == name)
    config = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "min.insync.replicas": like.config["min.insync.replicas"],
    }
    return replace(like, name=f"{kafka.prefix}dedup-seen-changelog", fixed=config, kept={})


class Changelog:
    """Reads the changelog into the table, and publishes URLs that the changelog lacks."""

    def __init__(self, kafka: KafkaSettings, table: FaustSeenTable) -> None:
        self._kafka, self.table = kafka, table
        self._topic = table.changelog_topic_name
        self._trouble = ConnectionErrors(kafka.servers)
        self._ends: dict[int, int] = {}
        """Partition → the end offset of its changelog."""
        self._remaining: dict[int, int] = {}
        """Partition → the number of records that are still to be read."""
        self._published: dict[int, int] = {}
        """Partition that is being published → the number of URLs sent."""

    @property
    def waiting_reason(self) -> str:
        """Why the instance is not ready; "" if nothing is published or read."""
        for number, sent in list(self._published.items()):
            progress = f"partition {number}, {sent} URLs so far"
            return f"the URL-seen table is published into its changelog: {progress}"
        if remaining := sum(list(self._remaining.values())):
            return f"the URL-seen table is read from its changelog: {remaining} records to go"
        return ""

    def read(self, partitions: Collection[int], halt: threading.Event, follow: bool) -> None:
        """Publish what the changelog lacks, then read it to its end.

        With *follow*, continue to read until *halt* is set.
        """
        with self._consumer() as reader:
            for number in partitions:
                self._complete(reader, number, halt)
            if halt.is_set():
                return
            reader.assign([self._position(reader, number) for number in partitions])
            while not halt.is_set() and (self._remaining or follow):
                self.table.restore(
                    self._decode_changes(reader.consume(RECORDS_PER_POLL, POLL_TIMEOUT))
                )

    def complete(self, halt: threading.Event) -> None:
        """Publish what the changelog lacks of all tables in the folder, until *halt* is set.

        Tables of partitions that other instances own are included: they may be the only copies.
        """
        with self._consumer() as reader:
            for number in self.table.stored_partitions():
                self._complete(reader, number, halt)
                self.table.close_partition(number)

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        reader: Any = Consumer(
            {
                **client_config(self._kafka, self._trouble),
                **consumer_config(self._kafka.prefix + "tail"),
                "enable.partition.eof": True,
            }
        )
        try:
            yield reader
        except KafkaException as failure:
            raise self._trouble.translate_error(error_of(failure)) from failure
        finally:
            self._remaining, self._published = {}, {}
            reader.close()

    def _complete(self, reader: Any, number: int, halt: threading.Event) -> None:
        """Publish the table of partition *number* unless the changelog has all of its URLs."""
        offset, end = self.table.changelog_offset(number), self._read_end(reader, number)
        if offset >= end:
            logger.warning(
                "the changelog has lost its end: publishing the table on disk into it",
                partition=number,
                end=end,
                table=str(self.table.folder(number)),
                known=offset,
            )
            # The offset is deleted before publishing, which moves the end of the changelog beyond
            # it: after a crash the table would seem complete.
            self.table.forget_offset(number)
        elif offset >= 0:
            return
        self._publish(number, halt)

    def _publish(self, number: int, halt: threading.Event) -> None:
        """Publish all rows of the table of partition *number*.

        The table has no offset until the changelog is read. So after a crash it is published again.
        """
        changes = self.table.read_all(number)
        if (first := next(changes, None)) is None:
            return
        failed: list[KafkaError] = []
        sender = Producer(
            {
                **client_config(self._kafka, self._trouble),
                **producer_config(self._kafka),
                "on_delivery": lambda error, _: failed.append(error) if error else None,
            }
        )
        for change in chain([first], changes):
            if halt.is_set() or failed:
                break
            self._produce(sender, change)
            self._published[number] = self._published.get(number, 0) + 1
        while sender.flush(POLL_TIMEOUT) and not halt.is_set():
            pass
        for error in failed:
            raise self._trouble.translate_error(error)
        urls = self._published.pop(number, 0)
        if not halt.is_set():
            logger.info("published the table into its changelog", partition=number, urls=urls)

    def _produce(self, sender: Producer, change: Change) -> None:
        while True:
            try:
                sender.produce(self._topic, change.value, change.key, change.partition)
                return
            except BufferError:
                sender.poll(POLL_TIMEOUT)

    def _read_end(self, reader: Any, number: int) -> int:
        partition = TopicPartition(self._topic, number)
        _, end = reader.get_watermark_offsets(partition, timeout=self._kafka.timeout)
        self._ends[number] = end
        return int(end)

    def _position(self, reader: Any, number: int) -> TopicPartition:
        offset = self.table.changelog_offset(number)
        self._remaining[number] = self._read_end(reader, number) - 1 - offset
        return TopicPartition(self._topic, number, offset + 1)

    def _decode_changes(self, messages: "list[Message[bytes, bytes]]") -> Iterator[Change]:
        for message in messages:
            number, error = message.partition() or 0, message.error()
            if error is None:
                change = _decode_change(message)
                if number in self._remaining:
                    self._remaining[number] = max(0, self._ends[number] - 1 - change.offset)
                yield change
            elif error.code() == KafkaError._PARTITION_EOF:
                self._remaining.pop(number, None)
            else:
                self._trouble.raise_if_lasting(error)


def _decode_change(message: "Message[bytes, bytes]") -> Change:
    number, offset = message.partition(), message.offset()
    assert number is not None
    assert offset is not None, "a consumed message has a position"
    return Change(number, message.key() or b"", message.value() or None, offset)
