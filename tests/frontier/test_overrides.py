"""Overrides of sites: how often their hosts are visited, and whether they are."""

from typing import Any

import pytest

from gossamer.events import HostOverridden, Outcome, RetryRequested, SiteOverridden
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import START, Simulation

HOST, OTHER = HostKey("http://www.a.test"), "http://b.test"
NEIGHBOUR = "http://a.test"
HOUR, DAY = 3600.0, 86400.0
URLS_PER_HOST = 400


def make_override(at: float = START, **fields: Any) -> SiteOverridden:
    return SiteOverridden(at=at, site=Site("a.test"), **fields)


def make_simulation(count: int = URLS_PER_HOST, **settings: Any) -> Simulation:
    sim = Simulation(lambda url: {"took": 0.5}, **settings)
    sim.admit(*(f"{host}/{n}" for n in range(count) for host in (HOST, OTHER)))
    return sim


def count_requests(
    sim: Simulation, host: str, begin: float = 0.0, end: float = float("inf")
) -> int:
    return sum(url.startswith(host) and begin <= at < end for at, _, url in sim.visits)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "least"),
    [
        ({"delay": 4.0}, 4.0),
        ({"delay": 0.25}, 1.0),
        ({"delay": 0.25, "ours": True}, 0.25),
        ({"delay": 0.0, "ours": True}, 0.0),
        ({"delay": 4.0, "ours": True}, 4.0),
    ],
)
def test_override_shortens_delay_only_of_our_own_host(fields: dict[str, Any], least: float) -> None:
    sim = make_simulation(40, delay=1.0, delay_factor=0.0 if least == 1.0 else 1.5)
    sim.handle(make_override(**fields))
    sim.run()
    gaps = [gap for name, gap in sim.gaps() if name == HOST]
    assert min(gaps) == pytest.approx(least)
    (site_gap,) = {order.site_gap for _, order in sim.orders if order.host == HOST}
    assert site_gap == pytest.approx(least / 4)
    assert min(gap for name, gap in sim.gaps() if name == OTHER) >= min(1.0, 1.5 * 0.5)


@pytest.mark.slow
def test_daily_budget_postpones_host_and_no_other() -> None:
    sim = make_simulation()
    midnight = START - START % DAY + DAY
    sim.handle(make_override(budget=30))
    sim.run(midnight + 3 * DAY - HOUR)
    assert [
        count_requests(sim, HOST, midnight + d * DAY, midnight + (d + 1) * DAY) for d in range(3)
    ] == ([30, 30, 30])
    assert count_requests(sim, OTHER) == URLS_PER_HOST + 1
    row = sim.row(HOST)
    assert (row.condition, row.backoff_reason) == (
        "backing off",
        "the budget of 30 visits per day is used up",
    )
    sim.handle(make_override(sim.now, budget=50))
    sim.run(sim.now + HOUR / 2)
    assert count_requests(sim, HOST, midnight + 2 * DAY) == 50, "earlier visits of the day count"


@pytest.mark.slow
def test_site_that_is_off_is_not_visited_until_it_is_on() -> None:
    sim = make_simulation()
    sim.run(START + 60)
    sim.handle(make_override(sim.now, off=True))
    begun = sim.now + 20
    sim.run(sim.now + 10 * HOUR)
    assert count_requests(sim, HOST, begun) == 0
    assert count_requests(sim, OTHER) == URLS_PER_HOST + 1
    assert sim.row(HOST).backoff_reason == "the site is off"
    sim.handle(RetryRequested(at=sim.now, site=Site("a.test"), host=HOST))
    sim.run(sim.now + 60)
    assert count_requests(sim, HOST, begun) == 0
    sim.start()
    sim.handle(make_override(sim.now))
    on = sim.now
    sim.run(on + 5)
    assert count_requests(sim, HOST, on) >= 3
    sim.run()
    assert {f"{HOST}/{n}" for n in range(URLS_PER_HOST)} <= {*sim.pages()}


