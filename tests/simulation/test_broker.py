"""The simulated coordinator answers requests to join when all members have sent one."""

from collections.abc import Iterator
from typing import Any

import pytest

from gossamer.events.topics import CONTROL, VISITS_ENDED
from tests.simulation.broker import Broker, Group
from tests.simulation.clients import SimConsumer
from tests.simulation.kernel import Process, Sim

SESSION, LONGEST_POLL = 6.0, 60.0
POLL = 0.05
"""Seconds of one poll of a member."""


class SimMember:
    """A process with a consumer that polls until it is told to stop."""

    def __init__(self, broker: Broker, name: str, topic: str = VISITS_ENDED.name) -> None:
        self.process = Process(broker.sim, name)
        self.partitions: set[int] = set()
        self.polls = True
        self._broker, self._name, self._topic = broker, name, topic
        self.process.spawn(self._work)

    def _work(self) -> None:
        static = {} if self._topic == CONTROL.name else {"group.instance.id": self._name}
        self.consumer = SimConsumer(self._broker, {"group.id": "group", **static})
        self.consumer.subscribe([self._topic], self._take, self._give)
        while True:
            if self.polls:
                self.consumer.poll(POLL)
            else:
                self._broker.sim.wait(POLL)

    def _take(self, _: object, fresh: list[Any]) -> None:
        self.partitions |= {one.partition for one in fresh}

    def _give(self, _: object, gone: list[Any]) -> None:
        self.partitions -= {one.partition for one in gone}


@pytest.fixture
def broker() -> Iterator[Broker]:
    sim = Sim(1)
    yield Broker(sim, 4, SESSION, LONGEST_POLL)
    for strand in [one for one in sim.graveyard if hasattr(one, "process")]:
        strand.process.kill()
    sim.run(sim.now)


def pass_time(broker: Broker, seconds: float) -> None:
    broker.sim.run(broker.sim.now + seconds)


def last_rebalance(group: Group) -> float:
    """Return the seconds of the last rebalance."""
    began, end = group.rebalances[-1]
    return end - began


def test_new_member_has_no_id_until_the_others_have_joined_again(broker: Broker) -> None:
    one = SimMember(broker, "one")
    pass_time(broker, 3.0)
    assert one.partitions == {0, 1, 2, 3}
    one.process.freeze(4.0)
    other = SimMember(broker, "two")
    pass_time(broker, 3.0)
    assert other.consumer.memberid() is None and not other.partitions
    pass_time(broker, 5.0)
    assert other.consumer.memberid()
    assert (len(one.partitions), len(other.partitions)) == (2, 2)


def test_rebalance_goes_on_without_a_dead_member_after_its_session(broker: Broker) -> None:
    one, other = SimMember(broker, "one"), SimMember(broker, "two")
    pass_time(broker, 5.0)
    one.process.kill()
    third = SimMember(broker, "three")
    pass_time(broker, SESSION / 2)
    assert third.consumer.memberid() is None
    pass_time(broker, SESSION + 3.0)
    assert len(third.partitions) == len(other.partitions) == 2


def test_static_member_that_restarts_keeps_its_partitions_without_a_rebalance(
    broker: Broker,
) -> None:
    one, _ = SimMember(broker, "one"), SimMember(broker, "two")
    pass_time(broker, 5.0)
    group = broker.group("group")
    before = len(group.rebalances)
    one.process.kill()
    again = SimMember(broker, "one")
    pass_time(broker, 1.0)
    assert again.partitions == one.partitions and len(group.rebalances) == before


def test_static_member_that_restarts_during_a_rebalance_waits_for_its_end(broker: Broker) -> None:
    one, other = SimMember(broker, "one"), SimMember(broker, "two")
    pass_time(broker, 5.0)
    one.process.kill()
    other.process.freeze(4.0)
    SimMember(broker, "passing", CONTROL.name)
    pass_time(broker, 1.0)
    again = SimMember(broker, "one")
    pass_time(broker, 1.0)
    assert again.consumer.memberid() is None
    pass_time(broker, 5.0)
    assert again.consumer.memberid() and len(again.partitions) == 2


def test_member_with_an_unserved_callback_delays_a_rebalance_until_the_timeout(
    broker: Broker,
) -> None:
    passing = SimMember(broker, "passing", CONTROL.name)
    pass_time(broker, 0.05)
    passing.polls = False
    pass_time(broker, 4.0)
    other = SimMember(broker, "two")
    pass_time(broker, LONGEST_POLL / 2)
    assert other.consumer.memberid() is None
    pass_time(broker, LONGEST_POLL)
    assert other.partitions == {0, 1, 2, 3}
    assert last_rebalance(broker.group("group")) > LONGEST_POLL / 2


def test_request_to_join_of_a_frozen_process_keeps_its_place(broker: Broker) -> None:
    """The broker learns of the process only when its session begins."""
    one = SimMember(broker, "one")
    pass_time(broker, 3.0)
    one.process.freeze(SESSION + 4.0)
    passing = SimMember(broker, "passing", CONTROL.name)
    pass_time(broker, 0.1)
    passing.process.freeze(SESSION + 4.0)
    pass_time(broker, SESSION + 3.0)
    members = broker.group("group").members.values()
    assert [one.consumer for one in members] == [passing.consumer]
