"""A partition whose hosts stay checked out leaves the other partitions their slots."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.log import partition_of
from gossamer.services.frontier.choice.dispatch import check_slots
from gossamer.web.url import site_of
from tests.frontier.simulation import PARTITIONS, START, Simulation

FOR_EVER = 1e6


@given(limit=st.integers(1, 600), partitions=st.integers(1, 24), turns=st.lists(st.integers(0, 23)))
def test_full_partition_leaves_slots_of_others(
    limit: int, partitions: int, turns: list[int]
) -> None:
    taken = [0] * partitions
    for turn in turns:
        while check_slots(taken, limit)[turn % partitions]:
            taken[turn % partitions] += 1
        assert sum(taken) <= max(limit, partitions)
    others = {*range(partitions)} - {turn % partitions for turn in turns}
    assert all(check_slots(taken, limit)[other] for other in others)


def test_one_partition_may_take_more_than_half_of_the_slots() -> None:
    taken = [0] * 4
    while check_slots(taken, 512)[2]:
        taken[2] += 1
    assert taken[2] == 320


def test_freed_slots_go_to_other_partitions() -> None:
    assert check_slots([3, 1], 4) == [False, False]
    assert check_slots([2, 1], 4) == [True, True]


def hosts(partition: int, count: int) -> list[str]:
    names = (f"h{n}.test" for n in range(100 * count))
    return [name for name in names if partition_of(site_of(f"http://{name}/"), PARTITIONS)
            == partition][:count]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [8, 50, 1000])
def test_blocked_partition_does_not_block_others(loaded: int) -> None:
    held, others = hosts(0, 100), hosts(1, 40) + hosts(2, 40)

    def answer(url: str) -> Mapping[str, object]:
        return {"took": FOR_EVER if url.split("/")[2] in held else 1.0}

    sim = Simulation(answer, checked_out_limit=8, loaded_limit=loaded)
    sim.admit(*(f"http://{name}/" for name in [*held, *others]))
    sim.run(until=START + 120.0)
    assert {url.split("/")[2] for url in sim.pages()} == {*others}
    assert sim.loaded() <= loaded
    # Hosts that are admitted later do not wait either.
    later = [f"http://{name}/" for name in hosts(3, 20)]
    sim.admit(*later)
    sim.run(until=sim.now + 60.0)
    assert {*sim.pages()[-20:]} == {*later}


@pytest.mark.parametrize("loaded", [3, 10, 1000])
def test_all_hosts_are_visited_after_partition_is_unblocked(loaded: int) -> None:
    slow, others = hosts(0, 20), hosts(1, 20)

    def answer(url: str) -> Mapping[str, object]:
        return {"took": 50.0 if url.split("/")[2] in slow else 1.0}

    sim = Simulation(answer, checked_out_limit=4, loaded_limit=loaded)
    wanted = [f"http://{name}/" for name in [*slow, *others]]
    sim.admit(*wanted)
    sim.run()
    assert sorted(sim.pages()) == sorted(wanted)
