"""What a person asks for is tried now: but for a server that asked for time, and never too soon."""

from collections.abc import Mapping

import pytest

from gossamer.events import DEFAULT_CRAWL, Outcome, RefetchRequested, RetryRequested
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import RobotsRules
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, PartitionTallyRow, UrlRow
from tests.frontier.simulation import Simulation

HOST, URL = "http://a.test", "http://a.test/1"
SOON = 100.0
"""Seconds within which nobody is tried who is left alone."""


class Mended:
    """A web in which everything ends with *trouble* until it is mended."""

    def __init__(self, **trouble: object) -> None:
        self.trouble: Mapping[str, object] = trouble

    def __call__(self, url: str) -> Mapping[str, object]:
        return self.trouble if not url.endswith("/robots.txt") or self.robots else {}

    @property
    def robots(self) -> bool:
        """Whether robots.txt fares as the pages do."""
        return self.trouble.get("outcome") not in (None, Outcome.SERVER_ERROR, Outcome.GONE)


def ask(sim: Simulation, *urls: str) -> None:
    sim.handle(RetryRequested(at=sim.now, site="a.test", host=HOST, urls=urls))


def host(sim: Simulation) -> HostRow:
    found = SqliteStore(sim.database).table(HostRow).get("a.test", HOST)
    assert found
    return found


def waiting(sim: Simulation) -> int:
    rows = SqliteStore(sim.database).table(PartitionTallyRow)
    return sum(row.due_count for row in rows.everything())


@pytest.mark.parametrize("outcome", [Outcome.HOST_DOWN, Outcome.DNS_FAILURE, Outcome.BROKEN])
def test_a_host_in_trouble_is_tried_after_its_courtesy_delay(outcome: Outcome) -> None:
    web = Mended(outcome=outcome)
    sim = Simulation(web, delay=7.0)
    sim.admit(URL, "http://a.test/2")
    sim.run(sim.now + 60.0)
    assert (host(sim).condition, sim.pages()) == (Condition.BACKING_OFF, [])
    web.trouble = {}
    ask(sim)
    ask(sim)
    assert host(sim).ready_at <= sim.now + 7.0
    sim.run(sim.now + SOON)
    assert sim.pages() == [URL, "http://a.test/2"]
    assert min(gap for _, gap in sim.gaps()) >= 7.0
    assert waiting(sim) == 0


def test_a_host_that_is_asked_for_at_once_is_still_given_its_delay() -> None:
    sim = Simulation(Mended(outcome=Outcome.HOST_DOWN), delay=7.0)
    sim.admit(URL)
    while host(sim).condition is not Condition.BACKING_OFF:
        sim.run(steps=1)
    ask(sim)
    sim.run(sim.now + SOON, steps=20)
    assert min(gap for _, gap in sim.gaps()) >= 7.0


def test_a_host_that_is_still_down_waits_as_long_as_the_first_time() -> None:
    sim = Simulation(Mended(outcome=Outcome.HOST_DOWN), down_wait=1000.0)
    sim.admit(URL)
    for _ in range(3):
        sim.run(sim.now + SOON)
        ask(sim)
    sim.run(sim.now + SOON)
    assert len(sim.visits) == 4
    assert sim.now < host(sim).ready_at <= sim.now + 1000.0


def test_a_server_that_asked_for_time_is_given_it() -> None:
    web = Mended(outcome=Outcome.BUSY, retry_after=500.0)
    sim = Simulation(web)
    sim.admit(URL)
    sim.run(sim.now + 10.0)
    until = host(sim).ready_at
    ask(sim, URL)
    sim.run(sim.now + SOON)
    assert (host(sim).ready_at, len(sim.visits)) == (until, 1)


def test_robots_txt_that_could_not_be_read_is_asked_for_again() -> None:
    unreadable = RobotsRules(forbidden="it answers 500")
    answers = {"http://a.test/robots.txt": {"outcome": "server_error", "robots": unreadable}}
    sim = Simulation(lambda url: answers.get(url, {}))
    sim.admit(URL)
    sim.run(sim.now + 10.0)
    answers.clear()
    ask(sim)
    sim.run(sim.now + SOON)
    assert [url for _, _, url in sim.visits] == [f"{HOST}/robots.txt"] * 2 + [URL]


def test_a_url_that_waits_for_its_next_attempt_is_tried_now() -> None:
    web = Mended(outcome=Outcome.SERVER_ERROR)
    sim = Simulation(web)
    sim.admit(URL)
    sim.run(sim.now + 10.0)
    assert waiting(sim) == 1
    web.trouble = {}
    ask(sim, URL)
    ask(sim, URL)
    sim.run(sim.now + SOON)
    assert (sim.pages(), waiting(sim)) == ([URL, URL], 0)
    sim.run()
    assert sim.pages() == [URL, URL]


def test_a_url_that_failed_for_good_is_tried_once_more_and_a_page_is_not() -> None:
    web = Mended(outcome=Outcome.GONE)
    sim = Simulation(web)
    sim.admit(URL)
    sim.run()
    for _ in range(3):
        web.trouble = {}
        ask(sim, URL, "http://a.test/never-met")
        sim.run()
    assert sim.pages() == [URL, URL]
    row = SqliteStore(sim.database).table(UrlRow).get((DEFAULT_CRAWL, HOST), URL)
    assert row and (row.outcome, row.earlier) == (Outcome.PAGE, 2)


def test_a_url_that_is_fetched_again_twice_is_queued_once() -> None:
    sim = Simulation()
    sim.admit(URL)
    sim.run()
    for _ in range(2):
        sim.handle(RefetchRequested(at=sim.now, site="a.test", host=HOST, urls=(URL,)))
    assert host(sim).queued == 1
    sim.run()
    sim.handle(RefetchRequested(at=sim.now, site="a.test", host=HOST, urls=(URL,)))
    sim.run()
    assert sim.pages() == [URL] * 3


def test_who_was_never_met_stays_so() -> None:
    sim = Simulation()
    ask(sim, URL)
    sim.run()
    assert sim.visits == []
    assert SqliteStore(sim.database).table(HostRow).get("a.test", HOST) is None
