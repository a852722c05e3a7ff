"""What is set for a site: how often its hosts are visited, and whether they are."""

from typing import Any

import pytest

from gossamer.events import Outcome, RetryAsked, SiteOverridden
from gossamer.store.sqlite import SqliteStore
from services.frontier.rows import HostRow
from tests.frontier.simulation import START, Simulation

HOST, OTHER = "http://www.a.test", "http://b.test"
HOUR, DAY = 3600.0, 86400.0
MANY = 400


def different(at: float = START, **fields: Any) -> SiteOverridden:
    return SiteOverridden(at=at, site="a.test", **fields)


def simulated(count: int = MANY, **settings: Any) -> Simulation:
    sim = Simulation(lambda url: {"took": 0.5}, **settings)
    sim.admit(*(f"{host}/{n}" for n in range(count) for host in (HOST, OTHER)))
    return sim


def asked(sim: Simulation, host: str, begin: float = 0.0, end: float = float("inf")) -> int:
    return sum(url.startswith(host) and begin <= at < end for at, _, url in sim.visits)


def host(sim: Simulation) -> HostRow:
    row = SqliteStore(sim.database).table(HostRow).get("a.test", HOST)
    assert row
    return row


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
def test_a_delay_is_a_least_one_unless_the_owner_has_set_it(
    fields: dict[str, Any], least: float
) -> None:
    sim = simulated(40, delay=1.0, delay_factor=0.0 if least == 1.0 else 1.5)
    sim.handle(different(**fields))
    sim.run()
    gaps = [gap for name, gap in sim.gaps() if name == HOST]
    assert min(gaps) == pytest.approx(least)
    (site_gap,) = {order.site_gap for _, order in sim.orders if order.host == HOST}
    assert site_gap == pytest.approx(least / 4)
    assert min(gap for name, gap in sim.gaps() if name == OTHER) >= min(1.0, 1.5 * 0.5)


def test_a_host_has_so_many_visits_a_day_and_the_others_go_on() -> None:
    sim = simulated()
    midnight = START - START % DAY + DAY
    sim.handle(different(budget=30))
    sim.run(midnight + 3 * DAY - HOUR)
    assert [asked(sim, HOST, midnight + d * DAY, midnight + (d + 1) * DAY) for d in range(3)] == (
        [30, 30, 30]
    )
    assert asked(sim, OTHER) == MANY + 1
    row = host(sim)
    assert (row.condition, row.blocked_why) == ("blocked", "it has had its 30 visits of the day")
    sim.handle(different(sim.now, budget=50))
    sim.run(sim.now + HOUR / 2)
    assert asked(sim, HOST, midnight + 2 * DAY) == 50, "those that it has had already count"


def test_a_site_that_is_off_is_left_alone_until_it_is_not() -> None:
    sim = simulated()
    sim.run(START + 60)
    sim.handle(different(sim.now, off=True))
    begun = sim.now + 20
    sim.run(sim.now + 10 * HOUR)
    assert asked(sim, HOST, begun) == 0
    assert asked(sim, OTHER) == MANY + 1
    assert host(sim).blocked_why == "its site is off"
    sim.handle(RetryAsked(at=sim.now, site="a.test", host=HOST))
    sim.run(sim.now + 60)
    assert asked(sim, HOST, begun) == 0
    sim.start()
    sim.handle(different(sim.now))
    on = sim.now
    sim.run(on + 5)
    assert asked(sim, HOST, on) >= 3
    sim.run()
    assert {f"{HOST}/{n}" for n in range(MANY)} <= {*sim.pages()}


def test_hours_that_are_taken_back_hold_nobody_back() -> None:
    sim = simulated()
    begin = (START % DAY) - HOUR
    sim.handle(different(quiet_from=begin, quiet_until=begin + 8 * HOUR))
    sim.run(START + 2 * HOUR)
    assert asked(sim, HOST) == 0
    sim.handle(different(sim.now))
    sim.run(sim.now + 5)
    assert asked(sim, HOST) >= 3


def test_a_host_in_a_forbidden_network_is_looked_at_each_hour_and_forgets_nothing() -> None:
    forbidden = [True]

    def answer(url: str) -> dict[str, object]:
        if not (forbidden[0] and url.startswith(HOST)):
            return {}
        return {"outcome": Outcome.BLACKLISTED, "reason": "192.0.2.7 is", "started_at": 0.0}

    sim = Simulation(lambda url: {k: v for k, v in answer(url).items() if k != "started_at"})
    sim.admit(*(f"{HOST}/{n}" for n in range(3)))
    sim.run(START + 30.5 * HOUR)
    assert 24 <= len(sim.orders) <= 31
    assert (host(sim).queued, host(sim).blocked_why) == (3, "192.0.2.7 is")
    forbidden[0] = False
    sim.handle(RetryAsked(at=sim.now, site="a.test", host=HOST))
    lifted = sim.now
    sim.run(lifted + 10)
    assert asked(sim, HOST, lifted) == 4
