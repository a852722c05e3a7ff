"""Reads Kafka as a member of a group.

A member owns the same partition numbers of all its topics (co-partitioning), so that one member has
all data of a site. No cooperative assignor guarantees that. The group therefore subscribes to one
topic only, to one that is keyed by site if possible. The owner of a partition of this topic also
reads the partitions with this number of the other topics. If another topic, such as `seeds`, has
more partitions than the subscribed one, their numbers are taken modulo the smaller number.

The client returns records in the order of their arrival, and fetches megabytes ahead. A record of a
topic that is read first would wait behind all of them. So the reader empties the client, and stops
fetching the other topics while it holds enough of their records itself.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import structlog
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.events.topics import CONTROL, SITE_KEYED, topic_named
from gossamer.log import MAX_POLL_RECORDS, NO_PARTITIONS, At, Log, Message, Record
from gossamer.log.kafka.client import (
    ConnectionErrors,
    GroupConsumer,
    client_config,
    consumer_config,
    error_of,
    record_of,
)
from gossamer.log.kafka.retention import CHECK_INTERVAL, GapCheck, Trimmer
from gossamer.settings.servers import KafkaSettings
from gossamer.store import Store

BATCH_BYTES = 8 << 20
MAX_AHEAD = 10 * MAX_POLL_RECORDS
"""Buffered records at which only the topics that are read first are fetched."""
MAX_WAIT = 0.1
"""Maximum seconds of one wait in librdkafka, since an exception in a callback does not interrupt
it."""
MAX_HEARTBEAT_MS = 3000
"""Maximum milliseconds between heartbeats. Members learn of a rebalance with a heartbeat."""
PASSING_SESSION = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1500}
"""The session of a passing member, the shortest that brokers allow by default. If its request to
leave waits behind one to join, it is lost, and the group waits until the session ends."""
COMMIT_RETRY_PAUSE = 0.1
RECOMMIT_INTERVAL = 3600.0
"""Seconds between two commits of unchanged offsets. After days, brokers drop the offsets of a group
on topics to which it does not subscribe."""
MAX_STALE_COMMITS = 3
"""Maximum number of times that a commit may be refused with ILLEGAL_GENERATION, during rebalances.
After one more, the member counts as fenced."""
FENCED_ERRORS = (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.FENCED_INSTANCE_ID)

logger = structlog.get_logger()


@dataclass(frozen=True)
class Member:
    """A member of a group. *instance* is the name of a static member, and otherwise empty."""

    group: str
    instance: str = ""
    poll_limit: float = 300.0
    """Seconds without a poll after which the member loses its partitions."""


class PartitionsChanged(Exception):
    """Ends a poll in which partitions are assigned or revoked, so that the caller sees the new
    partitions before it gets more records."""


class ReadOffsets:
    """The offsets read and committed in a partition since its assignment."""

    __slots__ = ("began", "jumped_to", "next", "passed")

    def __init__(self, began: int) -> None:
        self.began = self.next = self.passed = began
        self.jumped_to = -1
        """The offset that the client returned in place of `next`, before the reader sought back; -1
        if that has not happened."""


class PassingMember:
    """Joins a group and leaves it at once, so that the group divides its partitions again.

    A static member that rejoins under its name gets the partitions of the process before it,
    without a rebalance. If that process ended in the middle of one, after it had given up
    partitions and before their new owner was determined, nobody would ever own them. This member
    subscribes to the control topic, so that no partition of the others moves to it.

    It has a thread of its own. A commit of the reader waits for the rebalance, on the same
    connection, and the rebalance waits for this member.
    """

    def __init__(self, configuration: dict[str, Any], settings: KafkaSettings) -> None:
        self._configuration, self._topic = configuration, settings.prefix + CONTROL.name
        self._consumer: Any = None
        self._thread: Thread | None = None
        self._has_joined = Event()

    @property
    def is_inside(self) -> bool:
        """Whether it has begun to join, and has not left."""
        return self._consumer is not None

    def pass_through(self) -> bool:
        """Begin to join, unless that is done; return whether it has left."""
        if self._thread is None:
            self._consumer = GroupConsumer(self._configuration)
            self._thread = Thread(target=self._join_and_leave, name="passing", daemon=True)
            self._thread.start()
        return not self.is_inside

    def _join_and_leave(self) -> None:
        try:
            self._consumer.subscribe([self._topic], self._note_assignment, _accept_revocation)
            while not self._has_joined.is_set():
                self._consumer.poll(MAX_WAIT)
        finally:
            self._consumer.close()
            self._consumer = None

    def close(self) -> None:
        """Leave the group."""
        self._has_joined.set()
        if self._thread is not None:
            self._thread.join()

    def _note_assignment(self, *_: Any) -> None:
        self._has_joined.set()


def _accept_revocation(*_: Any) -> None:
    """The client itself gives up the partitions."""


class KafkaReader:
    """A member of a group, with the guarantees of `gossamer.log.Reader`."""

    def __init__(
        self,
        log: Log,
        settings: KafkaSettings,
        member: Member,
        topics: Mapping[str, int],
        store: Store,
    ) -> None:
        """Join the group of *member*. *topics* maps each topic to its number of partitions."""
        self._log, self._settings, self._store = log, settings, store
        self._names = {settings.prefix + topic: topic for topic in topics}
        self._counts = {settings.prefix + topic: count for topic, count in topics.items()}
        self._errors = ConnectionErrors(settings.servers)
        self._partitions: frozenset[int] = frozenset()
        self._positions: dict[At, ReadOffsets] = {}
        self._buffered: list[Record] = []
        """Fetched records that were not returned yet."""
        self._bytes = 0
        self._paused_records: list[Record] = []
        """Fetched records of partitions that the caller has paused."""
        self._paused = NO_PARTITIONS
        """The partitions paused by the caller."""
        self._not_fetched: frozenset[At] = frozenset()
        """The full names of topics, with partitions, that the client does not fetch."""
        first = {name for name, topic in self._names.items() if topic_named(topic).read_first}
        self._others = frozenset(self._names.keys() - first if first else ())
        """The full names of the topics that are not read first, if any is read first."""
        self._is_ahead = False
        """Whether the buffer is so full that `_others` are not fetched."""
        self._polling = self._closed = False
        self._confirm_at = float("inf")
        self._check_at = clock.steady() + CHECK_INTERVAL
        self._behind: dict[At, int] = {}
        """The next offset of each partition that had unread records at the last check."""
        self._unchecked: frozenset[int] = frozenset()
        """Assigned partitions that were not checked for gaps yet."""
        self._is_outdated = False
        """Whether a commit was refused, so that all partitions are read from the committed offsets
        again."""
        self._trimmer = Trimmer(settings, log.blobs)
        self._consumer: Any = GroupConsumer(self._configuration(member))
        group = settings.prefix + member.group
        self._gaps = GapCheck(settings, group, self._consumer, self._errors)
        passing = {**self._configuration(Member(member.group)), **PASSING_SESSION}
        self._passing = PassingMember(passing, settings)
        self._is_complete = not member.instance
        """Whether the group has divided its partitions since this member joined."""
        keyed = [name for name, topic in self._names.items() if topic in SITE_KEYED]
        subscribed = (keyed or [*self._names])[0]
        self._shared = self._counts[subscribed]
        self._consumer.subscribe([subscribed], self._on_assign, self._on_revoke)

    def _configuration(self, member: Member) -> dict[str, Any]:
        session = int(self._settings.session * 1000)
        return {
            **client_config(self._settings, self._errors, member.group),
            **consumer_config(self._settings.prefix + member.group),
            **({"group.instance.id": member.instance} if member.instance else {}),
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": session,
            "max.poll.interval.ms": max(session, int(member.poll_limit * 1000)),
            "heartbeat.interval.ms": min(session // 4, MAX_HEARTBEAT_MS),
        }

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions assigned to this member, with the same numbers for every topic that it
        reads."""
        return self._partitions

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> list[Record]:
        """Return the next records, at most *most*. With *most* = 0, only keep the membership alive.

        Raise Gap if records that the group has not consumed are missing.
        """
        if not self._is_complete and self._consumer.memberid():
            self._is_complete = self._passing.pass_through()
        if self._is_outdated:
            self._read_again()
        if self._unchecked:
            self._check_committed()
        elif clock.steady() >= self._check_at:
            self._check_all()
        if clock.steady() >= self._confirm_at:
            self._confirm_positions()
        self._trimmer.trim(
            (self._names[one.topic], one.partition) for one in self._of_all_topics(self._partitions)
        )
        # With *most* = 0, records that arrive while callbacks are served are buffered. Fetching is
        # paused only if the buffer is full, because a pause makes the client discard its records.
        self._pause(paused)
        self._is_ahead &= len(self._buffered) > most
        self._fetch_all_but(
            paused if most or self._has_room(MAX_POLL_RECORDS) else self._partitions
        )
        if not most:
            self._fill(0, len(self._buffered) + 1)
        elif self._has_room(most):
            self._fill(timeout, most)
        self._errors.check()
        if self._others:
            self._buffered.sort(key=self._is_other)
        found, self._buffered = self._buffered[:most], self._buffered[most:]
        self._bytes -= sum(one.size for one in found)
        return found

    def _has_room(self, most: int) -> bool:
        """Return whether the client may be asked for more records.

        While other topics are not fetched, there is room again for those that are read first.
        """
        limit, parts = MAX_AHEAD if self._others else most, 1 + self._is_ahead
        return len(self._buffered) < parts * limit and self._bytes < parts * BATCH_BYTES

    def _is_other(self, record: Record) -> bool:
        return self._settings.prefix + record.topic in self._others

    def _pause(self, paused: Set[int]) -> None:
        if paused != self._paused:
            self._paused = frozenset(paused)
            fetched = self._paused_records + self._buffered
            self._paused_records = [one for one in fetched if self._home(one.partition) in paused]
            self._buffer([one for one in fetched if self._home(one.partition) not in paused])

    def _fetch_all_but(self, partitions: Set[int]) -> None:
        before, others = self._not_fetched, self._others if self._is_ahead else ()
        self._not_fetched = frozenset(
            (one.topic, one.partition)
            for one in self._of_all_topics(self._partitions if others else partitions)
            if self._home(one.partition) in self._partitions
            and (one.topic in others or self._home(one.partition) in partitions)
        )
        if stopped := self._not_fetched - before:
            self._consumer.pause([TopicPartition(*at) for at in sorted(stopped)])
        if resumed := before - self._not_fetched:
            self._consumer.resume([TopicPartition(*at) for at in sorted(resumed)])

    def _fill(self, timeout: float, most: int) -> None:
        poll, accept = self._consumer.poll, self._accept
        self._polling = True
        try:
            message = poll(0) if self._buffered else self._first(timeout)
            while message is not None:
                accept(message)
                if not self._has_room(most):
                    self._is_ahead = bool(self._others)
                    return
                message = poll(0)
        except PartitionsChanged:
            return
        finally:
            self._polling = False

    def _first(self, timeout: float) -> Any:
        until = clock.steady() + timeout
        while (message := self._consumer.poll(min(MAX_WAIT, timeout))) is None:
            if (timeout := until - clock.steady()) <= 0:
                return None
        return message

    def _accept(self, message: Any) -> None:
        if error := message.error():
            self._errors.raise_if_lasting(error)
            return
        one = record_of(message, self._names[message.topic()])
        if self._home(one.partition) not in self._partitions:
            return
        at = one.topic, one.partition
        position = self._positions.get(at)
        if position is None:
            position = self._positions[at] = ReadOffsets(one.offset)
        if one.offset not in (position.next, position.jumped_to):
            self._go_back(at, position, one.offset)
            return
        position.next = one.offset + 1
        self._trimmer.note(one)
        self._buffered.append(one)
        self._bytes += one.size

    def _go_back(self, at: At, position: ReadOffsets, found: int) -> None:
        """Seek back to `position.next` after the client continued at *found*.

        If the client continues at *found* again, no record is missing: the skipped offsets are
        markers of a producer's transactions.
        """
        self._check({at: position})
        position.jumped_to = found
        logger.info(
            "skipped offsets of a partition: going back to them",
            topic=at[0],
            partition=at[1],
            first=position.next,
            end=found,
        )
        self._seek(at, position.next)

    def _seek(self, at: At, offset: int) -> None:
        place = TopicPartition(self._settings.prefix + at[0], at[1], offset)
        try:
            self._consumer.seek(place)
        except KafkaException as failure:
            if (error := error_of(failure)).code() != KafkaError._STATE:
                raise self._errors.translate_error(error) from failure
            # The client does not fetch the partition. If its broker was killed just after the
            # assignment, the client waits for the committed offset for ever.
            self._consumer.incremental_unassign([place])
            self._consumer.incremental_assign([place])

    def _of_all_topics(self, partitions: Iterable[int]) -> list[TopicPartition]:
        chosen = frozenset(partitions)
        return [
            TopicPartition(name, number)
            for name, count in self._counts.items()
            for number in range(count)
            if self._home(number) in chosen
        ]

    def _home(self, number: int) -> int:
        """Return the partition of the subscribed topic that determines the owner of partition
        *number*."""
        return number % self._shared

    def _on_assign(self, _: Any, fresh: list[TopicPartition]) -> None:
        numbers = frozenset(one.partition for one in fresh)
        # Without an offset, the client starts at the committed one.
        self._consumer.incremental_assign(self._of_all_topics(numbers))
        # A partition that was paused when it was revoked may still be paused in the client.
        self._consumer.resume(self._of_all_topics(numbers))
        self._change(self._partitions | numbers)

    def _on_revoke(self, _: Any, gone: list[TopicPartition]) -> None:
        numbers = frozenset(one.partition for one in gone)
        self._consumer.incremental_unassign(self._of_all_topics(numbers))
        self._change(self._partitions - numbers)

    def _change(self, partitions: frozenset[int]) -> None:
        fresh, self._partitions = partitions - self._partitions, partitions
        self._unchecked = (self._unchecked | fresh) & partitions
        if fresh and len(self._names) > 1:
            self._confirm_at = clock.steady()
        self._not_fetched = frozenset(
            at for at in self._not_fetched if self._home(at[1]) in partitions
        )
        self._paused_records = [
            one for one in self._paused_records if self._home(one.partition) in partitions
        ]
        self._buffer([one for one in self._buffered if self._home(one.partition) in partitions])
        self._positions = {
            at: p for at, p in self._positions.items() if self._home(at[1]) in partitions
        }
        if self._polling:
            raise PartitionsChanged

    def _buffer(self, held: list[Record]) -> None:
        self._buffered, self._bytes = held, sum(one.size for one in held)

    def _check(self, positions: Mapping[At, ReadOffsets]) -> dict[At, int]:
        """Return the end offsets of the partitions of *positions*. Raise Gap if records are
        missing."""
        prefix = self._settings.prefix
        ends = self._gaps.check({(prefix + at[0], at[1]): p.next for at, p in positions.items()})
        return {(self._names[name], number): end for (name, number), end in ends.items()}

    def _check_all(self) -> None:
        """Detect gaps, and seek again in partitions without progress since the last check."""
        self._check_at = clock.steady() + CHECK_INTERVAL
        ends = self._check(self._positions)
        behind = {
            at: position.next
            for at, position in self._positions.items()
            if position.next < ends[at]
            and (self._settings.prefix + at[0], at[1]) not in self._not_fetched
        }
        for at, offset in behind.items() & self._behind.items():
            self._seek(at, offset)
        self._behind = behind

    def _check_committed(self) -> None:
        """Check newly assigned partitions for gaps, and start their positions at the committed
        offsets, before any of their records is returned."""
        first_offsets = self._gaps.start_offsets(self._of_all_topics(self._unchecked))
        self._unchecked = frozenset()
        for (name, number), offset in first_offsets.items():
            self._positions.setdefault((self._names[name], number), ReadOffsets(offset))

    def _read_again(self) -> None:
        """Drop all records that were fetched, and read from the committed offsets on.

        A rebalance may leave its partitions to a member whose commit it has refused. Nobody else
        would read what this reader holds.
        """
        self._paused_records = []
        self._buffer([])
        self._unchecked = self._partitions
        self._check_committed()
        for at, position in self._positions.items():
            self._seek(at, position.next)
        self._is_outdated = False

    def _confirm_positions(self) -> None:
        self._confirm_at = clock.steady() + RECOMMIT_INTERVAL
        try:
            partitions = self._of_all_topics(self._partitions)
            committed = self._consumer.committed(partitions, self._settings.timeout)
            if offsets := [one for one in committed if one.offset >= 0]:
                self._consumer.commit(offsets=offsets)
        except KafkaException as failure:
            logger.info("committed offsets cannot be renewed now", reason=error_of(failure).str())

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        """Flush the store's writes, append *messages*, and commit past *records*, in this order."""
        self._store.flush()
        self._log.append(messages)
        ends: dict[At, int] = {}
        for one in records:
            at = one.topic, one.partition
            position = self._positions.get(at)
            # Not committed: records that were read before the partition was lost and reassigned.
            if position and position.began <= one.offset < position.next:
                ends[at] = max(ends.get(at, position.passed), one.offset + 1)
        ends = {at: end for at, end in ends.items() if end > self._positions[at].passed}
        if ends and not self._commit(ends):
            self._is_outdated = True
            self._positions.clear()
            logger.info(
                "refused commit: reading the partitions again",
                partitions=sorted(self._partitions),
            )
            return False
        for at, end in ends.items():
            self._positions[at].passed = end
        return True

    def _commit(self, ends: dict[At, int]) -> bool:
        prefix = self._settings.prefix
        offsets = [
            TopicPartition(prefix + topic, number, end) for (topic, number), end in ends.items()
        ]
        until = clock.steady() + self._settings.timeout
        stale = 0
        while error := self._refusal(offsets):
            stale += error.code() == KafkaError.ILLEGAL_GENERATION
            if error.code() in FENCED_ERRORS or stale > MAX_STALE_COMMITS:
                return False
            failure = self._errors.translate_error(error)
            if not (stale or isinstance(failure, Unavailable)) or clock.steady() > until:
                raise failure
            clock.pause(COMMIT_RETRY_PAUSE)
        return True

    def _refusal(self, offsets: list[TopicPartition]) -> KafkaError | None:
        # A group without members would accept the commit of a fenced member.
        if self._consumer.memberid() is None:
            return KafkaError(KafkaError.UNKNOWN_MEMBER_ID)
        try:
            answers = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as failure:
            return error_of(failure)
        return next((answer.error for answer in answers if answer.error), None)

    def close(self) -> None:
        """Leave the group. The group waits for a static member until its session times out."""
        if not self._closed:
            self._closed = True
            self._passing.close()
            self._consumer.close()
            self._trimmer.close()
