"""The log on Kafka, for a fleet, and its tails, which read it without a group.

Appending is idempotent and returns when all required replicas have the records. The partition is
computed here for every record, so that it is the same for all producers. Topics are created by
`gossamer topics apply`, and those of a single crawl when the crawl is defined.
`gossamer.log.kafka.reader` contains the reader of a group.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from threading import RLock
from typing import TYPE_CHECKING, Any
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
from gossamer.events.topics import SITE_KEYED, TOPICS, topic_named
from gossamer.log import MAX_POLL_RECORDS, At, Ends, GroupOffsets, LagByGroup, Message, Record
from gossamer.log.kafka.client import (
    RETRY_PAUSE,
    ConnectionErrors,
    OffsetQueries,
    client_config,
    consumer_config,
    error_of,
    fetch_topics,
    groups_of,
    is_usable,
    missing_topics_error,
    producer_config,
    record_of,
    retry,
)
from gossamer.log.kafka.reader import KafkaReader, Member
from gossamer.log.kafka.topics import Topics
from gossamer.settings.servers import KafkaSettings
from gossamer.store import Store
from gossamer.telemetry.timing import observe_duration

if TYPE_CHECKING:
    from gossamer.volumes import Volume

STARTUP_TIMEOUT = 10.0
"""Maximum seconds at startup before silent brokers count as unavailable."""
ACTIVE_GROUP_ERRORS = (
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.NON_EMPTY_GROUP,
    KafkaError.REBALANCE_IN_PROGRESS,
)
"""Kafka's errors when the offsets of a group with members are altered."""
BATCH_BYTES = 8 << 20
MAX_WAIT = 0.1
"""Maximum seconds of one wait for records that are known to exist. The total wait is checked in
between, because brokers may fail to send them."""


