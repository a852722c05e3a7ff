"""Members of a group on a real Kafka: joins, departures, crashes, freezes, and the owners of the
partitions afterwards."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from gossamer.errors import Unavailable
from gossamer.log import Message, Record
from gossamer.log.kafka.log import KafkaLog
from gossamer.settings.servers import KafkaSettings
from tests.support.waiting import until

from .kafka_broker import own_topics
from .kafka_member import TOPICS, At, Member, Nothing

ALL = frozenset(range(6))
Join = Callable[..., Member]


@pytest.fixture
def session() -> float:
    """Return the session timeout."""
    return 6.0


@pytest.fixture
def settings(kafka: str, session: float) -> KafkaSettings:
    """Return settings of empty topics with six partitions."""
    return own_topics(kafka, partitions=6, session=session)


@pytest.fixture
def group() -> str:
    """Return the name of a new group."""
    return f"group-{uuid4().hex[:8]}"


@pytest.fixture
def join(settings: KafkaSettings, group: str) -> Iterator[Join]:
    """Return a function with which a process joins the group, under a name or none."""
    members: list[Member] = []

    def join(name: str = "", how: str = "eager") -> Member:
        members.append(member := Member(settings, group, name, how))
        return member

    yield join
    for member in members:
        if member.process.poll() is None:
            member.end(signal.SIGKILL)


numbers = count()


def append(log: KafkaLog, many: int = 600) -> None:
    """Append to both topics, over all partitions."""
    places = [str(next(numbers)) for _ in range(many)]
    log.append(Message(topic, place, b"x", place) for place in places for topic in TOPICS)


def lag_of(log: KafkaLog, group: str) -> int:
    return sum(log.lag(group, topic) for topic in TOPICS)


def all_reported(log: KafkaLog, group: str, *members: Member) -> bool:
    """Return whether all is read and reported by the members."""
    committed = {at for member in members for at in member.moved}
    return lag_of(log, group) == 0 and len(committed) == log_length(log)


def share(*members: Member) -> bool:
    """Return whether each member has partitions, and each partition has one member."""
    held = [number for member in members for number in member.partitions]
    return sorted(held) == sorted(ALL) and all(member.partitions for member in members)


def is_at_rest(settings: KafkaSettings, group: str, *members: Member) -> bool:
    """Return whether the members share the partitions, and the group does not divide them again."""
    if not share(*members) or not all(member.is_complete for member in members):
        return False
    name = settings.prefix + group
    admin = AdminClient({"bootstrap.servers": settings.servers})
    found = admin.describe_consumer_groups([name])[name].result()
    return found.state is ConsumerGroupState.STABLE and len(found.members) == len(members)


def twice(*members: Member) -> set[At]:
    """Return the records that were committed twice, by two members or by one."""
    moved = [at for member in members for at in member.moved]
    return {at for at in moved if moved.count(at) > 1} if len(moved) > len(set(moved)) else set()


def apart(*members: Member) -> bool:
    """Return whether every member has the same partition numbers in both topics."""
    return all(
        {p for topic, p, _ in member.moved if topic == TOPICS[0]}
        == {p for topic, p, _ in member.moved if topic == TOPICS[1]}
        for member in members
    )


@pytest.mark.slow
def test_partitions_are_shared_and_reassigned(log: KafkaLog, group: str, join: Join) -> None:
    append(log)
    first = join()
    until(lambda: first.partitions == ALL and all_reported(log, group, first), "one has everything")
    second, third = join(), join()
    until(lambda: share(first, second, third), "three share")
    append(log)
    everybody = [first, second, third]
    until(lambda: all_reported(log, group, *everybody), "all is read")
    assert second.moved and third.moved and apart(first, second, third)
    assert second.end() == 0
    until(lambda: share(first, third), "two members share the partitions of the third")
    append(log)
    until(lambda: all_reported(log, group, *everybody), "all is read")
    third.end(signal.SIGKILL)
    append(log)
    until(lambda: first.partitions == ALL, "the killed one is replaced")
    until(lambda: all_reported(log, group, *everybody), "all is read")
    # A killed member may have read records without a commit; nothing else is read twice.
    assert not twice(*everybody)


def _has(member: Member, partitions: frozenset[int]) -> bool:
    return member.partitions == partitions


def log_length(log: KafkaLog) -> int:
    return lag_of(log, "a group that nobody is in")


@pytest.mark.long
@pytest.mark.parametrize("session", [KafkaSettings().session])
def test_member_that_rejoins_under_its_name_causes_no_rebalance(
    log: KafkaLog, group: str, join: Join
) -> None:
    first, second = join("one"), join("two")
    until(lambda: share(first, second), "two share")
    had, changes = second.partitions, first.changes
    for how in (signal.SIGKILL, signal.SIGTERM):
        second.end(how)
        second = join("two")
        until(partial(_has, second, had), "the member has its partitions again")
    append(log)
    until(lambda: lag_of(log, group) == 0, "all is read")
    assert first.changes == changes, "the other noticed"


@pytest.mark.slow
@pytest.mark.parametrize("session", [KafkaSettings().session])
def test_members_that_start_together_commit_while_they_join(
    log: KafkaLog, group: str, join: Join
) -> None:
    members = join("one", "busy"), join("two", "busy")
    while not all(member.is_complete for member in members):
        append(log, 12)
    until(lambda: lag_of(log, group) == 0, "all is read")
    assert not [what for member in members for what in member.reports if "reopened" in what]


@pytest.mark.long
@pytest.mark.parametrize("session", [30.0])
def test_partitions_of_a_member_that_ends_during_a_rebalance_get_an_owner(
    log: KafkaLog, group: str, join: Join
) -> None:
    first = join("one", "brief")
    until(lambda: first.partitions == ALL, "one has everything")
    second = join("two")
    assert first.process.wait(60) == 0
    first.end()
    first = join("one")
    until(lambda: share(first, second), "two share", 60)


@pytest.mark.long
def test_frozen_member_is_evicted_and_rejoins(
    log: KafkaLog, settings: KafkaSettings, group: str, join: Join
) -> None:
    sleeper, other = join("one", "late"), join("two")
    until(lambda: is_at_rest(settings, group, sleeper, other), "two share")
    append(log)
    until(lambda: any("holds" in what for what in sleeper.reports), "the member has read records")
    sleeper.send(signal.SIGSTOP)
    until(
        lambda: other.partitions == ALL and lag_of(log, group) == 0, "the other has and reads all"
    )
    sleeper.send(signal.SIGUSR1)
    sleeper.send(signal.SIGCONT)
    until(lambda: sleeper.was_fenced, "the member has lost its partitions")
    assert lag_of(log, group) == 0, "wound back"
    woken = 1

    def share_again() -> bool:
        # Until it notices its loss, it may get records that its client had fetched before.
        nonlocal woken
        if (held := sum("holds" in what for what in sleeper.reports)) > woken:
            woken = held
            sleeper.send(signal.SIGUSR1)
        return share(sleeper, other)

    until(share_again, "two members share the partitions")
    append(log)
    until(lambda: any("holds" in what for what in sleeper.reports[-1:]), "the member reads again")
    sleeper.send(signal.SIGUSR1)
    until(lambda: bool(sleeper.moved), "the member commits again")
    assert not {*sleeper.moved} & {*other.moved}


@pytest.mark.slow
def test_member_that_is_frozen_while_it_joins_shares_the_partitions_soon_afterwards(
    join: Join,
) -> None:
    """Its passing member stays in the group, which would wait for it for five minutes."""
    other = join("two")
    until(lambda: other.partitions == ALL and other.is_complete, "one has everything")
    sleeper = join("one", "passing")
    until(lambda: is_stopped(sleeper), "it is stopped")
    until(lambda: other.partitions == ALL, "the other has everything")
    sleeper.send(signal.SIGCONT)
    until(lambda: share(sleeper, other), "two share", 60)


def is_stopped(member: Member) -> bool:
    """Return whether the process of *member* is stopped by a signal."""
    status = Path(f"/proc/{member.process.pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0] == "T"


def test_records_held_during_a_rebalance_are_read_by_the_next_owner(
    log: KafkaLog, settings: KafkaSettings, group: str
) -> None:
    append(log, 50)
    total = log_length(log)
    old = log.reader(group, TOPICS, Nothing())  # type: ignore[arg-type]
    batch: list[Record] = []
    while len(batch) < total:
        batch += old.poll(1.0)
    new = log.reader(group, TOPICS, Nothing())  # type: ignore[arg-type]
    found: list[Record] = []
    while not (old.partitions and new.partitions and old.partitions | new.partitions == ALL):
        assert not old.poll(0.05)
        found += new.poll(0.05)
    of_new_owner = [one for one in batch if one.partition in new.partitions]
    while len(found) < len(of_new_owner):
        found += new.poll(1.0)
    assert sorted(found, key=repr) == sorted(of_new_owner, key=repr), "from the last advance on"
    assert new.advance(found[: len(found) // 2], ())
    before = lag_of(log, group)
    assert old.advance(of_new_owner, ())
    assert lag_of(log, group) == before, "neither skipped nor wound back"
    assert old.advance(batch, ())
    assert lag_of(log, group) == len(found) - len(found) // 2
    old.close()
    again: list[Record] = []
    while new.partitions != ALL:
        again += new.poll(0.1)
    assert not again, "a member that keeps its partition receives no record twice"
    assert new.advance(found, ())
    assert lag_of(log, group) == 0


def test_member_whose_commit_was_refused_reads_again_what_it_had_fetched(
    log: KafkaLog, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During a rebalance librdkafka keeps the partitions of a member with an old generation."""
    append(log)
    total = log_length(log)
    reader = log.reader(group, TOPICS, Nothing())  # type: ignore[arg-type]
    found: list[Record] = []
    while len(found) < 20:
        found += reader.poll(1.0, 10)
    with monkeypatch.context() as refused:
        error = KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))
        refused.setattr(reader, "_consumer", Refusing(reader._consumer, error))
        assert not reader.advance(found, ())
    assert lag_of(log, group) == total
    again: list[Record] = []
    while len(again) < total:
        again += reader.poll(1.0)
    assert sorted({*again}, key=repr) == sorted(again, key=repr), "each record once"
    assert reader.advance(again, ())
    assert lag_of(log, group) == 0


