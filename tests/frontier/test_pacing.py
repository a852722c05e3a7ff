"""The speed of the crawl, measured at the visits, over hours, changes and frontiers."""

from bisect import bisect_left
from collections.abc import Sequence

import pytest

from gossamer.events import Speed, SpeedSet
from gossamer.services.frontier.service import Frontier
from gossamer.web.url import Site
from tests.frontier.simulation import START, Simulation

HOSTS, URLS_PER_HOST = 60, 200
HOUR, DAY = 3600.0, 86400.0
MIDNIGHT = START - START % DAY + DAY
IN_FORCE = 5.0


def make_speed_set(at: float, *speeds: Speed) -> SpeedSet:
    return SpeedSet(at=at, speeds=speeds)


def busy(hosts: int = HOSTS, size: int = 0) -> Simulation:
    """A crawl that could make one visit per second to each of its hosts."""
    sim = Simulation(lambda url: {"received": size, "took": 0.1})
    for host in range(hosts):
        sim.admit(*(f"http://h{host}.test/{number}" for number in range(URLS_PER_HOST)))
    return sim


def times(sim: Simulation, begin: float = 0.0, end: float = float("inf")) -> list[float]:
    return sorted(at for at, _, _ in sim.visits if begin <= at < end)


def most_in(moments: Sequence[float], window: float) -> int:
    """Return the number of visits in the fullest window."""
    return max(
        (bisect_left(moments, at + window) - index for index, at in enumerate(moments)), default=0
    )


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0.5, 5.0, pytest.param(20.0, marks=pytest.mark.long)])
def test_visits_match_the_speed(pages: float) -> None:
    sim = busy()
    sim.handle(make_speed_set(START, Speed("", pages=pages)))
    sim.run(START + 200)
    made = times(sim, START + 20)
    assert 0.85 * pages <= len(made) / 180 <= 1.05 * pages
    # The visits of an order are made one by one: a few seconds may contain visits of the next
    # order.
    assert most_in(made, 20.0) <= 20 * pages * 1.3 + 1


@pytest.mark.slow
def test_received_bytes_are_charged() -> None:
    sim = busy(size=100_000)
    sim.handle(make_speed_set(START, Speed("", bytes=500_000.0)))
    sim.run(START + 300)
    made = times(sim, START + 60)
    assert 4.2 <= len(made) / 240 <= 5.3
    assert most_in(made, 30.0) <= 30 * 5 * 1.4


def test_restarted_frontier_expects_visits_as_large_as_the_earlier_ones() -> None:
    sim = busy(hosts=2, size=100_000)
    sim.run(START + 30)
    sim.start()
    sim.handle(make_speed_set(sim.now, Speed("", bytes=200_000.0)))
    restarted = len(sim.orders)
    sim.run(sim.now + 60)
    pages = [len(order.visits) for _, order in sim.orders[restarted:]]
    assert pages and max(pages) == 2


@pytest.mark.slow
def test_shares_of_all_frontiers_sum_to_the_speed() -> None:
    made = 0
    for partitions in ({0}, {1, 2, 3}):
        sim = Simulation(lambda url: {"took": 0.1})
        sim.handle(make_speed_set(START, Speed("", pages=8.0)))
        sim.frontier.assign(frozenset(partitions), START)
        sim.frontier.finish_catching_up(frozenset(partitions), START)
        for host in range(HOSTS):
            if sim.frontier._partitions.of(Site(f"h{host}.test")):
                sim.admit(*(f"http://h{host}.test/{number}" for number in range(URLS_PER_HOST)))
        sim.run(START + 100)
        made += len(times(sim, START + 20))
    assert 0.85 * 8 <= made / 80 <= 1.05 * 8


def test_speed_zero_wakes_no_frontier() -> None:
    sim = busy(hosts=1)
    sim.handle(
        make_speed_set(START, Speed("08:00-18:00", pages=0.0), Speed("18:00-20:00", bytes=0.0))
    )
    sim.run(MIDNIGHT + 8 * HOUR - 1)
    sim.admit("http://h1.test/")
    sim.run(MIDNIGHT + 8 * HOUR + 60)
    frontier: Frontier = sim.frontier
    due = frontier.due()
    assert due and due >= MIDNIGHT + 18 * HOUR
