"""A host whose visits stop the fetchers backs off, and the URL that stops them is given up."""

from collections.abc import Iterator
from itertools import count, pairwise

import pytest

from gossamer.events import (
    Discovery,
    ErasureRequested,
    HostCheckedOut,
    Outcome,
    RetryRequested,
    VisitEnded,
)
from gossamer.events.hazards import Hazard
from gossamer.log import partition_of
from gossamer.services.frontier.partition.politeness import LEASE_FAILURE, spread_factor
from gossamer.services.frontier.steps.leases import MAX_URL_LEASES, NO_ANSWER, NO_BEGIN
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.web.robots import REDIRECTS
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import PARTITIONS, START, VISIT_LIMIT, Simulation

HOST, SITE = HostKey("http://killer.test"), Site("killer.test")
NEIGHBOUR = next(
    site
    for site in (f"{number}.test" for number in count())
    if partition_of(site, PARTITIONS) == partition_of(SITE, PARTITIONS)
)
"""Another site in the partition of SITE."""
WAIT, HOUR, DELAY = 600.0, 3600.0, 60.0
PAGES = [f"{HOST}/{number}" for number in range(6)]


class Fleet(Simulation):
    """Fetchers that a visit to one of *killers* stops: their order has no further outcomes.

    Another host of the partition has a page a minute for eight hours, so fetchers answer. While
    `is_down`, no order is answered.
    """

    def __init__(self, *killers: str, neighbours: int = 480, **settings: object) -> None:
        self.killers, self.is_down = killers, False
        super().__init__(alone=False, **{"delay": DELAY, "lease_slack": 30.0, **settings})  # type: ignore[arg-type]
        if neighbours:
            found = (Discovery(f"http://{NEIGHBOUR}/{n}", 0) for n in range(neighbours))
            self.admit_links(*found, via="test")
        self.admit(*PAGES)

    def _fetch(self, order: HostCheckedOut) -> Iterator[tuple[float, VisitEnded]]:
        if self.is_down:
            return
        self.report_begun(order)
        for at, event in super()._fetch(order):
            if event.visit.url in self.killers:
                return
            yield at, event

    def sent(self) -> list[HostCheckedOut]:
        """Return the orders for pages of HOST."""
        orders = [order for _, order in self.orders if order.host == HOST]
        return [order for order in orders if not order.visits[0].url.endswith("/robots.txt")]

    def waits(self) -> list[float]:
        """Return the seconds from the end of each lease at HOST to the next order."""
        return [after.at - before.expires_at for before, after in pairwise(self.sent())]

    def outcome(self, url: str) -> Outcome | None:
        """Return the last outcome of *url*; None if no visit has ended."""
        row = self.url_row(url)
        return Outcome(row.outcome) if row else None


def test_host_backs_off_exponentially_from_the_second_expired_lease() -> None:
    sim = Fleet(*PAGES)
    sim.run(START + 8 * HOUR)
    spread = spread_factor(HOST)
    expected = [DELAY, *(spread * WAIT * 2**n for n in range(len(sim.waits()) - 1))]
    assert sim.waits() == pytest.approx(expected, abs=1.0) and len(expected) > 4
    row = sim.row(HOST)
    assert row.condition is Condition.BACKING_OFF and row.backoff_cause == LEASE_FAILURE
    assert row.backoff_reason == (
        f"{len(expected) + 1} leases in a row expired: visits seem to stop the fetchers"
    )
    tally = sim.share(SITE).tally.row
    assert tally.hazards[Hazard.EXPIRED_LEASES] == len(expected)


def test_orders_of_one_url_isolate_the_url_and_the_others_are_visited() -> None:
    killer = PAGES[3]
    sim = Fleet(killer, delay=DELAY / len(PAGES))
    sim.run()
    at_killer = [order for order in sim.sent() if killer in [visit.url for visit in order.visits]]
    assert [len(order.visits) for order in at_killer] == [6, 1, 1] and MAX_URL_LEASES == 3
    others = [url for url in PAGES if url != killer]
    assert [url for url in sim.pages() if url in PAGES] == [*others[:3], *[killer] * 3, *others[3:]]
    given_up = sim.url_row(killer)
    assert given_up and given_up.outcome == Outcome.INTERNAL_ERROR and not given_up.queued
    assert given_up.reason.startswith("3 leases in a row expired while the URL was visited")
    assert sim.share(SITE).tally.row.failed_urls[Outcome.INTERNAL_ERROR] == killer
    row = sim.row(HOST)
    assert row.condition is Condition.IDLE and LEASE_FAILURE not in row.politeness.failures
    assert row.suspect.url is None and row.totals.visits == len(others) + 1


def test_erased_url_is_not_kept_as_the_one_that_stops_fetchers() -> None:
    killer = PAGES[3]
    sim = Fleet(killer, delay=DELAY / len(PAGES))
    while sim.row(HOST).suspect.url != killer:
        sim.run(sim.now + WAIT)
    sim.handle(ErasureRequested(at=sim.now, site=SITE, url=killer))
    assert sim.row(HOST).suspect.url is None
    sim.run()
    assert {*sim.pages()} >= {*PAGES} - {killer} and sim.row(HOST).condition is Condition.IDLE