class Refusing:
    """A client whose commits fail with *error*."""

    def __init__(self, consumer: Any, error: KafkaException) -> None:
        self._consumer, self._error = consumer, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def commit(self, **_: Any) -> None:
        raise self._error


@pytest.mark.long
def test_member_without_capacity_stays_in_the_group_with_bounded_memory(
    log: KafkaLog, group: str, join: Join
) -> None:
    for start in range(0, 400, 20):
        log.append(Message(TOPICS[0], "k", os.urandom(500_000), str(start + i)) for i in range(20))
    idle = join("idle", "full")
    until(lambda: idle.partitions == ALL, "the member has joined")
    until(lambda: "polls" in idle.reports[-1], "the member has no more capacity")
    full = join("full", "full")
    until(lambda: share(full, idle), "one hands over to the other, though neither reads")
    idle.end()
    until(lambda: full.partitions == ALL, "all partitions are reassigned")
    full.end()
    assert not full.moved
    assert full.reports[-1]["peak"] < 150 << 20, "200 MB wait on the log"


@pytest.mark.slow
def test_member_with_a_used_name_is_fenced_with_an_error(
    settings: KafkaSettings, log: KafkaLog, group: str
) -> None:
    old = KafkaLog(settings, "one")
    first = old.reader(group, TOPICS, Nothing())  # type: ignore[arg-type]
    until(
        lambda: first.poll(0.1) is not None and first.partitions == ALL,
        "the member has all partitions",
    )
    new = KafkaLog(settings, "one")
    second = new.reader(group, TOPICS, Nothing())  # type: ignore[arg-type]
    until(
        lambda: second.poll(0.1) is not None and second.partitions == ALL,
        "the other member has all partitions",
    )

    def was_fenced() -> bool:
        try:
            first.poll(0.1)
        except Unavailable as error:
            return "service.instance" in str(error)
        return False

    until(was_fenced, "the first member is fenced")
    old.close()
    new.close()
