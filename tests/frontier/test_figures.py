"""What an operator sees of the frontier at a glance agrees with what is in its store."""

from collections import Counter

import pytest
from prometheus_client import REGISTRY

from gossamer import clock
from gossamer.events import Outcome
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, TallyRow
from tests.frontier.simulation import PARTITIONS, START, Simulation, crawl


def shown(name: str, **labels: str) -> float:
    value = REGISTRY.get_sample_value(f"gossamer_{name}", labels)
    assert value is not None, name
    return value


def conditions() -> dict[str, float]:
    return {condition: shown("hosts", condition=condition) for condition in Condition}


def urls(host: str, count: int) -> list[str]:
    return [f"http://{host}/{i}" for i in range(count)]


@pytest.fixture
def sim(monkeypatch: pytest.MonkeyPatch) -> Simulation:
    made = Simulation(
        lambda url: {"outcome": Outcome.HOST_DOWN} if "down" in url else {"took": 10.0},
        delay=1.0,
        checked_out_limit=2,
    )
    monkeypatch.setattr(clock, "now", lambda: made.now)
    return made


def test_queue_and_hosts_by_condition_are_those_of_the_store(sim: Simulation) -> None:
    hosts = ("down.test", "a.test", "b.test", "c.test")
    sim.admit(*(url for host in hosts for url in urls(host, 5)))
    assert shown("urls_queued") == 20
    assert conditions() == {condition: 4.0 * (condition == "ready") for condition in Condition}
    for _ in range(12):
        sim.run(steps=1)
        rows = [sim.store.table(HostRow).get(host, f"http://{host}") for host in hosts]
        assert shown("urls_queued") == sum(row.queued for row in rows if row)
        for condition, count in conditions().items():
            assert count == sum(row.condition == condition for row in rows if row)
    assert shown("hosts", condition="blocked") == 1
    assert shown("hosts_loaded") == 3


def test_the_age_of_the_oldest_order_grows_until_it_is_answered(sim: Simulation) -> None:
    sim.admit(*urls("a.test", 1), *urls("b.test", 1))
    sim.step()
    assert len(sim.orders) == 2
    sim.now = START + 9.0
    assert shown("oldest_order_seconds") == 9.0
    sim.now = START + 10.0
    sim.step()
    assert shown("oldest_order_seconds") == 0.0, "both robots.txt are there, and the hosts rest"
    sim.now = START + 11.5
    sim.step()
    sim.now = START + 14.0
    assert shown("oldest_order_seconds") == 2.5


def test_an_order_that_nobody_answers_is_the_oldest_until_its_lease_ends(sim: Simulation) -> None:
    sim.admit(*urls("a.test", 1))
    sim.step()
    ((_, order),) = sim.orders
    sim._coming.clear()
    sim.handle(crawl(paused=True))
    sim.now = order.expires_at
    assert shown("oldest_order_seconds") == order.expires_at - START
    sim.step()
    assert shown("oldest_order_seconds") == 0.0


def test_what_others_own_now_is_theirs_to_show(sim: Simulation) -> None:
    sim.admit(*urls("a.test", 3))
    sim.step()
    sim.frontier.assign(frozenset(), sim.now)
    sim.frontier.settle()
    assert shown("urls_queued") == shown("oldest_order_seconds") == 0
    assert set(conditions().values()) == {0.0}


def test_the_totals_of_the_report_are_those_of_what_happened(sim: Simulation) -> None:
    sim.handle(crawl(max_depth=3))
    sim.admit(*urls("a.test", 2))
    sim.admit("http://a.test/deep", depth=4)
    sim.admit(*urls("down.test", 1))
    sim.run(until=START + 100)
    tallies = sim.store.table(TallyRow)
    rows = [row for partition in range(PARTITIONS) if (row := tallies.get(str(partition)))]
    assert sum(row.admitted for row in rows) == 3
    assert sum((Counter(row.refused) for row in rows), Counter()) == {"trap_depth": 1}
    outcomes = sum((Counter(row.outcomes) for row in rows), Counter())
    assert outcomes == {"page": 2, "robots.txt": 1, "host_down": 1}
    assert sum(row.pages for row in rows) == 2
    slowest = {host: took for row in rows for host, took in row.slowest.items()}
    assert slowest == {"http://a.test": 10.0, "http://down.test": 0.0}
    latest = {url: outcome for row in rows for url, outcome in row.latest}
    assert latest["http://a.test/1"] == "page"
