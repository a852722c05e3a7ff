"""A named cursor on the topic of the pages: the offsets of a consumer group."""

from collections.abc import Iterator
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from gossamer import clock
from gossamer.log import Record
from gossamer.log.kafka.client import (
    ConnectionErrors,
    GroupConsumer,
    client_config,
    consumer_config,
    error_of,
    record_of,
)
from gossamer.settings.servers import KafkaSettings

POLL, COMMIT_INTERVAL = 0.25, 5.0
"""Seconds of one wait for a record, and between two commits."""
SESSION_MS = 45_000


class Cursor:
    """Reads a topic from the position of a cursor on, and moves it behind each read record."""

    def __init__(self, settings: KafkaSettings, name: str, topic: str) -> None:
        self._topic, self._errors = topic, ConnectionErrors(settings.servers)
        self._assigned: set[int] | None = None
        self._ended: set[int] = set()
        self._committed_at = clock.steady()
        self._consumer: Any = GroupConsumer(
            {
                **client_config(settings, self._errors),
                **consumer_config(settings.prefix + name),
                "session.timeout.ms": SESSION_MS,
                "enable.partition.eof": True,
            }
        )
        self._consumer.subscribe([settings.prefix + topic], self._on_assign, self._on_revoke)

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the records behind the cursor, to the end of the topic or, with *follow*, for ever.

        The cursor moves behind a record when the next one is requested.
        """
        while follow or self._assigned is None or not self._assigned <= self._ended:
            message = self._consumer.poll(POLL)
            self._errors.check()
            if message is None:
                continue
            if (error := message.error()) is None:
                yield record_of(message, self._topic)
                self._consumer.store_offsets(message)
                self._commit_at_times()
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ended.add(message.partition())
            else:
                self._errors.raise_if_lasting(error)

    def _commit_at_times(self) -> None:
        if clock.steady() - self._committed_at >= COMMIT_INTERVAL:
            self._committed_at = clock.steady()
            self._consumer.commit(asynchronous=True)

    def _on_assign(self, _: Any, partitions: Any) -> None:
        self._assigned = (self._assigned or set()) | {one.partition for one in partitions}

    def _on_revoke(self, _: Any, partitions: Any) -> None:
        self._commit()
        gone = {one.partition for one in partitions}
        self._assigned, self._ended = (self._assigned or set()) - gone, self._ended - gone

    def _commit(self) -> None:
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException as failure:
            if error_of(failure).code() != KafkaError._NO_OFFSET:
                raise self._errors.translate_error(error_of(failure)) from failure

    def close(self) -> None:
        """Commit the position, and leave the group."""
        try:
            self._commit()
        finally:
            self._consumer.close()
