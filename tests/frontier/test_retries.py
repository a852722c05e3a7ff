"""Operator retries are made now, except before the end of a Retry-After or of the courtesy
delay."""

from collections.abc import Mapping

import pytest

from gossamer.events import Outcome, RefetchRequested, RetryRequested
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import Simulation

HOST, URL = HostKey("http://a.test"), "http://a.test/1"
SHORT_WAIT = 100.0
"""Seconds in which no host that backs off is tried."""


class Mended:
    """A web in which every visit ends with *trouble* until it is repaired."""

    def __init__(self, **trouble: object) -> None:
        self.trouble: Mapping[str, object] = trouble

    def __call__(self, url: str) -> Mapping[str, object]:
        return self.trouble if not url.endswith("/robots.txt") or self.robots else {}

    @property
    def robots(self) -> bool:
        """Whether robots.txt fails as the pages do."""
        return self.trouble.get("outcome") not in (None, Outcome.SERVER_ERROR, Outcome.GONE)


def ask(sim: Simulation, *urls: str) -> None:
    sim.handle(RetryRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=urls))


def waiting(sim: Simulation) -> int:
    rows = SqliteStore(sim.database).table(PartitionTallyRow)
    return sum(row.due_count for row in rows.everything())


@pytest.mark.parametrize("outcome", [Outcome.HOST_DOWN, Outcome.DNS_FAILURE, Outcome.BROKEN])
def test_retry_visits_failing_host_after_courtesy_delay(outcome: Outcome) -> None:
    web = Mended(outcome=outcome)
    sim = Simulation(web, delay=7.0)
    sim.admit(URL, "http://a.test/2")
    sim.run(sim.now + 60.0)
    assert (sim.row().condition, sim.pages()) == (Condition.BACKING_OFF, [])
    web.trouble = {}
    ask(sim)
    ask(sim)
    assert sim.row().ready_at <= sim.now + 7.0
    sim.run(sim.now + SHORT_WAIT)
    assert sim.pages() == [URL, "http://a.test/2"]
    assert min(gap for _, gap in sim.gaps()) >= 7.0
    assert waiting(sim) == 0


def test_immediate_retry_keeps_courtesy_delay() -> None:
    sim = Simulation(Mended(outcome=Outcome.HOST_DOWN), delay=7.0)
    sim.admit(URL)
    while sim.row().condition is not Condition.BACKING_OFF:
        sim.run(steps=1)
    ask(sim)
    sim.run(sim.now + SHORT_WAIT, steps=20)
    assert min(gap for _, gap in sim.gaps()) >= 7.0


def test_host_still_down_after_retry_backs_off_as_after_first_failure() -> None:
    sim = Simulation(Mended(outcome=Outcome.HOST_DOWN), down_wait=1000.0)
    sim.admit(URL)
    for _ in range(3):
        sim.run(sim.now + SHORT_WAIT)
        ask(sim)
    sim.run(sim.now + SHORT_WAIT)
    assert len(sim.visits) == 4
    assert sim.now < sim.row().ready_at <= sim.now + 1000.0


def test_retry_keeps_retry_after() -> None:
    web = Mended(outcome=Outcome.BUSY, retry_after=500.0)
    sim = Simulation(web)
    sim.admit(URL)
    sim.run(sim.now + 10.0)
    until = sim.row().ready_at
    ask(sim, URL)
    sim.run(sim.now + SHORT_WAIT)
    assert (sim.row().ready_at, len(sim.visits)) == (until, 1)


def test_retry_requests_failed_robots_txt_again() -> None:
    unreadable = RobotsRules(forbidden="it answers 500")
    answers = {"http://a.test/robots.txt": {"outcome": "server_error", "robots": unreadable}}
    sim = Simulation(lambda url: answers.get(url, {}))
    sim.admit(URL)
    sim.run(sim.now + 10.0)
    answers.clear()
    ask(sim)
    sim.run(sim.now + SHORT_WAIT)
    assert [url for _, _, url in sim.visits] == [f"{HOST}/robots.txt"] * 2 + [URL]


def test_retry_visits_url_with_planned_attempt_now() -> None:
    web = Mended(outcome=Outcome.SERVER_ERROR)
    sim = Simulation(web)
    sim.admit(URL)
    sim.run(sim.now + 10.0)
    assert waiting(sim) == 1
    web.trouble = {}
    ask(sim, URL)
    ask(sim, URL)
    sim.run(sim.now + SHORT_WAIT)
    assert (sim.pages(), waiting(sim)) == ([URL, URL], 0)
    sim.run()
    assert sim.pages() == [URL, URL]


def test_retry_visits_given_up_url_and_no_page() -> None:
    web = Mended(outcome=Outcome.GONE)
    sim = Simulation(web)
    sim.admit(URL)
    sim.run()
    for _ in range(3):
        web.trouble = {}
        ask(sim, URL, "http://a.test/never-met")
        sim.run()
    assert sim.pages() == [URL, URL]
    row = sim.url_row(URL)
    assert row and (row.outcome, row.earlier) == (Outcome.PAGE, 2)


def test_url_refetched_twice_is_queued_once() -> None:
    sim = Simulation()
    sim.admit(URL)
    sim.run()
    for _ in range(2):
        sim.handle(RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(URL,)))
    assert sim.row().queued == 1
    sim.run()
    sim.handle(RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(URL,)))
    sim.run()
    assert sim.pages() == [URL] * 3


def test_retry_of_unknown_host_creates_no_row() -> None:
    sim = Simulation()
    ask(sim, URL)
    sim.run()
    assert sim.visits == []
    assert SqliteStore(sim.database).table(HostRow).get("a.test", HOST) is None