def split_by_order(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the messages that are sent first, and those that are sent once they are durable: a
    kill may lose any of the messages that are sent together."""
    topics = {one.topic for one in messages}
    last = {topic for topic in topics if topic_named(topic).appended_last}
    return (
        [one for one in messages if one.topic not in last],
        [one for one in messages if one.topic in last],
    )


class KafkaLog:
    """A log on the brokers of *settings*, with the guarantees of `gossamer.log.Log`.

    Readers are static members of their groups, with the name *instance*, which begins with the
    service. A member that returns within `kafka.session` gets its partitions again without a
    rebalance. Without a name, each reader is a new member. A member that does not poll for
    *poll_limit* seconds loses its partitions.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        instance: str = "",
        poll_limit: float = 300.0,
        blobs: "Volume | None" = None,
    ) -> None:
        self.blobs = blobs
        self._settings, self._instance, self._poll_limit = settings, instance, poll_limit
        self._errors = ConnectionErrors(settings.servers)
        self._lock = RLock()
        self._failures: list[tuple[KafkaError, str]] = []
        self._ends: dict[At, int] = {}
        self._offset_queries: dict[str, OffsetQueries] = {}
        self._query_lock = RLock()
        self._opened: WeakSet[KafkaReader | KafkaTail] = WeakSet()
        self._service = instance.partition("-")[0]
        common = client_config(settings, self._errors, self._service)
        self._producer = Producer(
            {**common, **producer_config(settings), "on_delivery": self._note_delivery}
        )
        self._counts = self._count_partitions(min(STARTUP_TIMEOUT, settings.timeout))
        self.partitions = self._common_count("site-keyed topics", SITE_KEYED)

    def _count_partitions(self, timeout: float) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        until = clock.steady() + timeout
        while True:
            found = fetch_topics(self._producer, self._errors, timeout)
            missing = [topic for topic in TOPICS if self._name(topic) not in found]
            unready = [topic for topic in TOPICS if not is_usable(found.get(self._name(topic)))]
            if missing or (unready and clock.steady() > until):
                names = ", ".join(map(self._name, missing or unready))
                raise missing_topics_error(
                    f"Kafka at {self._settings.servers} has no topic {names}"
                )
            if not unready:
                return {topic: len(found[self._name(topic)].partitions) for topic in TOPICS}
            clock.pause(RETRY_PAUSE)

    def _count_of(self, topic: str) -> int:
        """Return the number of partitions of *topic*, which a running fleet may have got later."""
        if topic not in self._counts:
            name = self._name(topic)
            found = fetch_topics(self._producer, self._errors, self._settings.timeout)
            if not is_usable(found.get(name)):
                raise missing_topics_error(f"Kafka at {self._settings.servers} has no topic {name}")
            self._counts[topic] = len(found[name].partitions)
        return self._counts[topic]

    def create_topic(self, topic: str) -> None:
        """Create *topic*, one of a single crawl, if it does not exist."""
        for _ in Topics(self._settings, [topic]).create():
            pass

    def _name(self, topic: str) -> str:
        return self._settings.prefix + topic

    def _common_count(self, what: str, topics: Sequence[str]) -> int:
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
        measured = observe_duration("gossamer_log_append_seconds") if sending else nullcontext()
        with self._lock, measured:
            self._failures.clear()
            self._ends = {}
            for batch in split_by_order(sending):
                self._deliver(batch)
            self._errors.clear()
            return self._ends

    def _deliver(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._send(message)
        # Each message is delivered or fails within the timeout.
        while self._producer.flush(self._settings.timeout):
            pass
        for error, topic in self._failures:
            raise self._translate_error(error, topic)

    def _send(self, message: Message) -> None:
        while True:
            try:
                self._producer.produce(
                    self._name(message.topic),
                    message.value or None,
                    message.key.encode(),
                    message.partition_among(self._count_of(message.topic)),
                    headers=[(name, value.encode()) for name, value in message.headers] or None,
                )
                return
            except BufferError:
                self._producer.poll(RETRY_PAUSE)
            except KafkaException as failure:
                raise self._translate_error(error_of(failure), message.topic) from failure

    def _note_delivery(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._failures.append((error, message.topic()))
        elif (offset := message.offset()) is not None and offset >= 0:
            # The broker may omit the offset of a retried message.
            topic = message.topic().removeprefix(self._settings.prefix)
            self._ends[topic, message.partition()] = offset

    def _translate_error(self, error: KafkaError, topic: str) -> GossamerError:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return GossamerError(f"a record is too large for {topic}: {error.str()}")
        return self._errors.translate_error(error)

    def reader(self, group: str, topics: Sequence[str], store: Store) -> KafkaReader:
        """Join *group*. *store* holds the writes that `advance` flushes."""
        member = Member(group, self._instance, self._poll_limit)
        counts = {topic: self._counts[topic] for topic in topics}
        reader = KafkaReader(self, self._settings, member, counts, store)
        self._opened.add(reader)
        return reader

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> "KafkaTail":
        """Read *topics*. See `gossamer.log.Log`."""
        begin = {
            (topic, number): OFFSET_BEGINNING if starts is None else starts[number]
            for topic in topics
            for number in (range(self._count_of(topic)) if starts is None else starts)
        }
        tail = KafkaTail(self._settings, begin)
        self._opened.add(tail)
        return tail

    def lag(self, group: str, topic: str) -> int:
        """Return the number of records that *group* has not moved past."""
        return sum(self.lag_by_partition(group, topic).values())

    def lag_by_partition(self, group: str, topic: str) -> dict[int, int]:
        """Return the lag of *group* in each partition."""
        name = self._settings.prefix + group
        return self._lags({topic: [name]})[topic][name]

    def lags(self, group: str, topics: Sequence[str]) -> dict[str, int]:
        """Return the lag of *group* on each of *topics*."""
        name = self._settings.prefix + group
        found = self._lags({topic: [name] for topic in topics})
        return {topic: sum(by_group[name].values()) for topic, by_group in found.items()}

    def offsets(self, topic: str) -> dict[int, range]:
        """Return partition → the offsets from the oldest retained record of *topic* to its end."""
        partitions = self._partitions_of([topic])
        with self._query_lock:
            queries = self._queries(self._settings.prefix + "tail")
            starts, ends = queries.starts(partitions), queries.ends(partitions)
        return {at[1]: range(starts[at], ends[at]) for at in partitions}

    def group_offsets(self, group: str, topics: Sequence[str]) -> dict[At, GroupOffsets]:
        """Return the offsets of *group* in each partition of *topics* in which it has committed an
        offset."""
        with self._query_lock:
            queries = self._queries(self._settings.prefix + group)
            committed = queries.committed(self._partitions_of(topics))
            starts, ends = queries.starts(committed), queries.ends(committed)
        return {
            (at[0].removeprefix(self._settings.prefix), at[1]): GroupOffsets(
                offset, starts[at], ends[at]
            )
            for at, offset in committed.items()
        }

    def _partitions_of(self, topics: Iterable[str]) -> list[At]:
        """Return the partitions of *topics*, with the full names of the topics."""
        return [
            (self._name(topic), number)
            for topic in topics
            for number in range(self._count_of(topic))
        ]

    def move(self, group: str, offsets: Mapping[At, int]) -> None:
        """Set the committed offsets of *group*. Raise GossamerError if a member of it is
        running."""
        name = self._settings.prefix + group
        partitions = [
            TopicPartition(self._name(topic), number, offset)
            for (topic, number), offset in offsets.items()
        ]

        def ask() -> None:
            admin: Any = AdminClient(client_config(self._settings, self._errors))
            asked = admin.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(name, partitions)],
                request_timeout=self._settings.timeout,
            )
            for moved in asked.values():
                for place in moved.result().topic_partitions:
                    if place.error:
                        raise KafkaException(place.error)

        try:
            retry(ask, self._errors, self._settings.timeout)
        except GossamerError as error:
            failure = error.__cause__
            if (
                isinstance(failure, KafkaException)
                and error_of(failure).code() in ACTIVE_GROUP_ERRORS
            ):
                raise GossamerError(
                    f"the offsets of group {name} cannot be altered while it has members: stop "
                    "the service; a killed process counts as a member for "
                    f"{self._settings.session:g} s"
                ) from error
            raise

    def lag_by_group(self, topics: Sequence[str]) -> LagByGroup:
        """Return the lag of each group that must consume the records of one of *topics*."""
        return self._lags({topic: groups_of(self._settings, topic) for topic in topics})

    def _lags(self, groups: Mapping[str, Sequence[str]]) -> dict[str, dict[str, dict[int, int]]]:
        """Return topic → group → partition → lag of *groups* by topic, with one query of each group
        and one of the ends."""
        partitions = {topic: self._partitions_of([topic]) for topic in groups}
        topics_of = defaultdict[str, list[str]](list)
        for topic, names in groups.items():
            for group in names:
                topics_of[group].append(topic)
        # The thread that reports health also queries the lag, with the same clients.
        with self._query_lock:
            committed = {
                group: self._queries(group).committed(self._partitions_of(topics))
                for group, topics in topics_of.items()
            }
            # Records are deleted only below all committed offsets, so the starts do not matter
            # where every group has committed an offset.
            unread = {
                at
                for topic, names in groups.items()
                for at in partitions[topic]
                if not all(at in committed[group] for group in names)
            }
            any_queries = self._queries(next(iter(committed)))
            starts = any_queries.starts(unread)
            ends = any_queries.ends(at for found in partitions.values() for at in found)
        return {
            topic: {
                group: {
                    at[1]: ends[at] - max(committed[group].get(at, 0), starts.get(at, 0))
                    for at in partitions[topic]
                }
                for group in names
            }
            for topic, names in groups.items()
        }

    def _queries(self, group: str) -> OffsetQueries:
        """Return the queries of *group*, a full name, which do not join it."""
        if group not in self._offset_queries:
            common = client_config(self._settings, self._errors, self._service)
            config = {**common, **consumer_config(group)}
            queries = OffsetQueries(Consumer(config), self._settings, self._errors)
            self._offset_queries[group] = queries
        return self._offset_queries[group]

    def close(self) -> None:
        """Close all readers, which leave their groups, and all tails."""
        for each in list(self._opened):
            each.close()
        # Their clients are not closed here, because another thread may be using one.
        self._offset_queries.clear()


