"""Reading Kafka as the member of a group.

A member has the same partition numbers of all its topics, so that what belongs to a site comes
together. No assignor that moves only what has to move can do that; so the group shares out the
partitions of the first topic alone, and whoever has one of them takes the others' along.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from gossamer import clock
from gossamer.errors import Absent
from gossamer.log import BATCH, Log, Message, Record
from gossamer.log.kafka_client import Trouble, client, consumer, error_of, record
from gossamer.servers import KafkaSettings
from gossamer.store import Store

BATCH_BYTES = 8 << 20
SLICE = 0.1
"""How long librdkafka waits at once: an exception in a callback ends no longer wait."""
PAUSE = 0.1
SAID_AGAIN = 3600.0
"""Brokers forget, after days, where a group stands on a topic that it does not subscribe to."""
TRIES = 3
"""A commit may cross a rebalance, and be of the generation before: once or twice, not for ever."""
PUT_OUT = (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.FENCED_INSTANCE_ID)

logger = structlog.get_logger()
Place = tuple[str, int]


class Moved(Exception):
    """Ends the poll in which partitions come or go, so that each change is seen by itself."""


class Position:
    """How far a partition was read since it was assigned, and how far the log has moved."""

    __slots__ = ("began", "next", "passed")

    def __init__(self, began: int) -> None:
        self.began = self.next = self.passed = began


class KafkaReader:
    """One member of a group; see `gossamer.log.Reader` for what it promises."""

    def __init__(
        self,
        log: Log,
        settings: KafkaSettings,
        member: tuple[str, str],
        topics: Sequence[str],
        store: Store,
    ) -> None:
        """Become the *member* of a group: its name and, if it is to be known by one, its own."""
        self._log, self._settings, self._store = log, settings, store
        self._names = {settings.prefix + topic: topic for topic in topics}
        self._trouble = Trouble(settings.servers)
        self._partitions: frozenset[int] = frozenset()
        self._positions: dict[Place, Position] = {}
        self._held: list[Record] = []
        self._bytes = 0
        self._paused = self._polling = self._closed = False
        self._say_again_at = float("inf")
        self._consumer: Any = Consumer(self._configuration(*member))
        self._consumer.subscribe([next(iter(self._names))], self._assigned, self._revoked)

    def _configuration(self, group: str, instance: str) -> dict[str, Any]:
        session = int(self._settings.session * 1000)
        return {
            **client(self._settings, self._trouble),
            **consumer(self._settings, group),
            **({"group.instance.id": instance} if instance else {}),
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": session,
            "heartbeat.interval.ms": session // 4,
        }

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that are this member's now, the same of every topic it reads."""
        return self._partitions

    def poll(self, timeout: float, most: int = BATCH) -> list[Record]:
        """Return the next records, at most *most*; with none wanted, keep in touch."""
        if clock.steady() >= self._say_again_at:
            self._say_again()
        # With none wanted, what comes along while callbacks are served is held: the more it is,
        # the longer that lasts. A short break must not pause, which throws away what was fetched.
        self._fetch(bool(most) or self._has_room(BATCH))
        if not most:
            self._fill(0, len(self._held) + 1)
        elif self._has_room(most):
            self._fill(timeout, most)
        self._trouble.check()
        found, self._held = self._held[:most], self._held[most:]
        self._bytes -= sum(len(one.value) for one in found)
        return found

    def _has_room(self, most: int) -> bool:
        return len(self._held) < most and self._bytes < BATCH_BYTES

    def _fetch(self, wanted: bool) -> None:
        if wanted == self._paused:
            self._paused = not wanted
            change = self._consumer.resume if wanted else self._consumer.pause
            change(self._places(self._partitions))

    def _fill(self, timeout: float, most: int) -> None:
        poll, take = self._consumer.poll, self._take
        self._polling = True
        try:
            message = poll(0) if self._held else self._first(timeout)
            while message is not None:
                take(message)
                if not self._has_room(most):
                    return
                message = poll(0)
        except Moved:
            return
        finally:
            self._polling = False

    def _first(self, timeout: float) -> Any:
        until = clock.steady() + timeout
        while (message := self._consumer.poll(min(SLICE, timeout))) is None:
            if (timeout := until - clock.steady()) <= 0:
                return None
        return message

    def _take(self, message: Any) -> None:
        if error := message.error():
            self._trouble.judge(error)
            return
        one = record(message, self._names[message.topic()])
        if one.partition not in self._partitions:
            return
        at = one.topic, one.partition
        position = self._positions.get(at)
        if position is None:
            position = self._positions[at] = Position(one.offset)
        position.next = one.offset + 1
        self._held.append(one)
        self._bytes += len(one.value)

    def _places(self, partitions: Iterable[int]) -> list[TopicPartition]:
        return [TopicPartition(name, number) for name in self._names for number in partitions]

    def _assigned(self, _: Consumer, fresh: list[TopicPartition]) -> None:
        numbers = frozenset(place.partition for place in fresh)
        # No offset means the committed one.
        self._consumer.incremental_assign(self._places(numbers))
        self._change(self._partitions | numbers)

    def _revoked(self, _: Consumer, gone: list[TopicPartition]) -> None:
        numbers = frozenset(place.partition for place in gone)
        self._consumer.incremental_unassign(self._places(numbers))
        self._change(self._partitions - numbers)

    def _change(self, partitions: frozenset[int]) -> None:
        fresh, self._partitions = partitions - self._partitions, partitions
        if fresh and len(self._names) > 1:
            self._say_again_at = clock.steady()
        self._fetch(True)
        self._keep([one for one in self._held if one.partition in partitions])
        self._positions = {at: p for at, p in self._positions.items() if at[1] in partitions}
        if self._polling:
            raise Moved

    def _keep(self, held: list[Record]) -> None:
        self._held, self._bytes = held, sum(len(one.value) for one in held)

    def _say_again(self) -> None:
        self._say_again_at = clock.steady() + SAID_AGAIN
        try:
            places = self._places(self._partitions)
            said = self._consumer.committed(places, self._settings.timeout)
            if known := [place for place in said if place.offset >= 0]:
                self._consumer.commit(offsets=known)
        except KafkaException as failure:
            logger.info("positions not confirmed", why=error_of(failure).str())

    def advance(self, records: Iterable[Record], outcome: Iterable[Message]) -> bool:
        """Flush the store's writes, append *outcome*, commit past *records*: in this order."""
        self._store.flush()
        self._log.append(outcome)
        ends: dict[Place, int] = {}
        for one in records:
            at = one.topic, one.partition
            position = self._positions.get(at)
            # What was read before its partition came back is not what was read since.
            if position and position.began <= one.offset < position.next:
                ends[at] = max(ends.get(at, position.passed), one.offset + 1)
        ends = {at: end for at, end in ends.items() if end > self._positions[at].passed}
        if ends and not self._commit(ends):
            self._positions.clear()
            self._keep([])
            return False
        for at, end in ends.items():
            self._positions[at].passed = end
        return True

    def _commit(self, ends: dict[Place, int]) -> bool:
        prefix = self._settings.prefix
        offsets = [
            TopicPartition(prefix + topic, number, end) for (topic, number), end in ends.items()
        ]
        until = clock.steady() + self._settings.timeout
        stale = 0
        while error := self._refusal(offsets):
            stale += error.code() == KafkaError.ILLEGAL_GENERATION
            if error.code() in PUT_OUT or stale > TRIES:
                return False
            told = self._trouble.told(error)
            if not (stale or isinstance(told, Absent)) or clock.steady() > until:
                raise told
            clock.pause(PAUSE)
        return True

    def _refusal(self, offsets: list[TopicPartition]) -> KafkaError | None:
        # Whoever is no member commits for nobody, and a group without members lets him.
        if self._consumer.memberid() is None:
            return KafkaError(KafkaError.UNKNOWN_MEMBER_ID)
        try:
            answers = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as failure:
            return error_of(failure)
        return next((answer.error for answer in answers if answer.error), None)

    def close(self) -> None:
        """Leave the group; a member with a name is waited for until its session ends."""
        if not self._closed:
            self._closed = True
            self._consumer.close()
