"""The log on Kafka, for a fleet.

Appending is idempotent and returns when all required replicas have the records. The partition is
computed here for every record, so that it is the same for all producers. Topics are created only by
`gossamer topics apply`. `gossamer.log.kafka.reader` contains the reader.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from threading import RLock
from typing import Any
from weakref import WeakSet

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.events.topics import SITE_KEYED, TOPICS
from gossamer.log import At, Ends, Message, Standing
from gossamer.log.kafka.client import (
    EARLIEST,
    LATEST,
    RETRY_PAUSE,
    SHARE,
    Trouble,
    client,
    consumer,
    error_of,
    groups_of,
    missing,
    offsets_at,
    producer,
    retry,
    topics_of,
)
from gossamer.log.kafka.reader import KafkaReader, Member
from gossamer.log.kafka.tail import KafkaTail
from gossamer.settings.servers import KafkaSettings
from gossamer.store import Store
from gossamer.telemetry.timing import timed

OPENING = 10.0
"""Maximum seconds at startup before silent brokers count as unavailable."""
RUNNING = (
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.NON_EMPTY_GROUP,
    KafkaError.REBALANCE_IN_PROGRESS,
)
"""Kafka's errors when the offsets of a group with members are altered."""


class KafkaLog:
    """A log on the brokers of *settings*, with the guarantees of `gossamer.log.Log`.

    Readers are static members of their groups, with the name *instance*. A member that returns
    within `kafka.session` gets its partitions again without a rebalance. Without a name, each
    reader is a new member. A member that does not poll for *poll_limit* seconds loses its
    partitions.
    """

    def __init__(
        self, settings: KafkaSettings, instance: str = "", poll_limit: float = 300.0
    ) -> None:
        self._settings, self._instance, self._poll_limit = settings, instance, poll_limit
        self._trouble = Trouble(settings.servers)
        self._lock = RLock()
        self._failed: list[tuple[KafkaError, str]] = []
        self._ends: dict[tuple[str, int], int] = {}
        self._counters: dict[str, Consumer] = {}
        self._counting = RLock()
        self._opened: WeakSet[KafkaReader | KafkaTail] = WeakSet()
        common = client(settings, self._trouble)
        self._producer = Producer({**common, **producer(settings), "on_delivery": self._delivered})
        self._counts = self._look(min(OPENING, settings.timeout))
        self.partitions = self._agreed("site-keyed topics", SITE_KEYED)

    def _look(self, timeout: float) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        until = clock.steady() + timeout
        while True:
            found = topics_of(self._producer, self._trouble, timeout)
            lacking = [topic for topic in TOPICS if self._name(topic) not in found]
            unready = [topic for topic in TOPICS if not _usable(found.get(self._name(topic)))]
            if lacking or (unready and clock.steady() > until):
                names = ", ".join(map(self._name, lacking or unready))
                raise missing(f"Kafka at {self._settings.servers} has no topic {names}")
            if not unready:
                return {topic: len(found[self._name(topic)].partitions) for topic in TOPICS}
            clock.pause(RETRY_PAUSE)

    def _name(self, topic: str) -> str:
        return self._settings.prefix + topic

    def _agreed(self, what: str, topics: Sequence[str]) -> int:
        counts = {topic: self._counts[topic] for topic in topics}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{self._name(topic)}: {n}" for topic, n in counts.items())
            raise GossamerError(f"{what} need equal numbers of partitions ({listed})")
        return counts[topics[0]]

    def append(self, messages: Iterable[Message]) -> Ends:
        """Return once every message is durable, with the offset of the last message in each
        partition."""
        sending = list(messages)
        # Empty appends take no time and would distort the histogram.
        measured = timed("gossamer_log_append_seconds") if sending else nullcontext()
        with self._lock, measured:
            self._failed.clear()
            self._ends = {}
            for message in sending:
                self._send(message)
            # Each message is delivered or fails within the timeout.
            while self._producer.flush(self._settings.timeout):
                pass
            for error, topic in self._failed:
                raise self._translate_error(error, topic)
            self._trouble.clear()
            return self._ends

    def _send(self, message: Message) -> None:
        while True:
            try:
                self._producer.produce(
                    self._name(message.topic),
                    message.value or None,
                    message.key.encode(),
                    message.partition_among(self._counts[message.topic]),
                    headers=[(name, value.encode()) for name, value in message.headers] or None,
                )
                return
            except BufferError:
                self._producer.poll(RETRY_PAUSE)
            except KafkaException as failure:
                raise self._translate_error(error_of(failure), message.topic) from failure

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._failed.append((error, message.topic()))
        elif (offset := message.offset()) is not None and offset >= 0:
            # The broker may omit the offset of a retried message.
            topic = message.topic().removeprefix(self._settings.prefix)
            self._ends[topic, message.partition()] = offset

    def _translate_error(self, error: KafkaError, topic: str) -> GossamerError:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return GossamerError(f"a record is too large for {topic}: {error.str()}")
        return self._trouble.translate_error(error)

    def reader(self, group: str, topics: Sequence[str], store: Store) -> KafkaReader:
        """Join *group*. *store* holds the writes that `advance` flushes."""
        member = Member(group, self._instance, self._poll_limit)
        counts = {topic: self._counts[topic] for topic in topics}
        reader = KafkaReader(self, self._settings, member, counts, store)
        self._opened.add(reader)
        return reader

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> KafkaTail:
        """Read *topics*. See `gossamer.log.Log`."""
        begin = {
            (topic, number): OFFSET_BEGINNING if starts is None else starts[number]
            for topic in topics
            for number in (range(self._counts[topic]) if starts is None else starts)
        }
        tail = KafkaTail(self._settings, begin)
        self._opened.add(tail)
        return tail

    def lag(self, group: str, topic: str) -> int:
        """Return the number of records that *group* has not moved past."""
        return sum(self.lag_by_partition(group, topic).values())

    def lag_by_partition(self, group: str, topic: str) -> dict[int, int]:
        """Return the lag of *group* in each partition."""
        (found,) = self._lags([self._settings.prefix + group], topic).values()
        return found

    def standing(self, group: str, topics: Sequence[str]) -> dict[At, Standing]:
        """Return the position of *group* in each partition of *topics* in which it has committed an
        offset."""
        names = {self._name(topic): topic for topic in topics}
        partitions = [
            TopicPartition(name, number)
            for name, topic in names.items()
            for number in range(self._counts[topic])
        ]
        timeout = self._settings.timeout / SHARE

        def ask() -> dict[At, Standing]:
            counter: Any = self._counter(self._settings.prefix + group)
            committed = counter.committed(partitions, timeout)
            moved = [one for one in committed if one.offset >= 0]
            starts = offsets_at(counter, EARLIEST, moved, timeout) if moved else []
            ends = offsets_at(counter, LATEST, moved, timeout) if moved else []
            return {
                (names[one.topic], one.partition): Standing(one.offset, start.offset, end.offset)
                for one, start, end in zip(moved, starts, ends, strict=True)
            }

        with self._counting:
            return retry(ask, self._trouble, self._settings.timeout)

    def move(self, group: str, offsets: Mapping[At, int]) -> None:
        """Set the committed offsets of *group*. Raise GossamerError if a member of it is
        running."""
        name = self._settings.prefix + group
        places = [
            TopicPartition(self._name(topic), number, offset)
            for (topic, number), offset in offsets.items()
        ]

        def ask() -> None:
            admin: Any = AdminClient(client(self._settings, self._trouble))
            asked = admin.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(name, places)],
                request_timeout=self._settings.timeout,
            )
            for moved in asked.values():
                for place in moved.result().topic_partitions:
                    if place.error:
                        raise KafkaException(place.error)

        try:
            retry(ask, self._trouble, self._settings.timeout)
        except GossamerError as error:
            failure = error.__cause__
            if isinstance(failure, KafkaException) and error_of(failure).code() in RUNNING:
                raise GossamerError(
                    f"the offsets of group {name} cannot be altered while it has members: stop "
                    "the service; a killed process counts as a member for "
                    f"{self._settings.session:g} s"
                ) from error
            raise

    def lag_by_group(self, topic: str) -> dict[str, dict[int, int]]:
        """Return the lag by partition of each group that must consume the records of *topic*."""
        return self._lags(groups_of(self._settings, topic), topic)

    def _lags(self, groups: Sequence[str], topic: str) -> dict[str, dict[int, int]]:
        partitions = [
            TopicPartition(self._name(topic), number) for number in range(self._counts[topic])
        ]
        timeout = self._settings.timeout / SHARE

        def count() -> dict[str, dict[int, int]]:
            counters: list[Any] = [self._counter(group) for group in groups]
            try:
                moved = [counter.committed(partitions, timeout) for counter in counters]
                begun = all(one.offset >= 0 for group in moved for one in group)
                # Groups with committed offsets have moved past all deleted records.
                starts = (
                    partitions if begun else offsets_at(counters[0], EARLIEST, partitions, timeout)
                )
                ends = offsets_at(counters[0], LATEST, partitions, timeout)
            except KafkaException:
                # Without new metadata, they use the old leaders for a quarter of an hour.
                for counter in counters:
                    counter.list_topics(timeout=timeout)
                raise
            return {
                group: {
                    end.partition: end.offset - max(past.offset, start.offset)
                    for past, start, end in zip(offsets, starts, ends, strict=True)
                }
                for group, offsets in zip(groups, moved, strict=True)
            }

        # The thread that reports health also counts.
        with self._counting:
            return retry(count, self._trouble, self._settings.timeout)

    def _counter(self, group: str) -> Consumer:
        """Return a consumer that queries offsets of *group*, a full name, without joining it."""
        with self._counting:
            if group not in self._counters:
                common = client(self._settings, self._trouble)
                self._counters[group] = Consumer({**common, **consumer(group)})
            return self._counters[group]

    def close(self) -> None:
        """Close all readers, which leave their groups, and all tails."""
        for opened in list(self._opened):
            opened.close()
        # Not closed here, because another thread may be using one.
        self._counters.clear()


def _usable(found: Any) -> bool:
    return found is not None and found.error is None and bool(found.partitions)