class KafkaTail:
    """Reads from *begin*, which maps topic and partition to an offset. See `gossamer.log.Tail`.

    Records arrive in the background, and a poll does not query the brokers. A poll returns nothing
    only after each partition has been read to its known end.
    """

    def __init__(self, settings: KafkaSettings, begin: Mapping[At, int]) -> None:
        self._timeout, self._closed = settings.timeout, False
        self._names = {settings.prefix + topic: topic for topic, _ in begin}
        self._errors = ConnectionErrors(settings.servers)
        self._consumer: Any = Consumer(
            {
                **client_config(settings, self._errors),
                **consumer_config(settings.prefix + "tail"),
                "enable.partition.eof": True,
            }
        )
        self._queries = OffsetQueries(self._consumer, settings, self._errors)
        # Fetching metadata now finds the leaders at once instead of after half a second.
        fetch_topics(self._consumer, self._errors, self._timeout)
        self._behind = set[At]()
        """The partitions that have not been read to their known end."""
        self._read_to = {(settings.prefix + topic, number): 0 for topic, number in begin}
        """The offset behind the last record that was read from each partition."""
        self._ends = dict(self._read_to)
        """The end of each partition at the last call of `find_end`."""
        # Without known ends, each poll would wait for the broker to answer that no records follow.
        self.find_end()
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
                size += one.size
        return found

    def find_end(self) -> None:
        """Query the current end of each partition."""
        for at, end in self._queries.ends(self._ends).items():
            self._ends[at] = end
            if self._read_to[at] < end:
                self._behind.add(at)

    def _wait(self, began: float, timeout: float) -> float:
        waited = clock.steady() - began
        if self._behind and waited > self._timeout:
            raise self._errors.translate_error(KafkaError(KafkaError._TIMED_OUT))
        return MAX_WAIT if self._behind else max(0.0, timeout - waited)

    def _read(self, message: Any) -> Record | None:
        at, error = (message.topic(), message.partition()), message.error()
        if error is None:
            self._note_read(at, message.offset() + 1)
            return record_of(message, self._names[at[0]])
        if error.code() == KafkaError._PARTITION_EOF:
            # The last records before the end may have been deleted.
            self._note_read(at, message.offset())
        else:
            self._errors.raise_if_lasting(error)
        return None

    def _note_read(self, at: At, offset: int) -> None:
        self._read_to[at] = offset
        if offset >= self._ends[at]:
            self._behind.discard(at)

    def close(self) -> None:
        """Stop reading."""
        if not self._closed:
            self._closed = True
            self._consumer.close()
