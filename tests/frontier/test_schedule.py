"""The workbench's order: right whatever happens to a host, and no longer than there are hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.frontier.workbench import SPARE, Schedule
from tests.frontier.simulation import Simulation

changes = st.lists(
    st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), st.integers(0, 9))), max_size=300
)


@given(changes)
def test_the_first_is_the_least_of_those_that_are_there(
    changes: list[tuple[str, int | None]],
) -> None:
    schedule, model = Schedule(), dict[str, int]()
    for host, key in changes:
        if key is None:
            schedule.remove(host)
            model.pop(host, None)
        else:
            schedule.put(host, key)
            model[host] = key
        first, last = schedule.first(), schedule.one_of_the_last()
        assert first == min(((key, host) for host, key in model.items()), default=None)
        assert (last in model) if model else (last is None)
        assert schedule.size <= 2 * len(model) + SPARE + 1


@pytest.mark.slow
def test_memory_does_not_grow_with_the_urls_of_hosts_that_are_ready() -> None:
    sim = Simulation(checked_out_limit=1)
    sim.admit(*(f"http://h{n}.test/" for n in range(50)))
    sim.step()
    for n in range(1000):
        sim.admit(*(f"http://h{host}.test/{n}" for host in range(50)))
        sim.frontier.wake(sim.now)
    assert sim.loaded() == 50
    benches = [partition.bench for partition in sim.partitions]
    schedules = [one for b in benches for one in (b._ready, b._held, b._delayed, b._leases)]
    assert sum(schedule.size for schedule in schedules) <= len(schedules) * (100 + SPARE)
