"""Slow start: visits that await their verdicts, and the hosts that wait for them."""

from collections import defaultdict
from itertools import pairwise

import pytest

from gossamer.events import Outcome
from gossamer.services.frontier.partition.awaited_visits import MAX_VERDICT_WAIT, PartKey, SlowStart
from gossamer.web.url import HostKey, host_key
from tests.frontier.simulation import START, Simulation, make_verdict

PART = PartKey("a.test", "*")
ZONE = PartKey("*.test 1/4", "*")
HOST = HostKey("http://a.test")


def test_visit_counts_in_its_parts_until_its_verdict() -> None:
    slow_start = SlowStart()
    slow_start.begin(f"{HOST}/1", [PART, ZONE], 100.0)
    slow_start.begin(f"{HOST}/2", [PART], 100.0)
    assert (slow_start.count(PART), slow_start.count(ZONE)) == (2, 1)
    assert slow_start.end(f"{HOST}/1") == (PART, ZONE)
    assert (slow_start.count(PART), slow_start.count(ZONE)) == (1, 0)
    assert slow_start.end(f"{HOST}/1") == ()


def test_visit_that_is_ordered_again_counts_once() -> None:
    slow_start = SlowStart()
    slow_start.begin(f"{HOST}/1", [PART], 100.0)
    slow_start.begin(f"{HOST}/1", [ZONE], 110.0)
    assert (slow_start.count(PART), slow_start.count(ZONE)) == (0, 1)


def test_verdict_is_awaited_for_a_limited_time() -> None:
    slow_start = SlowStart()
    slow_start.begin(f"{HOST}/1", [PART], 100.0)
    slow_start.begin(f"{HOST}/2", [PART], 130.0)
    assert slow_start.wait(PART, HOST) == 100.0 + MAX_VERDICT_WAIT
    slow_start.end_late(100.0 + MAX_VERDICT_WAIT)
    assert slow_start.count(PART) == 1
    slow_start.end_late(130.0 + MAX_VERDICT_WAIT)
    assert slow_start.count(PART) == len(slow_start) == 0


def test_wait_ends_in_time_although_an_earlier_order_takes_longer() -> None:
    """An order with a long Crawl-delay is due later than one that is made after it."""
    slow_start = SlowStart()
    slow_start.begin(f"{HOST}/slow", [PART], due=600.0)
    slow_start.begin(f"{HOST}/fast", [PART], due=10.0)
    until = slow_start.wait(PART, HOST)
    slow_start.end_late(until)
    assert slow_start.count(PART) == 1
    assert slow_start.wait(PART, HOST) > until


def test_hosts_are_woken_in_the_order_in_which_they_waited() -> None:
    slow_start = SlowStart()
    slow_start.begin(f"{HOST}/1", [PART], 100.0)
    for n in range(3):
        slow_start.wait(PART, HostKey(f"http://{n}.a.test"))
    assert slow_start.end_wait(HostKey("http://1.a.test")) == (PART,)
    assert slow_start.pop_waiting(PART) == "http://0.a.test"
    assert slow_start.pop_waiting(PART) == "http://2.a.test"
    assert slow_start.pop_waiting(PART) is None
    assert slow_start.end_wait(HostKey("http://0.a.test")) == (PART,), "it was woken for this part"
    assert slow_start.end_wait(HostKey("http://0.a.test")) == ()


@pytest.mark.parametrize("stop", [3.0, 21.0])
def test_visits_that_an_ended_order_has_not_made_are_not_awaited(stop: float) -> None:
    """A fetcher that is stopped returns its orders. Hosts then stood for a minute."""
    stops_at = START + stop

    def answer(url: str) -> dict[str, object]:
        is_stopped = stops_at <= sim.now < stops_at + 3.0
        return {"outcome": Outcome.UNVISITED} if is_stopped else {"took": 0.1}

    sim = Simulation(answer, alone=False, worth_parking=True, delay=1.0, batch=10, site_gap=0.25)
    sim.give_verdict = make_verdict
    for host in ("a.test", "b.a.test"):
        sim.admit(*(f"http://{host}/{n % 5}/{n}" for n in range(100)), depth=1)
    sim.run()
    starts = defaultdict[str, list[float]](list)
    for at, _, url in sim.visits:
        starts[host_key(url)].append(at)
    longest = max(after - before for own in starts.values() for before, after in pairwise(own))
    assert len(sim.pages()) == 200 and longest < 10.0
