"""Kafka's client classes, simulated: `gossamer.log.kafka` runs on them unchanged.

Producers are idempotent: the messages of one producer arrive once and in order in a partition.
Messages to several partitions arrive in any order, late, or with their acknowledgement lost, and
the messages of a producer that crashes may arrive as well.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import NewPartitions, NewTopic  # type: ignore[attr-defined]

from gossamer.events.topics import CONTROL
from tests.simulation.broker import At, Broker, Headers
from tests.simulation.kernel import Process, Strand

Sent = tuple[bytes | None, bytes | None, Headers]
"""Key, value and headers of a message."""
LATEST, EARLIEST = -1, -2
CALL = 0.0005
"""Seconds of a poll that finds nothing and does not wait."""


class SimMessage:
    """A record as a consumer's poll returns it, or an error."""

    def __init__(
        self,
        at: At,
        offset: int,
        key: bytes | None,
        value: bytes | None,
        code: int | None = None,
        headers: Headers = (),
    ) -> None:
        self._at, self._offset, self._key, self._value = at, offset, key, value
        self._headers = headers
        self._error = None if code is None else KafkaError(code)

    def topic(self) -> str:
        return self._at[0]

    def partition(self) -> int:
        return self._at[1]

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def error(self) -> KafkaError | None:
        return self._error

    def headers(self) -> list[tuple[str, bytes]] | None:
        return [*self._headers] or None


