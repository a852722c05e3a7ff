"""Kafka, simulated: topics, groups and their coordinators. Its clients are in `clients.py`.

It has partitions with offsets, and groups with generations, cooperative rebalances that wait for
all members, static members, session timeouts and a maximum poll interval.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException

from gossamer.events.topics import CONTROL, TOPICS, VISITS_ENDED
from tests.simulation.kernel import Process, Sim

At = tuple[str, int]
"""Topic and partition."""
Headers = tuple[tuple[str, bytes], ...]
HEARTBEAT_INTERVAL = 1.0


class Client(Protocol):
    """A consumer, as its coordinator sees it."""

    process: Process
    polled_at: float
    closed: bool

    def tell(self, kind: str, partitions: set[int]) -> None:
        """Receive a message of the coordinator with the next poll."""

    def fence(self) -> None:
        """Be fenced by a consumer with the same instance id."""

    def hear(self, at: At) -> None:
        """Learn that a record was appended while the consumer waits in a poll."""

    def can_rejoin(self) -> bool:
        """Return whether the client requests to join again when it learns of a rebalance."""


@dataclass
class Member:
    """A member of a group, as its coordinator sees it."""

    consumer: Client
    instance: str
    shares: bool = True
    """Whether it subscribes to the topic whose partitions the group divides."""
    owned: set[int] = field(default_factory=set)
    target: set[int] = field(default_factory=set)
    seen: float = 0.0
    is_admitted: bool = False
    """Whether its first request to join was answered. It has no member id before."""
    is_waiting: bool = False
    """Whether its request to join waits for those of the other members."""


class Group:
    """A group and its coordinator.

    The coordinator answers the requests to join when all members have sent one. It learns nothing
    of a process that stops while its request waits.
    """

    def __init__(self, broker: "Broker", name: str) -> None:
        self._broker, self._sim, self.name = broker, broker.sim, name
        self.members: dict[str, Member] = {}
        self.offsets: dict[At, int] = {}
        self.generation = 0
        self.refuses_until = 0.0
        """Time until which members commit with an outdated generation."""
        self.rebalances: list[tuple[float, float]] = []
        """Start and end of each rebalance; the end of a running one is infinite."""
        self._numbers = count(1)

    def join(self, consumer: Client, instance: str, shares: bool = True) -> str:
        """Add a consumer, which waits for all other members to join again.

        Outside of a rebalance, it replaces a consumer with the same instance id at once, and gets
        what that consumer had in the current generation.
        """
        name = f"{self.name}-{next(self._numbers)}"
        member = Member(consumer, instance, shares, seen=self._sim.now)
        for old_name, old in list(self.members.items()):
            if instance and old.instance == instance:
                del self.members[old_name]
                old.consumer.fence()
                if not self._is_rebalancing:
                    self.members[name] = member
                    member.is_admitted = True
                    member.target, member.owned = set(old.target), old.owned & old.target
                    consumer.tell("assign", member.owned)
                    return name
        member.is_waiting = True
        self.members[name] = member
        self._rebalance()
        if not shares and self._broker.at_passing:
            self._broker.at_passing(consumer.process)
        return name

    def leave(self, name: str) -> None:
        """Remove a member."""
        if self.members.pop(name, None):
            self._rebalance()

    def check(self, session: float) -> None:
        """Evict members without a heartbeat for a session, or without a poll for too long.

        The longest time without a poll is the rebalance timeout, too: a running member that does
        not join again does not poll.
        """
        for name, member in list(self.members.items()):
            process = member.consumer.process
            is_away = process.dead or process.frozen or process.cut_off or member.consumer.closed
            # A session does not end while a request to join waits.
            if member.is_waiting or not is_away:
                member.seen = self._sim.now
            # A closed consumer has lost Kafka: its process waits, and is not stuck.
            silent = self._sim.now - member.consumer.polled_at
            slow = silent > self._broker.longest_poll and not member.consumer.closed
            if self._sim.now - member.seen > session or slow:
                if slow and not (process.dead or process.frozen):
                    self._broker.evicted.append(f"{process.name} from {self.name}")
                del self.members[name]
                self._rebalance()

    @property
    def _is_rebalancing(self) -> bool:
        return bool(self.rebalances) and self.rebalances[-1][1] == inf

    def _rebalance(self) -> None:
        """Begin a rebalance, unless one is running: each member learns of it with a heartbeat."""
        if not self._is_rebalancing:
            self.rebalances.append((self._sim.now, inf))
            for name in self.members:
                self._sim.later(self._sim.between(0.1, 1.0), self._rejoin, name, self.generation)
        self._sim.later(self._sim.between(0.1, 1.0), self._complete, self.generation)

    def _rejoin(self, name: str, generation: int) -> None:
        member = self.members.get(name)
        if member is None or member.is_waiting or generation != self.generation:
            return
        if member.consumer.can_rejoin():
            member.is_waiting = True
            self._complete(generation)
        else:
            self._sim.later(HEARTBEAT_INTERVAL, self._rejoin, name, generation)

    def _complete(self, generation: int) -> None:
        """End the rebalance of *generation* and answer all requests, if no member is missing."""
        if generation != self.generation or not self._is_rebalancing:
            return
        if all(member.is_waiting for member in self.members.values()):
            self.rebalances[-1] = self.rebalances[-1][0], self._sim.now
            self.generation += 1
            self._balance()
            self._answer()

    def _balance(self) -> None:
        """Balance the partitions, and revoke as few as possible."""
        partitions = range(self._broker.partitions)
        names = sorted(name for name, member in self.members.items() if member.shares)
        if not names:
            return
        most, rest = divmod(len(partitions), len(names))
        kept: set[int] = set()
        for index, name in enumerate(names):
            member = self.members[name]
            room = most + (index < rest)
            member.target = set(sorted(member.owned - kept)[:room])
            kept |= member.target
        free = [number for number in partitions if number not in kept]
        for index, name in enumerate(names):
            member = self.members[name]
            while free and len(member.target) < most + (index < rest):
                member.target.add(free.pop())

    def _answer(self) -> None:
        if self._broker.refuses_commits:
            self.refuses_until = self._sim.now + self._sim.between(0.1, 1.5)
        owned = set[int]().union(*(member.owned for member in self.members.values()))
        for member in self.members.values():
            member.is_waiting, member.is_admitted, member.seen = False, True, self._sim.now
            if surplus := member.owned - member.target:
                member.consumer.tell("revoke", surplus)
                continue
            fresh = (member.target - member.owned) - owned
            member.owned |= fresh
            owned |= fresh
            member.consumer.tell("assign", fresh)

    def confirm_revocation(self, name: str, partitions: set[int]) -> None:
        """Learn that a member has released *partitions*. It joins again, so that others get
        them."""
        if member := self.members.get(name):
            member.owned -= partitions
            self._rebalance()


@dataclass(frozen=True)
class Backup:
    """The data on the disks of a broker."""

    logs: dict[At, list[tuple[bytes | None, bytes | None]]]
    appended_at: dict[At, list[float]]
    headers: dict[At, list[Headers]]
    starts: dict[At, int]
    offsets: dict[str, dict[At, int]]
    """Committed offsets by group."""


class Broker:
    """The topics and groups of a cluster, which may be *away* for a while."""

    def __init__(self, sim: Sim, partitions: int, session: float, longest_poll: float) -> None:
        self.sim, self.partitions, self.longest_poll = sim, partitions, longest_poll
        self._session = session
        self.away = False
        self.refuses_commits = False
        """Whether commits are refused for a time after each rebalance. librdkafka then neither
        joins again nor loses its partitions, if it takes part in the rebalance."""
        self.slow = 1.0
        """The factor by which every request takes longer."""
        self.fetched = sim.random.choice([2, 20, 100])
        """The maximum number of records of a partition in one fetch response."""
        self.skip_probability = 0.0
        """The probability that a client of a group skips a record that it has fetched."""
        self.evicted: list[str] = []
        """The members that were evicted because they did not poll, although nothing prevented
        it."""
        counts = {name: 1 if name == CONTROL.name else partitions for name in TOPICS}
        self.logs: dict[At, list[tuple[bytes | None, bytes | None]]] = {
            (name, number): [] for name, most in counts.items() for number in range(most)
        }
        self.counts = counts
        self.appended_at: dict[At, list[float]] = defaultdict(list)
        self.headers: dict[At, list[Headers]] = defaultdict(list)
        """The headers of each record."""
        self.starts: dict[At, int] = defaultdict(int)
        """The first offset of each partition after records were deleted."""
        self.delivered: dict[tuple[str, At], set[int]] = defaultdict(set)
        """The offsets that the members of each group have fetched."""
        self.groups: dict[str, Group] = {}
        self.on_append: list[Callable[[str, int, bytes | None], None]] = []
        self.at_send: Callable[[Process], None] | None = None
        """Called with each process that is about to send messages."""
        self.at_passing: Callable[[Process], None] | None = None
        """Called with each process whose passing member requests to join a group."""
        self.waiting: dict[Client, None] = {}
        """The consumers that wait in a poll, in the order in which they started to wait."""
        self._check()

    def topic(self, name: str, partitions: int) -> None:
        """Create a topic, or add partitions to one."""
        self.counts[name] = partitions
        if name == VISITS_ENDED.name:
            self.partitions = partitions
        for number in range(partitions):
            self.logs.setdefault((name, number), [])

    def back_up(self) -> Backup:
        """Return a copy of all records and committed offsets."""
        return Backup(
            {at: [*records] for at, records in self.logs.items()},
            {at: [*times] for at, times in self.appended_at.items()},
            {at: [*headers] for at, headers in self.headers.items()},
            dict(self.starts),
            {name: dict(group.offsets) for name, group in self.groups.items()},
        )

    def restore(self, backup: Backup) -> None:
        """Restore *backup*. No group has a member then."""
        self.logs = {at: [*records] for at, records in backup.logs.items()}
        self.appended_at = defaultdict(list, {at: [*t] for at, t in backup.appended_at.items()})
        self.headers = defaultdict(list, {at: [*all_of] for at, all_of in backup.headers.items()})
        self.starts = defaultdict(int, backup.starts)
        for name, group in self.groups.items():
            group.offsets = dict(backup.offsets.get(name, {}))

    def remove(self, name: str) -> None:
        """Delete a topic and the offsets that groups have committed for it."""
        for at in [(name, number) for number in range(self.counts.pop(name))]:
            del self.logs[at]
            self.starts.pop(at, None)
            self.appended_at.pop(at, None)
            self.headers.pop(at, None)
            for group in self.groups.values():
                group.offsets.pop(at, None)

    def group(self, name: str) -> Group:
        if name not in self.groups:
            self.groups[name] = Group(self, name)
        return self.groups[name]

    def unconsumed_offsets(self, group: str, at: At) -> list[int]:
        """Return the offsets that *group* can read and that none of its members has fetched."""
        offsets, delivered = self.group(group).offsets, self.delivered[group, at]
        readable = (
            range(max(offsets[at], self.starts[at]), len(self.logs[at])) if at in offsets else ()
        )
        return [offset for offset in readable if offset not in delivered]

    def has_consumed(self, group: str, topic: str) -> bool:
        """Return whether *group* has consumed all records of *topic*."""
        offsets = self.group(group).offsets
        return all(offsets.get(at, 0) >= len(self.logs[at]) for at in self.logs if at[0] == topic)

    def _check(self) -> None:
        if not self.away:
            for group in self.groups.values():
                group.check(self._session)
        self.sim.later(self._session / 4, self._check)

    def reachable(self, process: Process) -> bool:
        """Return whether *process* can reach the broker now."""
        return not self.away and not process.cut_off

    def answer(self, process: Process) -> None:
        """Take the time of a request and its response; raise KafkaException if there is no
        response."""
        self.sim.effect(self.sim.between(0.001, 0.01) * self.slow)
        if not self.reachable(process):
            self.sim.wait(1.0)
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def append(self, at: At, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
        """Add a record; return its offset."""
        log = self.logs[at]
        log.append((key, value))
        self.appended_at[at].append(self.sim.now)
        self.headers[at].append(headers)
        for hear in self.on_append:
            hear(at[0], at[1], value)
        for consumer in self.waiting:
            consumer.hear(at)
        return len(log) - 1
