"""The age of a robots.txt at hosts with a long Crawl-delay, in virtual time."""

from collections.abc import Callable, Mapping
from itertools import pairwise

import pytest

from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import START, Simulation

AGE, PACE = 3600.0, 1.0
ROBOTS = "http://a.test/robots.txt"
DAY = 86400.0


def simulate(crawl_delay: Callable[[float], float], **settings: object) -> Simulation:
    """Return a simulation of hosts whose robots.txt, valid for AGE, asks at a time for a delay."""

    def answer(url: str) -> Mapping[str, object]:
        if not url.endswith("/robots.txt"):
            return {}
        now = sim.now
        rules = RobotsRules(crawl_delay=crawl_delay(now), fetched_at=now, expires_at=now + AGE)
        return {"robots": rules}

    sim = Simulation(answer, **{"delay": PACE, **settings})  # type: ignore[arg-type]
    return sim


def starts(sim: Simulation, *, robots: bool, host: str = "http://a.test") -> list[float]:
    return [
        start
        for start, _, url in sorted(sim.visits)
        if url.startswith(host + "/") and url.endswith("/robots.txt") is robots
    ]


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


@pytest.mark.parametrize("delay", [1800.0, 3600.0, 5000.0, DAY, 1e300])
def test_robots_txt_is_read_at_its_age_whatever_the_delay(delay: float) -> None:
    """Reports Meziantou #2620, stormcrawler #768, #1979: a mended file is read at its age."""
    sim = simulate(lambda now: delay)
    sim.admit(*(f"http://a.test/{page}" for page in range(4)))
    sim.run()
    limited = min(delay, DAY)
    pages, files = starts(sim, robots=False), starts(sim, robots=True)
    assert len(pages) == 4
    assert all(limited <= gap <= limited + 2 * PACE for gap in gaps(pages))
    while_waiting = [at for at in files if at < pages[-1]]
    assert max(gaps(while_waiting), default=0.0) <= max(AGE, min(limited, AGE)) + 2 * PACE
    assert min(gap for _, gap in sim.gaps()) >= PACE


def test_mended_crawl_delay_holds_from_the_next_robots_txt() -> None:
    """Report Meziantou #2620: the typo is not for ever."""
    sim = simulate(lambda now: 1e300 if now < START + 1000 else 0.0)
    sim.admit(*(f"http://a.test/{page}" for page in range(4)))
    sim.run()
    pages = starts(sim, robots=False)
    assert pages[0] == pytest.approx(START + AGE + PACE)
    assert gaps(pages) == pytest.approx([PACE] * 3)


def test_longer_crawl_delay_holds_from_the_last_page() -> None:
    sim = simulate(lambda now: 5000.0 if now < START + 1000 else 10_000.0)
    sim.admit("http://a.test/0", "http://a.test/1")
    sim.run()
    first, second = starts(sim, robots=False)
    assert first == pytest.approx(START + 10_000.0)
    assert second == pytest.approx(first + 10_000.0)


def test_delay_of_one_scheme_does_not_delay_the_robots_txt_of_another() -> None:
    sim = simulate(lambda now: DAY)
    sim.admit("http://a.test/0", "http://a.test/1", "https://a.test/0")
    sim.run()
    assert starts(sim, robots=True, host="https://a.test")[0] <= START + 2 * PACE
    pages = sorted(starts(sim, robots=False) + starts(sim, robots=False, host="https://a.test"))
    assert len(pages) == 3
    assert min(gaps(pages)) >= DAY
    everything = sorted(start for start, _, _ in sim.visits)
    assert min(gaps(everything)) >= PACE


def test_redirects_of_a_robots_txt_do_not_wait_for_its_crawl_delay() -> None:
    """Report Meziantou #2620: the order of a robots.txt pauses as without a Crawl-delay."""
    sim = simulate(lambda now: 1e300)
    sim.admit("http://a.test/0", "http://a.test/1")
    sim.run()
    pauses = {order.pause for _, order in sim.orders if order.visits[0].url == ROBOTS}
    assert pauses == {PACE}


@pytest.mark.parametrize("alone", [True, False])
def test_restarts_do_not_put_off_a_page_with_a_long_delay(alone: bool) -> None:
    """Report Meziantou #2620: runs that are shorter than the delay reach the page, too."""
    sim = simulate(lambda now: DAY, alone=alone)
    sim.admit("http://a.test/0", "http://a.test/1")
    sim.run(until=START + 100)
    for hours in range(2, 53, 3):
        sim.run(until=START + hours * 3600)
        sim.start()
    sim.run(until=START + 53 * 3600)
    first, second = starts(sim, robots=False)
    assert first >= START + DAY
    assert second - first >= DAY
    row = sim.store.table(HostRow).get(Site("a.test"), HostKey("http://a.test"))
    assert row and row.queued == 0


def test_erased_host_keeps_its_delay() -> None:
    sim = simulate(lambda now: DAY)
    sim.admit("http://a.test/0", "http://a.test/1")
    sim.run(until=START + DAY + 100)
    [first] = starts(sim, robots=False)
    host = sim.partition(Site("a.test")).find(Site("a.test"), HostKey("http://a.test"))
    sim.partition(Site("a.test")).erase(host, sim.now)
    assert host.row.ready_at >= first + DAY