class SimConsumer:
    """Replaces `confluent_kafka.Consumer`."""

    def __init__(self, broker: Broker, configuration: dict[str, Any]) -> None:
        self._broker, self._sim = broker, broker.sim
        self.process = self._sim.process
        self._group = broker.group(configuration["group.id"])
        self._instance = configuration.get("group.instance.id", "")
        self._eof = configuration.get("enable.partition.eof", False)
        self._on_error = configuration.get("error_cb", lambda error: None)
        self._member = ""
        self._joins = False
        self._generation = -1
        self._news: deque[tuple[str, set[int]]] = deque()
        self._callbacks: tuple[Any, Any] = (None, None)
        self._positions: dict[At, int | None] = {}
        self._at_end: set[At] = set()
        self._buffer: deque[SimMessage] = deque()
        self._paused: set[At] = set()
        self._skipped: set[tuple[At, int]] = set()
        self._strand: Strand | None = None
        """The strand that waits in a poll."""
        self._is_fetching = False
        """Whether a fetch response is on its way."""
        self.polled_at = self._sim.now
        self.closed = False

    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any) -> None:
        """Join the group with the next poll."""
        self._topic, self._callbacks, self._joins = topics[0], (on_assign, on_revoke), True

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions without a group."""
        self._positions = {
            (one.topic, one.partition): 0 if one.offset == OFFSET_BEGINNING else one.offset
            for one in partitions
        }

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions as well, from the committed offsets."""
        for one in partitions:
            self._positions[one.topic, one.partition] = None

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Stop reading these partitions."""
        gone = {(one.topic, one.partition) for one in partitions}
        for at in gone:
            self._positions.pop(at, None)
        self._buffer = deque(m for m in self._buffer if (m.topic(), m.partition()) not in gone)
        self._paused -= gone

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Stop fetching these partitions, and drop fetched records."""
        for one in partitions:
            at = (one.topic, one.partition)
            self._paused.add(at)
            dropped = [m for m in self._buffer if (m.topic(), m.partition()) == at]
            if dropped:
                self._positions[at] = dropped[0].offset()
                self._buffer = deque(m for m in self._buffer if m not in dropped)

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Fetch these partitions again."""
        self._paused -= {(one.topic, one.partition) for one in partitions}

    def seek(self, place: TopicPartition) -> None:
        """Continue at an offset, and drop fetched records."""
        at = (place.topic, place.partition)
        self._positions[at] = place.offset
        self._buffer = deque(m for m in self._buffer if (m.topic(), m.partition()) != at)

    def poll(self, timeout: float) -> SimMessage | None:
        """Serve callbacks, then return the next record, after at most *timeout* seconds."""
        self.polled_at = self._sim.now
        self._serve()
        until = self._sim.now + timeout
        while not self._buffer:
            self._ask()
            left = until - self._sim.now
            if left <= 0:
                if timeout < CALL:
                    # A wait of this length does not change a float of the time.
                    self._sim.effect(CALL)
                return None
            self._wait(min(left, 1.0) if self._news or not self._broker_up() else left)
            self._serve()
        return self._buffer.popleft()

    def _wait(self, seconds: float) -> None:
        """Wait until a fetch response or a message of the coordinator arrives."""
        self._strand = self._sim.current
        self._broker.waiting[self] = None
        try:
            self._sim.wait(seconds)
        finally:
            self._strand = None
            del self._broker.waiting[self]

    def hear(self, at: At) -> None:
        """Fetch the appended record, if its partition is assigned."""
        if at not in self._positions or at in self._paused:
            return
        if self._broker_up():
            self._ask()
        elif self._strand:
            self._sim.wake(self._strand)

    def _broker_up(self) -> bool:
        return self._broker.reachable(self.process)

    def _serve(self) -> None:
        if not self._broker_up():
            return
        if self._joins and not self._member:
            self._sim.effect(self._sim.between(0.005, 0.05))
            if self._positions and self._callbacks[1]:
                # It was evicted from the group: its partitions are lost.
                lost = {number for _, number in self._positions}
                self._call(1, lost)
            self._news.clear()
            shares = not self._topic.endswith(CONTROL.name)
            self._member = self._group.join(self, self._instance, shares)
        elif self._joins and self._member not in self._group.members:
            self._member = ""
            self._serve()
        while self._news:
            kind, partitions = self._news.popleft()
            if kind == "fatal":
                self._on_error(KafkaError(KafkaError.FENCED_INSTANCE_ID, "fenced", True))
                return
            if kind == "assign":
                self._call(0, partitions)
            else:
                # The coordinator is informed even if the callback raises.
                self._group.confirm_revocation(self._member, partitions)
                self._call(1, partitions)

    def _call(self, which: int, partitions: set[int]) -> None:
        topic = self._topic
        self._callbacks[which](self, [TopicPartition(topic, n) for n in sorted(partitions)])

    def tell(self, kind: str, partitions: set[int]) -> None:
        """Queue a message of the coordinator, which the next poll applies."""
        self._news.append((kind, set(partitions)))
        if self._strand and not self.process.dead:
            self._sim.wake(self._strand)

    def fence(self) -> None:
        """Another consumer has taken its place."""
        self._member, self._joins = "", False
        self._news.clear()
        self.tell("fatal", set())

    def can_rejoin(self) -> bool:
        """Return whether the client requests to join again when it learns of a rebalance. It does
        so between polls, but not before the callbacks of the last rebalance were served."""
        is_running = not (self.process.dead or self.process.frozen)
        return is_running and self._joins and not self._news and self._broker_up()

    def _ask(self) -> None:
        """Send a fetch request; the response arrives while the process does something else."""
        if self._is_fetching or not self._broker_up() or not self._ready():
            return
        self._is_fetching = True
        usual = self._sim.between(0.001, 0.01) * self._broker.slow
        self._sim.later(self.process.trickle or usual, self._arrive)

    def _ready(self) -> list[At]:
        return [at for at in self._positions if at not in self._paused and self._has_news(at)]

    def _arrive(self) -> None:
        self._is_fetching = False
        if self.process.dead:
            return
        if self._broker_up():
            ready = self._ready()
            # Not all partitions are at one broker.
            most = 1 if self.process.trickle else self._sim.random.randint(0, len(ready))
            for at in self._sim.random.sample(ready, min(most, len(ready))):
                self._take(at, 1 if self.process.trickle else self._broker.fetched)
            if not self._buffer:
                # Real clients rejoin by themselves, polled or not.
                self._ask()
        if self._strand:
            self._sim.wake(self._strand)

    def _has_news(self, at: At) -> bool:
        end = len(self._broker.logs[at])
        position = self._position(at)
        return position < end or (self._eof and at not in self._at_end)

    def _position(self, at: At) -> int:
        found = self._positions[at]
        if found is None:
            found = self._group.offsets.get(at, 0)
        if found > len(self._broker.logs[at]):
            found = 0  # auto.offset.reset: earliest
        self._positions[at] = found = max(found, self._broker.starts[at])
        return found

    def _take(self, at: At, most: int) -> None:
        log, position = self._broker.logs[at], self._position(at)
        for offset in range(position, min(len(log), position + most)):
            if self._leaves_out(at, offset):
                self._positions[at] = offset + 1
                continue
            headers = self._broker.headers[at][offset]
            self._buffer.append(SimMessage(at, offset, *log[offset], headers=headers))
            self._broker.delivered[self._group.name, at].add(offset)
            self._positions[at] = offset + 1
            self._at_end.discard(at)
        if self._eof and self._positions[at] == len(log) and at not in self._at_end:
            self._at_end.add(at)
            self._buffer.append(SimMessage(at, len(log), None, None, KafkaError._PARTITION_EOF))

    def _leaves_out(self, at: At, offset: int) -> bool:
        """Return whether the client skips the record by a fault. It skips none twice."""
        chance = self._broker.skip_probability if self._joins else 0.0
        if not chance or (at, offset) in self._skipped or not self._sim.chance(chance):
            return False
        self._skipped.add((at, offset))
        return True

    def memberid(self) -> str | None:
        """Return the member id; None without a membership, as far as the client knows."""
        member = self._group.members.get(self._member)
        if member is None and not self._broker_up():
            return self._member or None
        return self._member if member and member.is_admitted else None

    def commit(self, offsets: list[TopicPartition], asynchronous: bool = True) -> Any:
        """Commit *offsets*; raise if the group does not accept them."""
        self._broker.answer(self.process)
        member = self._group.members.get(self._member)
        if member is None or member.consumer is not self or not member.is_admitted:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))
        if self._sim.now < self._group.refuses_until:
            raise KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))
        for one in offsets:
            self._group.offsets[one.topic, one.partition] = one.offset
        self._sim.effect(self._sim.between(0.001, 0.005))
        if not self._broker_up():
            # Committed, and the response is lost.
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return offsets

    def committed(self, partitions: list[TopicPartition], timeout: float = 0) -> Any:
        """Return the committed offset of each partition."""
        self._broker.answer(self.process)
        offsets = self._group.offsets
        return [
            TopicPartition(p.topic, p.partition, offsets.get((p.topic, p.partition), -1001))
            for p in partitions
        ]

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float = 0) -> Any:
        """Return the first offsets, the ends, or the first offsets since a time."""
        self._broker.answer(self.process)
        return [TopicPartition(p.topic, p.partition, self._offset_at(p)) for p in partitions]

    def _offset_at(self, requests: TopicPartition) -> int:
        at = requests.topic, requests.partition
        end = len(self._broker.logs[at])
        if requests.offset == LATEST:
            return end
        if requests.offset == EARLIEST:
            return self._broker.starts[at]
        since = bisect_left(self._broker.appended_at[at], requests.offset / 1000)
        return max(since, self._broker.starts[at]) if since < end else LATEST

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = 0, cached: bool = False
    ) -> tuple[int, int]:
        """Return the first offset and the end of a partition."""
        self._broker.answer(self.process)
        at = partition.topic, partition.partition
        return self._broker.starts[at], len(self._broker.logs[at])

    def list_topics(self, timeout: float = 0) -> Any:
        """Return the metadata."""
        return metadata(self._broker, self.process)

    def close(self) -> None:
        """Close the consumer; the place of a static member is reserved for a session."""
        self.closed = True
        self._joins = False
        if self._member and not self._instance:
            self._group.leave(self._member)


class SimProducer:
    """Replaces `confluent_kafka.Producer`."""

    def __init__(self, broker: Broker, configuration: dict[str, Any]) -> None:
        self._broker, self._sim = broker, broker.sim
        self._process = self._sim.process
        self._timeout = configuration["message.timeout.ms"] / 1000
        self._on_delivery = configuration["on_delivery"]
        self._queue: list[tuple[At, Sent]] = []

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        headers: list[tuple[str, bytes]] | None = None,
        **others: Any,
    ) -> None:
        """Queue a message, which `flush` sends."""
        self._queue.append(((topic, partition), (key, value, (*(headers or ()),))))

    def poll(self, timeout: float = 0) -> int:
        """Do nothing: all happens in `flush`."""
        return 0

    def flush(self, timeout: float = 0) -> int:
        """Wait until each message is acknowledged or has timed out."""
        if not self._queue:
            return 0
        by_partition: dict[At, list[Sent]] = defaultdict(list)
        for at, sent in self._queue:
            by_partition[at].append(sent)
        self._queue = []
        until = self._sim.now + self._timeout
        if self._broker.at_send:
            self._broker.at_send(self._process)
        self._sim.effect(0.0)
        # Like librdkafka: messages that were queued before a long pause have timed out after it.
        in_time = self._sim.now <= until
        send = _Sending(self._broker, self._process, by_partition if in_time else {}, until)
        given_up = {*send.wait(), *(() if in_time else by_partition)}
        for at in sorted(given_up):
            error = KafkaError(KafkaError._MSG_TIMED_OUT)
            for key, value, _ in by_partition[at]:
                self._on_delivery(error, SimMessage(at, -1, key, value))
        for at, offset in send.ends.items():
            if at not in given_up:
                self._on_delivery(None, SimMessage(at, offset, None, None))
        return 0

    def list_topics(self, timeout: float = 0) -> Any:
        """Return the metadata."""
        return metadata(self._broker, self._process)


class SimAdmin:
    """Replaces `confluent_kafka.admin.AdminClient`."""

    def __init__(self, broker: Broker, configuration: dict[str, Any]) -> None:
        self._broker = broker

    def delete_records(self, requests: list[TopicPartition], request_timeout: float = 0) -> Any:
        """Delete the records before these offsets."""
        self._broker.answer(self._broker.sim.process)
        for one in requests:
            at = one.topic, one.partition
            self._broker.starts[at] = max(self._broker.starts[at], one.offset)
        return {one: _completed_future(None) for one in requests}

    def poll(self, timeout: float = 0) -> int:
        """Do nothing: all happens in the calls."""
        return 0

    def list_topics(self, timeout: float = 0) -> Any:
        """Return the metadata."""
        return metadata(self._broker, self._broker.sim.process)

    def describe_consumer_groups(self, names: list[str], request_timeout: float = 0) -> Any:
        """Return the members of groups."""
        self._broker.answer(self._broker.sim.process)
        groups = {name: self._broker.group(name) for name in names}
        return {
            name: _completed_future(SimpleNamespace(members=[*group.members]))
            for name, group in groups.items()
        }

    def create_partitions(self, requests: list[NewPartitions]) -> Any:
        """Add partitions to topics."""
        self._broker.answer(self._broker.sim.process)
        for one in requests:
            self._broker.topic(one.topic, one.new_total_count)
        return {one.topic: _completed_future(None) for one in requests}

    def delete_topics(self, names: list[str]) -> Any:
        """Delete topics and the offsets that groups have committed for them."""
        self._broker.answer(self._broker.sim.process)
        for name in names:
            self._broker.remove(name)
        return {name: _completed_future(None) for name in names}

    def create_topics(self, requests: list[NewTopic], operation_timeout: float = 0) -> Any:
        self._broker.answer(self._broker.sim.process)
        for one in requests:
            self._broker.topic(one.topic, one.num_partitions)
        return {one.topic: _completed_future(None) for one in requests}

    def alter_consumer_group_offsets(
        self, requests: list[ConsumerGroupTopicPartitions], request_timeout: float = 0
    ) -> Any:
        """Set offsets of groups without members."""
        self._broker.answer(self._broker.sim.process)
        found = {}
        for one in requests:
            group = self._broker.group(one.group_id)
            if group.members:
                raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))
            for place in one.topic_partitions or ():
                group.offsets[place.topic, place.partition] = place.offset
            found[one.group_id] = _completed_future(one)
        return found


def _completed_future(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


LOST_BATCHES = 0.5
"""The share of the batches in flight that a process still has in its memory when it is killed."""


class _Sending:
    """Messages in flight, one batch a partition, until all are acknowledged or have timed out."""

    def __init__(
        self,
        broker: Broker,
        process: Process,
        batches: dict[At, list[Sent]],
        until: float,
    ) -> None:
        self._broker, self._sim, self._process = broker, broker.sim, process
        self._batches, self._until = batches, until
        self._open, self._appended = set(batches), set[At]()
        self.ends: dict[At, int] = {}
        """The offset of the last message in each partition."""
        assert self._sim.current
        self._strand = self._sim.current
        for at in batches:
            self._attempt(at)

    def _attempt(self, at: At) -> None:
        delay = self._sim.between(0.001, 0.02) * self._broker.slow
        self._sim.later(delay, self._arrive, at)

    def _arrive(self, at: At) -> None:
        if at not in self._open or self._is_lost(at):
            return
        if not self._broker.reachable(self._process):
            # A running producer retries until the timeout.
            if not self._process.dead:
                self._sim.later(0.3, self._attempt, at)
            return
        if at not in self._appended:
            self._appended.add(at)
            for sent in self._batches[at]:
                self.ends[at] = self._broker.append(at, *sent)
        self._sim.later(self._sim.between(0.0005, 0.005) * self._broker.slow, self._acknowledge, at)

    def _is_lost(self, at: At) -> bool:
        is_cut = self._process.dead and at not in self._appended
        return is_cut and self._sim.between(0.0, 1.0) < LOST_BATCHES

    def _acknowledge(self, at: At) -> None:
        if not self._broker.reachable(self._process):
            # Appended, but the acknowledgement is lost: the retry is recognized as a duplicate.
            self._sim.later(0.3, self._attempt, at)
            return
        self._open.discard(at)
        if not self._open:
            self._sim.wake(self._strand)

    def wait(self) -> Iterable[At]:
        while self._open and self._sim.now < self._until:
            self._sim.wait(self._until - self._sim.now)
        given_up, self._open = sorted(self._open), set()
        return given_up


def metadata(broker: Broker, process: Process) -> Any:
    """Return the response of `list_topics`."""
    broker.answer(process)
    return SimpleNamespace(
        topics={
            name: SimpleNamespace(error=None, partitions=dict.fromkeys(range(most)))
            for name, most in broker.counts.items()
        }
    )