def test_removed_quiet_hours_postpone_no_host() -> None:
    sim = make_simulation()
    begin = (START % DAY) - HOUR
    sim.handle(make_override(quiet_from=begin, quiet_until=begin + 8 * HOUR))
    sim.run(START + 2 * HOUR)
    assert count_requests(sim, HOST) == 0
    sim.handle(make_override(sim.now))
    sim.run(sim.now + 5)
    assert count_requests(sim, HOST) >= 3


def test_host_in_forbidden_network_is_checked_each_hour_and_keeps_its_urls() -> None:
    forbidden = [True]

    def answer(url: str) -> dict[str, object]:
        if not (forbidden[0] and url.startswith(HOST)):
            return {}
        return {"outcome": Outcome.BLACKLISTED, "reason": "192.0.2.7 is", "started_at": 0.0}

    sim = Simulation(lambda url: {k: v for k, v in answer(url).items() if k != "started_at"})
    sim.admit(*(f"{HOST}/{n}" for n in range(3)))
    sim.run(START + 30.5 * HOUR)
    assert 24 <= len(sim.orders) <= 31
    assert (sim.row(HOST).queued, sim.row(HOST).backoff_reason) == (3, "192.0.2.7 is")
    forbidden[0] = False
    sim.handle(RetryRequested(at=sim.now, site=Site("a.test"), host=HOST))
    lifted = sim.now
    sim.run(lifted + 10)
    assert count_requests(sim, HOST, lifted) == 4


def both(count: int = 30, **settings: Any) -> Simulation:
    sim = Simulation(lambda url: {"took": 0.1}, **settings)
    sim.admit(*(f"{host}/{n}" for n in range(count) for host in (HOST, NEIGHBOUR)))
    return sim


def own(at: float = START, name: str = "www.a.test", **fields: Any) -> HostOverridden:
    return HostOverridden(at=at, host=name, **fields)


def shortest(sim: Simulation, host: str) -> float:
    return min(gap for name, gap in sim.gaps() if name == host)


@pytest.mark.parametrize("host_first", [True, False])
def test_host_override_takes_precedence_over_site_override(host_first: bool) -> None:
    sim = both(delay=1.0)
    events = [own(delay=6.0), make_override(delay=3.0)]
    for event in events if host_first else events[::-1]:
        sim.handle(event)
    sim.run()
    assert shortest(sim, HOST) == pytest.approx(6.0)
    assert shortest(sim, NEIGHBOUR) == pytest.approx(3.0)


def test_own_host_is_not_slowed_by_its_neighbours() -> None:
    sim = both(delay=1.0)
    sim.handle(own(delay=0.1, ours=True))
    sim.run()
    assert shortest(sim, HOST) == pytest.approx(0.1)
    assert shortest(sim, NEIGHBOUR) == pytest.approx(1.0)
    gaps = {order.host: order.site_gap for _, order in sim.orders}
    assert gaps == {HOST: pytest.approx(0.025), NEIGHBOUR: pytest.approx(0.25)}


def test_one_host_is_off_or_alone_on() -> None:
    sim = both()
    sim.handle(own(off=True))
    sim.run(START + HOUR)
    assert (count_requests(sim, HOST), count_requests(sim, NEIGHBOUR)) == (0, 31)
    assert sim.row(HOST).backoff_reason == "the host is off"
    sim.handle(own(sim.now, off=False))
    sim.handle(make_override(sim.now, off=True))
    sim.run(sim.now + HOUR)
    assert count_requests(sim, HOST) == 31


def test_host_budget_applies_until_it_is_removed() -> None:
    sim = both(200, delay=1.0)
    sim.handle(make_override(budget=50))
    sim.handle(own(budget=10))
    sim.run(START + HOUR / 2)
    assert (count_requests(sim, HOST), count_requests(sim, NEIGHBOUR)) == (10, 50)
    sim.handle(own(sim.now))
    sim.run(sim.now + HOUR / 2)
    assert count_requests(sim, HOST) == 50
