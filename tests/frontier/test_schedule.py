"""The workbench's heaps: correct after any changes, and bounded by the number of hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.partition.workbench import MAX_STALE_ENTRIES, Schedule
from tests.frontier.simulation import Simulation

changes = st.lists(
    st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), st.integers(0, 9))), max_size=300
)


@given(changes)
def test_first_host_has_least_key(
    changes: list[tuple[str, int | None]],
) -> None:
    schedule, model = Schedule[str](), dict[str, int]()
    for host, key in changes:
        if key is None:
            schedule.remove(host)
            model.pop(host, None)
        else:
            schedule.put(host, key)
            model[host] = key
        first, last = schedule.first(), [*schedule.late_items()]
        assert first == min(((key, host) for host, key in model.items()), default=None)
        assert sorted(last) == sorted(model)
        assert schedule.size <= 2 * len(model) + MAX_STALE_ENTRIES + 1


@pytest.mark.long
def test_heaps_do_not_grow_with_urls_of_ready_hosts() -> None:
    sim = Simulation(checked_out_limit=1)
    sim.admit(*(f"http://h{n}.test/" for n in range(50)))
    sim.step()
    for n in range(1000):
        sim.admit(*(f"http://h{host}.test/{n}" for host in range(50)))
        sim.frontier.wake(sim.now)
    assert sim.loaded() == 50
    benches = [partition.bench for partition in sim.partitions]
    schedules = [one for b in benches for one in (b._ready, b._delayed, b._leases)]
    schedules += [one for b in benches for one in b._unloadable.values()]
    assert sum(schedule.size for schedule in schedules) <= len(schedules) * (
        100 + MAX_STALE_ENTRIES
    )
