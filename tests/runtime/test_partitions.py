"""The life of a partition follows the table of transitions."""

from collections import Counter
from itertools import product

from gossamer.events.topics import SEEDS
from gossamer.log import Message, Record
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.partitions import (
    STATE_MEANINGS,
    TRANSITIONS,
    Cause,
    Partitions,
    PartitionState,
)

GROUP, ONE = "dedup", frozenset({0})
STEPS = {
    Cause.ASSIGNED: lambda partitions: partitions.assign(ONE),
    Cause.RESTORED: lambda partitions: partitions.begin_catching_up(),
    Cause.CAUGHT_UP: lambda partitions: partitions.pop_caught_up(),
    Cause.MUST_CATCH_UP: lambda partitions: partitions.catch_up(),
    Cause.WENT_BACK: lambda partitions: partitions.go_back(),
    Cause.REVOKED: lambda partitions: partitions.assign(frozenset()),
}


def test_transition_table_is_deterministic_and_described() -> None:
    changes = Counter((row.before, row.cause) for row in TRANSITIONS)
    assert set(changes.values()) == {1}
    assert {row.cause for row in TRANSITIONS} == set(Cause) == set(STEPS)
    assert set(STATE_MEANINGS) == set(PartitionState) == {row.after for row in TRANSITIONS}


def test_calls_make_only_transitions_of_the_table(log: SqliteLog) -> None:
    for causes in product(Cause, repeat=4):
        partitions = Partitions(log, GROUP, (SEEDS,))
        for cause in causes:
            STEPS[cause](partitions)


def test_partition_serves_after_handling_all_earlier_records(log: SqliteLog) -> None:
    log.append([Message(SEEDS.name, "", b"x", "", partition=0)] * 2)
    partitions = Partitions(log, GROUP, (SEEDS,))
    partitions.assign(frozenset({0, 1}))
    assert not partitions.pop_caught_up(), "nothing is restored"
    partitions.begin_catching_up()
    assert partitions.pop_caught_up() == {1}
    for offset in range(2):
        assert not partitions.pop_caught_up()
        partitions.count_handled(Record(SEEDS.name, 0, offset, "", b"x"))
    assert partitions.pop_caught_up() == {0}
    assert not partitions.pop_caught_up(), "it is reported once"
    partitions.catch_up()
    assert partitions.pop_caught_up() == {1}, "nobody has moved past the records of the other"