def test_outage_of_all_fetchers_causes_no_backoff_and_loses_no_url() -> None:
    sim = Fleet()
    sim.run(START + 90.0)
    sim.lose()
    sim.is_down = True
    sim.run(START + 4 * HOUR)
    assert len([order for _, order in sim.orders if order.host == HOST]) > 10
    assert sim.row(HOST).backoff_reason in (NO_ANSWER, None)
    sim.is_down, ends = False, sim.now
    sim.run()
    assert {sim.outcome(url) for url in PAGES} == {Outcome.PAGE}
    assert not sim.share(SITE).tally.row.hazards
    assert max(at for at, _, url in sim.visits if url in PAGES) < ends + HOUR


def test_orders_that_no_fetcher_begins_blame_no_host() -> None:
    """For example, a rebalance may lose the orders of a host twice while others are answered."""
    sim = Fleet()
    sim.run(START + 90.0)
    fetch = sim._fetch

    def lose_orders(order: HostCheckedOut) -> Iterator[tuple[float, VisitEnded]]:
        return iter(()) if order.host == HOST and sim.now < until else fetch(order)

    until = sim.now + HOUR
    sim._fetch = lose_orders  # type: ignore[method-assign]
    sim.run(until)
    assert len(sim.sent()) > 3 and LEASE_FAILURE not in sim.row(HOST).politeness.failures
    assert sim.row(HOST).backoff_reason in (NO_BEGIN, None)
    sim.run(until + HOUR)
    assert {sim.outcome(url) for url in PAGES} == {Outcome.PAGE}
    assert not sim.share(SITE).tally.row.hazards


def test_answer_to_robots_txt_shows_that_the_fetchers_of_a_host_alone_work() -> None:
    sim = Fleet(PAGES[0], neighbours=0)
    sim.run()
    assert sim.outcome(PAGES[0]) == Outcome.INTERNAL_ERROR
    assert {sim.outcome(url) for url in PAGES[1:]} == {Outcome.PAGE}
    assert sim.pages().count(PAGES[0]) == MAX_URL_LEASES
    assert len(sim.visits) - len(sim.pages()) <= 1 + MAX_URL_LEASES


def test_host_alone_whose_robots_txt_stops_the_fetchers_is_ordered_every_five_minutes() -> None:
    sim = Fleet(f"{HOST}/robots.txt", neighbours=0)
    sim.run(START + 4 * HOUR)
    times = [at for at, _, url in sim.visits if url.startswith(HOST)]
    # The longest lease of a visit to robots.txt, with all its redirects, and five minutes.
    longest = 30.0 + (1 + REDIRECTS) * (DELAY + VISIT_LIMIT) + 300.0
    assert max(after - before for before, after in pairwise(times)) <= longest + 1.0
    assert sim.row(HOST).condition is not Condition.BACKING_OFF


def test_visit_that_ends_resets_the_backoff() -> None:
    sim = Fleet(PAGES[0], delay=DELAY / len(PAGES))
    while sim.row(HOST).condition is not Condition.BACKING_OFF:
        sim.run(steps=1)
    sim.killers = ()
    sim.run()
    assert LEASE_FAILURE not in sim.row(HOST).politeness.failures
    assert len(sim.sent()) == 4, "two expired, one of one page, one of all others"


def test_late_outcome_of_a_url_that_was_given_up_moves_no_queue() -> None:
    sim = Fleet(PAGES[0])
    while not sim.url_row(PAGES[0]):
        sim.run(steps=1)
    order = sim.sent()[-1]
    for _, event in Simulation._fetch(sim, order):
        sim.handle(event)
    sim.run()
    assert {url for url in sim.pages() if url in PAGES} == set(PAGES)


def test_setting_of_zero_turns_backoffs_off() -> None:
    sim = Fleet(*PAGES, expired_wait=0.0)
    sim.run(START + HOUR)
    assert set(sim.waits()) == {DELAY}


def test_retry_ends_the_backoff() -> None:
    sim = Fleet(PAGES[0])
    while sim.row(HOST).condition is not Condition.BACKING_OFF:
        sim.run(steps=1)
    sim.killers = ()
    sim.handle(RetryRequested(at=sim.now, site=SITE, host=HOST, urls=()))
    at = sim.now
    sim.run()
    assert max(start for start, _, url in sim.visits if url in PAGES) < at + WAIT


def test_probe_that_stops_the_fetcher_is_made_twice() -> None:
    sim = Fleet(probe_after=3)
    fetch = sim._fetch

    def stop_at_probe(order: HostCheckedOut) -> Iterator[tuple[float, VisitEnded]]:
        if order.host != HOST or order.visits[0].url in known:
            return fetch(order)
        sim.report_begun(order)
        return iter(())

    known = {*PAGES, f"{HOST}/robots.txt"}
    sim._fetch = stop_at_probe  # type: ignore[method-assign]
    sim.admit(*(more := [f"{HOST}/more{n}" for n in range(20)]))
    known.update(more)
    sim.run()
    probes = [order for order in sim.sent() if order.visits[0].url not in known]
    assert len(probes) == 2 and sim.row(HOST).signature is not None
    assert {url for url in sim.pages() if url in known} == {*PAGES, *more}


def test_suspicion_survives_a_restart_of_the_frontier() -> None:
    sim = Fleet(PAGES[0])
    while sim.row(HOST).condition is not Condition.BACKING_OFF:
        sim.run(steps=1)
    until = sim.row(HOST).ready_at
    sim.start()
    sim.run(until - 1.0)
    assert sim.row(HOST).condition is Condition.BACKING_OFF
    sim.killers = ()
    sim.run()
    assert {url for url in sim.pages() if url in PAGES} == set(PAGES)
