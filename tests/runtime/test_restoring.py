"""While the state of a partition is restored, its records wait, and those of others are handled."""

import pytest

from gossamer.events import FleetQuiesced
from gossamer.events.topics import SEEDS
from gossamer.log import Message
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.checkpoints import CheckpointRow
from gossamer.runtime.loop import Loop
from gossamer.runtime.sequential import sequential_loop
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from tests.runtime.processors import Discoverer
from tests.support.partial_member import PartialMember

A, B = 0, 1


class Restoring(Discoverer):
    """Restores the partitions that the test names, until the test names fewer."""

    awaits = (SEEDS,)

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.incomplete = frozenset[int]()
        self.assigned = frozenset[int]()
        self.fails_at = ""

    def assign(self, partitions: frozenset[int], now: float) -> None:
        self.assigned = partitions

    def restore(self) -> frozenset[int]:
        return self.incomplete & self.assigned

    def finish_catching_up(self, partitions: frozenset[int], now: float) -> None:
        self.calls.append(f"caught up {sorted(partitions)}")

    def restart(self, partitions: frozenset[int], now: float) -> None:
        self.calls.append("restart")

    @property
    def handled(self) -> list[str]:
        return [call.removeprefix("seed ") for call in self.calls if call.startswith("seed ")]


def append(log: SqliteLog, partition: int, *urls: str) -> None:
    log.append(Message(SEEDS.name, "k", url.encode(), url, partition=partition) for url in urls)


@pytest.fixture
def processor(store: SqliteStore) -> Restoring:
    return Restoring(store)


@pytest.fixture
def member(log: SqliteLog) -> PartialMember:
    return PartialMember(log, {A, B})


@pytest.fixture
def runner(processor: Restoring, member: PartialMember, store: SqliteStore) -> Loop:
    return sequential_loop(processor, member, store, lambda: 100.0)


def test_other_partitions_are_handled_meanwhile(
    runner: Loop, processor: Restoring, log: SqliteLog
) -> None:
    processor.incomplete = frozenset({B})
    append(log, A, "a1")
    append(log, B, "b1", "b2")
    assert runner.step() and processor.handled == ["a1"]
    append(log, A, "a2")
    assert runner.step() and processor.handled == ["a1", "a2"]
    assert log.lag_by_partition("dedup", SEEDS.name) == {A: 0, B: 2}
    assert runner.step(), "the next step is due at once, although no record was handled"
    append(log, B, "b3")
    processor.incomplete = frozenset()
    while runner.step():
        pass
    assert processor.handled == ["a1", "a2", "b1", "b2", "b3"]
    assert log.lag("dedup", SEEDS.name) == 0


def test_records_of_a_partition_gained_in_the_same_poll_wait(
    runner: Loop, processor: Restoring, member: PartialMember, log: SqliteLog
) -> None:
    processor.incomplete = frozenset({B})
    member.numbers = {A}
    runner.step()
    append(log, A, "a1")
    append(log, B, "b1", "b2")
    member.gain_in_poll({A, B})
    for _ in range(3):
        runner.step()
        assert processor.handled == ["a1"]
    append(log, B, "b3")
    for number in range(600):
        append(log, A, f"a{number}")
    for _ in range(10):
        runner.step()
    assert len(processor.handled) == 601, "records that wait take no room"
    processor.incomplete = frozenset()
    while runner.step():
        pass
    assert processor.handled[601:] == ["b1", "b2", "b3"], "in their order, each of them once"


def test_partition_lost_while_it_is_restored_is_left_to_its_next_owner(
    runner: Loop, processor: Restoring, member: PartialMember, log: SqliteLog
) -> None:
    processor.incomplete = frozenset({B})
    append(log, B, "b1")
    runner.step()
    member.numbers = {A}
    append(log, A, "a1")
    runner.step()
    assert processor.handled == ["a1"]
    assert not runner.step(), "nothing is restored any more"
    assert log.lag_by_partition("dedup", SEEDS.name)[B] == 1
    member.numbers, processor.incomplete = {A, B}, frozenset()
    while runner.step():
        pass
    assert processor.handled == ["a1", "b1"]


def test_each_partition_catches_up_by_itself(
    runner: Loop, processor: Restoring, log: SqliteLog
) -> None:
    processor.incomplete = frozenset({B})
    runner.step()
    processor.incomplete = frozenset()
    runner.step()
    caught_up = [call for call in processor.calls if call.startswith("caught up")]
    assert caught_up == [f"caught up [{A}]", f"caught up [{B}]"]


def test_fleet_is_quiesced_while_a_partition_is_restored(
    runner: Loop, processor: Restoring, store: SqliteStore, log: SqliteLog
) -> None:
    processor.incomplete = frozenset({B})
    runner.step()
    log.append([encode(FleetQuiesced(at=0.0, id="s", until=float(1 << 40)))])
    runner.step()
    rows = store.table(CheckpointRow).get_all([(("dedup", str(n)), "") for n in (A, B)])
    assert {row.quiesced for row in rows} == {"s"}
    append(log, A, "a1")
    runner.step()
    assert not processor.handled
