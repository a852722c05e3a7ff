"""The frontier's gauges match its store."""

from collections import Counter

import pytest
from prometheus_client import REGISTRY

from gossamer import clock
from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from tests.frontier.simulation import START, Simulation, crawl
from tests.frontier.test_revisits import DAY, HOUR, Changing


def gauge_value(name: str, **labels: str) -> float:
    value = REGISTRY.get_sample_value(f"gossamer_{name}", labels)
    assert value is not None, name
    return value


def of_crawl(name: str, crawl: str = DEFAULT_CRAWL, **labels: str) -> float:
    return gauge_value(name, crawl=crawl, **labels)


def conditions() -> dict[str, float]:
    return {condition: gauge_value("hosts", condition=condition) for condition in Condition}


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


def test_gauges_of_queue_and_hosts_match_the_store(sim: Simulation) -> None:
    hosts = ("down.test", "a.test", "b.test", "c.test")
    sim.admit(*(url for host in hosts for url in urls(host, 5)))
    assert of_crawl("urls_queued") == 20
    assert conditions() == {condition: 4.0 * (condition == "ready") for condition in Condition}
    for _ in range(12):
        sim.run(steps=1)
        rows = [sim.store.table(HostRow).get(host, f"http://{host}") for host in hosts]
        assert of_crawl("urls_queued") == sum(row.queued for row in rows if row)
        for condition, count in conditions().items():
            assert count == sum(row.condition == condition for row in rows if row)
    assert gauge_value("hosts", condition="backing off") == 1
    assert of_crawl("hosts_loaded") == 3


def test_age_of_oldest_order_grows_until_its_outcome(sim: Simulation) -> None:
    sim.admit(*urls("a.test", 1), *urls("b.test", 1))
    sim.step()
    assert len(sim.orders) == 2
    sim.now = START + 9.0
    assert gauge_value("oldest_order_seconds") == 9.0
    sim.now = START + 10.0
    sim.step()
    assert gauge_value("oldest_order_seconds") == 0.0, "both robots.txt were fetched"
    sim.now = START + 11.5
    sim.step()
    sim.now = START + 14.0
    assert gauge_value("oldest_order_seconds") == 2.5


def test_unanswered_order_is_oldest_until_its_lease_expires(sim: Simulation) -> None:
    sim.admit(*urls("a.test", 1))
    sim.step()
    ((_, order),) = sim.orders
    sim._coming.clear()
    sim.handle(crawl(paused=True))
    sim.now = order.expires_at
    assert gauge_value("oldest_order_seconds") == order.expires_at - START
    sim.step()
    assert gauge_value("oldest_order_seconds") == 0.0


def test_gauges_exclude_lost_partitions(sim: Simulation) -> None:
    sim.admit(*urls("a.test", 3))
    sim.step()
    sim.frontier.assign(frozenset(), sim.now)
    sim.frontier.settle()
    assert of_crawl("urls_queued") == gauge_value("oldest_order_seconds") == 0
    assert set(conditions().values()) == {0.0}


def test_each_crawl_has_its_gauges_until_it_is_removed(sim: Simulation) -> None:
    sim.define("b", revisit="fixed:1d", budget=24.0)
    sim.admit(*urls("a.test", 5))
    sim.admit(*urls("b.test", 3), crawl="b")
    sim.run(steps=1)
    queued = [row.queued for row in sim.store.table(HostRow).everything()]
    assert of_crawl("urls_queued") == 5 and of_crawl("urls_queued", "b") == 3
    assert sum(queued) == 8 and of_crawl("hosts_loaded") == of_crawl("hosts_loaded", "b") == 1
    assert of_crawl("revisit_policy", "b", policy="fixed:1d") == 1
    assert of_crawl("revisit_budget") == 0 < of_crawl("revisit_budget", "b")
    assert gauge_value("orders_total", crawl="b") > 0
    sim.define("b", removed=True, paused=True)
    sim.run(steps=1)
    assert of_crawl("urls_queued") == 5
    left = {
        sample.name
        for family in REGISTRY.collect()
        if family.type == "gauge"
        for sample in family.samples
        if sample.labels.get("crawl") == "b"
    }
    assert not left


def test_totals_match_visits_and_refusals(sim: Simulation) -> None:
    sim.handle(crawl(max_depth=3))
    sim.admit(*urls("a.test", 2))
    sim.admit("http://a.test/deep", depth=4)
    sim.admit(*urls("down.test", 1))
    sim.run(until=START + 100)
    tallies = sim.store.table(TallyRow)
    rows = [*tallies.everything()]
    assert sum(row.admitted for row in rows) == 3
    assert sum((Counter(row.refused) for row in rows), Counter()) == {"trap_depth": 1}
    outcomes = sum((Counter(row.outcomes) for row in rows), Counter())
    assert outcomes == {"page": 2, "robots.txt": 1, "host_down": 1}
    assert sum(row.pages for row in rows) == 2
    shared = sim.store.table(PartitionTallyRow).everything()
    slowest = {host: took for row in shared for host, took in row.slowest.items()}
    assert slowest == {"http://a.test": 10.0, "http://down.test": 0.0}
    latest = {url: outcome for row in rows for url, outcome in row.latest}
    assert latest["http://a.test/1"] == "page"


def test_revisit_gauges_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = {"basis": "interval", "crawl": DEFAULT_CRAWL}
    begun = REGISTRY.get_sample_value("gossamer_revisits_total", labels) or 0.0
    sim = Simulation()
    sim.give_verdict = Changing(HOUR)
    sim.handle(crawl(revisit="fixed:1d", budget=24.0))
    monkeypatch.setattr(clock, "now", lambda: sim.now)
    sim.admit(*urls("a.test", 3))
    sim.run(START + 2.5 * DAY)
    assert of_crawl("revisit_policy", policy="fixed:1d") == 1
    assert of_crawl("revisit_budget") == pytest.approx(24.0)
    assert of_crawl("revisits_planned") == 3 and of_crawl("revisits_late_seconds") == 0
    assert gauge_value("revisits_total", **labels) - begun == 6
    assert 0 < of_crawl("expected_freshness_ratio") < 0.9
    assert 0 < of_crawl("expected_age_seconds") < DAY
    sim.handle(crawl(revisit="none"))
    sim.run(START + 2.6 * DAY)
    assert of_crawl("revisits_planned") == 0 and of_crawl("revisit_policy", policy="none") == 1


def test_pages_are_counted_by_hour_for_one_day() -> None:
    sim = Simulation()
    sim.give_verdict = Changing(3 * HOUR)
    sim.handle(crawl(revisit="fixed:1h"))
    sim.admit(*urls("a.test", 2))
    sim.run(START + 40 * HOUR)
    last = max(at for at, _, _ in sim.visits)
    sim.start()
    (hours,) = [row.hours for row in sim.store.table(TallyRow).everything() if row.hours]
    assert len(hours) == 24 and max(map(int, hours)) == last // 3600
    new, changed, unchanged = (sum(column) for column in zip(*hours.values(), strict=True))
    assert new == 0 and 40 <= changed + unchanged <= 52 and 14 <= changed <= 18
