"""Reads Kafka without a group: some partitions, from the oldest retained record or an offset."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from gossamer import clock
from gossamer.log import MAX_POLL_RECORDS, Record
from gossamer.log.kafka.client import (
    ConnectionErrors,
    client_config,
    consumer_config,
    fetch_topics,
    record_of,
)
from gossamer.settings.servers import KafkaSettings

BATCH_BYTES = 8 << 20
MAX_WAIT = 0.1
"""Maximum seconds of one wait for records that are known to exist. The total wait is checked in
between, because brokers may fail to send them."""


class KafkaTail:
    """Reads from *begin*, which maps topic and partition to an offset. See `gossamer.log.Tail`.

    A poll returns nothing only after all records that existed when the tail was created have been
    read. From then on records arrive in the background, and a poll does not query the brokers.
    """

    def __init__(self, settings: KafkaSettings, begin: Mapping[tuple[str, int], int]) -> None:
        self._timeout, self._closed = settings.timeout, False
        self._names = {settings.prefix + topic: topic for topic, _ in begin}
        self._trouble = ConnectionErrors(settings.servers)
        self._consumer: Any = Consumer(
            {
                **client_config(settings, self._trouble),
                **consumer_config(settings.prefix + "tail"),
                "enable.partition.eof": True,
            }
        )
        # Fetching metadata now finds the leaders at once instead of after half a second.
        fetch_topics(self._consumer, self._trouble, self._timeout)
        self._behind = {(settings.prefix + topic, number) for topic, number in begin}
        self._consumer.assign(
            [
                TopicPartition(settings.prefix + topic, number, offset)
                for (topic, number), offset in sorted(begin.items())
            ]
        )

    def poll(self, timeout: float) -> list[Record]:
        """Return the next records of all partitions."""
        found: list[Record] = []
        size, began = 0, clock.steady()
        while len(found) < MAX_POLL_RECORDS and size < BATCH_BYTES:
            wait = 0.0 if found else self._wait(began, timeout)
            message = self._consumer.poll(wait)
            if message is None:
                if wait == 0.0:
                    break
            elif one := self._read(message):
                found.append(one)
                size += len(one.value)
        return found

    def _wait(self, began: float, timeout: float) -> float:
        waited = clock.steady() - began
        if self._behind and waited > self._timeout:
            raise self._trouble.translate_error(KafkaError(KafkaError._TIMED_OUT))
        return MAX_WAIT if self._behind else max(0.0, timeout - waited)

    def _read(self, message: Any) -> Record | None:
        at, error = (message.topic(), message.partition()), message.error()
        if error is None:
            self._behind.add(at)
            return record_of(message, self._names[at[0]])
        if error.code() == KafkaError._PARTITION_EOF:
            self._behind.discard(at)
        else:
            self._trouble.raise_if_lasting(error)
        return None

    def close(self) -> None:
        """Stop reading."""
        if not self._closed:
            self._closed = True
            self._consumer.close()
