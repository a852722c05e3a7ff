"""Deletes from Kafka what every consumer of a topic has moved past, where the topic wants it.

Bodies are by far the most of what is on the log, and Kafka by itself keeps them for days after they
were read. Each member of a group looks after its own partitions, and deletes up to the smallest
offset that the consumers' groups have committed: nothing, until each of them has committed one.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from gossamer import clock
from gossamer.events.topics import TOPICS
from gossamer.log.kafka.client import REFUSED, Trouble, client, consumer, error_of
from gossamer.settings.servers import KafkaSettings

EVERY = 60.0
"""Seconds between two deletions."""
TIMEOUT = 5.0
"""Most seconds that a request may take: the caller has work to do."""

logger = structlog.get_logger()


class Trimmer:
    """Deletes what was read of those of *topics* that want it."""

    def __init__(self, settings: KafkaSettings, topics: Sequence[str]) -> None:
        self._settings, self._trouble = settings, Trouble(settings.servers)
        self._topics = [topic for topic in topics if TOPICS[topic].delete_read]
        self._due = clock.steady() + EVERY
        self._admin: Any = None
        self._asking: dict[str, Any] = {}
        """Group → a consumer that asks about it without being a member. An admin client would end
        the process if the group's broker is away for long (librdkafka, issue 4605)."""
        self._deleted: dict[tuple[str, int], int] = {}

    def trim(self, partitions: Iterable[int]) -> None:
        """Delete what was read of *partitions*, if the time for it has come again.

        What fails is tried again in a minute; if it is forbidden, that is logged and given up.
        """
        if not self._topics or clock.steady() < self._due:
            return
        self._due = clock.steady() + EVERY
        numbers = list(partitions)
        try:
            for topic in self._topics if numbers else ():
                self._delete(topic, numbers)
        except KafkaException as failure:
            self._failed(failure)

    def _delete(self, topic: str, partitions: list[int]) -> None:
        name = self._settings.prefix + topic
        offsets = [self._committed(group, name, partitions) for group in TOPICS[topic].consumers]
        ends = {number: min(of[number] for of in offsets) for number in partitions}
        # No offset is less than any.
        fresh = {n: end for n, end in ends.items() if end > self._deleted.get((topic, n), 0)}
        if not fresh:
            return
        asked = self._client().delete_records(
            [TopicPartition(name, number, end) for number, end in fresh.items()],
            request_timeout=TIMEOUT,
        )
        for at, done in asked.items():
            done.result()
            self._deleted[topic, at.partition] = at.offset

    def _committed(self, group: str, topic: str, partitions: list[int]) -> dict[int, int]:
        if group not in self._asking:
            common = client(self._settings, self._trouble)
            self._asking[group] = Consumer({**common, **consumer(self._settings, group)})
        asked = [TopicPartition(topic, number) for number in partitions]
        found = self._asking[group].committed(asked, TIMEOUT)
        return {one.partition: one.offset for one in found}

    def _client(self) -> Any:
        self._admin = self._admin or AdminClient(client(self._settings, self._trouble))
        return self._admin

    def _failed(self, failure: KafkaException) -> None:
        error = error_of(failure)
        if error.code() in REFUSED:
            topics, self._topics = self._topics, []
            logger.warning(
                "records that were read stay on Kafka until their retention ends: the user may not "
                "delete them",
                topics=topics,
                why=error.str(),
            )
        else:
            logger.info("records that were read are not deleted yet", why=error.str())
