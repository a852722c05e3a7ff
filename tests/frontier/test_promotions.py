"""Waiting URLs that later links promote: visited sooner, and once."""

from collections import Counter
from collections.abc import Mapping

import pytest

from gossamer.events import DEFAULT_CRAWL, Discovery, ErasureRequested, Outcome
from gossamer.services.frontier.partition.queue import HostQueues
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site
from tests.frontier.simulation import START, Simulation, page

HOST, SITE = "http://a.test", Site("a.test")


def simulation(**settings: object) -> Simulation:
    """Return a simulation without limits that are not the subject here."""
    given = {"delay": 1.0, "batch": 2, "worth_parking": False, "url_budget": 0, **settings}
    return Simulation(**given)  # type: ignore[arg-type]


def link(path: str, **fields: object) -> Discovery:
    given = {"depth": 1, "score": 0.5, **fields}
    return Discovery(f"{HOST}/{path}", **given)  # type: ignore[arg-type]


def admit(sim: Simulation, *found: Discovery, promoted: bool = False) -> None:
    sim.admit_links(*found, promoted=promoted)


def promote(sim: Simulation, path: str, good_links: int = 2) -> None:
    admit(sim, link(path, score=1.0, good_links=good_links), promoted=True)


def assert_visited_once(sim: Simulation, count: int) -> None:
    """Assert that *count* URLs were visited once, and that no entry is left."""
    visits = Counter(sim.pages())
    assert len(visits) == count
    assert {*visits.values()} == {1}
    row = sim.row()
    assert (row.queued, row.of(DEFAULT_CRAWL).new.surplus, row.queued_urls) == (0, 0, 0)
    assert row.totals.admitted == count


def test_promoted_url_precedes_others_and_is_visited_once() -> None:
    sim = simulation()
    admit(sim, *(link(f"{n}") for n in range(60)))
    sim.run(until=START + 3.5)
    before = len(sim.pages())
    promote(sim, "50")
    row = sim.row()
    assert (row.queued_urls, row.of(DEFAULT_CRAWL).new.surplus) == (row.queued - 1, 1)
    sim.run()
    assert f"{HOST}/50" in sim.pages()[before : before + 3]
    assert_visited_once(sim, 60)


def test_url_promoted_several_times_is_visited_once() -> None:
    sim = simulation()
    admit(sim, *(link(f"{n}") for n in range(30)))
    for good_links in (1, 2, 3):
        promote(sim, "20", good_links)
    assert sim.row().queued_urls == 30
    sim.run()
    assert sim.pages()[0] == f"{HOST}/20"
    assert_visited_once(sim, 30)


def test_url_that_waits_no_longer_is_not_promoted() -> None:
    sim = simulation()
    admit(sim, *(link(f"{n}") for n in range(30)))
    sim.run(until=START + 10.0)
    visited = sim.pages()[0].removeprefix(f"{HOST}/")
    promote(sim, visited)
    assert sim.row().of(DEFAULT_CRAWL).new.surplus == 0
    sim.run()
    assert_visited_once(sim, 30)


def test_urls_of_a_site_with_parked_urls_are_promoted_and_parked_ones_are_not() -> None:
    sim = simulation(url_budget=20, budget_growth=0.0)
    admit(sim, *(link(f"{n}") for n in range(200)))
    promote(sim, "15")
    promote(sim, "30")
    promote(sim, "190")
    assert sim.row().of(DEFAULT_CRAWL).new.surplus == 1
    sim.run(until=START + 60.0)
    assert sim.pages()[0] == f"{HOST}/15"
    assert sorted(sim.pages()) == sorted(f"{HOST}/{n}" for n in range(20))


def test_promotion_of_a_url_in_flight_is_skipped() -> None:
    sim = simulation(batch=1)
    admit(sim, *(link(f"{n}") for n in range(10)))
    while not (ordered := [o for _, o in sim.orders if not o.visits[0].url.endswith("robots.txt")]):
        sim.run(steps=1)
    promote(sim, ordered[0].visits[0].url.removeprefix(f"{HOST}/"))
    sim.run()
    assert_visited_once(sim, 10)


def test_promoted_url_that_fails_is_retried_by_one_entry() -> None:
    failed = set[str]()

    def answer(url: str) -> Mapping[str, object]:
        if url.endswith("/7") and url not in failed:
            failed.add(url)
            return {"outcome": Outcome.SERVER_ERROR}
        return page(url)

    sim = simulation(answer=answer)
    admit(sim, *(link(f"{n}") for n in range(30)))
    promote(sim, "7")
    sim.run()
    visits = Counter(sim.pages())
    assert visits.pop(f"{HOST}/7") == 2
    assert {*visits.values()} == {1}
    assert (sim.row().queued, sim.row().of(DEFAULT_CRAWL).new.surplus) == (0, 0)


@pytest.mark.parametrize("is_visited", [False, True])
def test_erased_promoted_url_leaves_exact_counters(is_visited: bool) -> None:
    sim = simulation()
    admit(sim, *(link(f"{n}") for n in range(30)))
    promote(sim, "20")
    if is_visited:
        sim.run(until=START + 10.0)
        assert f"{HOST}/20" in sim.pages()
    before = sim.row()
    sim.handle(ErasureRequested(at=sim.now, site=SITE, url=f"{HOST}/20"))
    after = sim.row()
    assert (after.queued_urls, after.of(DEFAULT_CRAWL).new.surplus) == (
        before.queued_urls,
        before.of(DEFAULT_CRAWL).new.surplus,
    )
    sim.run()
    assert sim.pages().count(f"{HOST}/20") == int(is_visited)
    assert (sim.row().queued, sim.row().of(DEFAULT_CRAWL).new.surplus) == (0, 0)


def test_best_queue_position_of_a_promoted_url_is_found() -> None:
    sim = simulation()
    admit(sim, *(link(f"{n}") for n in range(30)))
    store = SqliteStore(sim.database)
    queues = HostQueues(store.table(QueuedUrl), sim.definition.crawl)
    before = queues.find(sim.row(), f"{HOST}/20")
    promote(sim, "20")
    after = queues.find(sim.row(), f"{HOST}/20")
    assert before
    assert after
    assert (before.ahead, after.ahead) == (20, 0)
    assert (before.rank, after.rank) == (15, 5)
    sim.run()
    visited = sim.url_row(f"{HOST}/20")
    assert queues.find(sim.row(), f"{HOST}/20", visited) is None
