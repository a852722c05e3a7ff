"""A host with many new URLs and changing pages: neither queue waits for all of the other."""

from itertools import pairwise

import pytest

from gossamer.events import DEFAULT_CRAWL, Discovery, RefetchRequested
from gossamer.web.url import Site
from tests.frontier.simulation import START, Simulation
from tests.frontier.test_revisits import DAY, HOST, HOUR, Changing, define, visits

QUICK = f"{HOST}/quick"
NEW_URLS = 3000
KNOWN = 300


def hourly(**fields: object) -> Simulation:
    """A host with a visit each ten seconds, a page that changes each hour, and pages that never
    change."""
    sim, quick, slow = Simulation(delay=10.0, url_budget=0), Changing(HOUR), Changing()
    sim.give_verdict = lambda ended: (quick if ended.visit.url == QUICK else slow)(ended)
    define(sim, **{"revisit": "optimal", **fields})
    sim.admit(QUICK, priority=-8)
    admit_links(sim, [f"{HOST}/known-{number}" for number in range(60)])
    return sim


NEW = [f"{HOST}/{number}" for number in range(NEW_URLS)]


def admit_links(sim: Simulation, urls: list[str] = NEW) -> None:
    """Admit all URLs at once, as the links of one page."""
    sim.admit_links(*(Discovery(url, 5) for url in urls), via="test")


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, pytest.param(20_000, marks=pytest.mark.long)])
def test_hourly_page_is_revisited_while_thousands_of_new_urls_wait(
    budget: int,
) -> None:
    sim = hourly(budget=budget)
    sim.run(START + 2 * DAY)
    admit_links(sim)
    queued_at = sim.now
    sim.run(queued_at + 7 * HOUR)
    made = [at for at in visits(sim, QUICK) if at > queued_at - START]
    assert max(after - before for before, after in pairwise(made)) < 2 * HOUR
    # Most visits still go to the new URLs, in their order.
    new = {*NEW}
    found = [*dict.fromkeys(url for url in sim.pages() if url in new)]
    assert len(found) > 0.6 * 7 * HOUR / 10
    assert found == NEW[: len(found)] and len(found) < NEW_URLS


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, pytest.param(0.7, marks=pytest.mark.long)])
def test_new_urls_get_configured_share_while_both_queues_wait(share: float) -> None:
    sim = Simulation(delay=10.0, url_budget=0)
    sim.give_verdict = Changing()
    # Each page is due again before all pages were visited once more.
    define(sim, revisit="fixed:30m", discovery_share=share)
    known = [f"{HOST}/known-{number}" for number in range(KNOWN)]
    admit_links(sim, known)
    sim.run(START + 3 * HOUR)
    admit_links(sim)
    before = len(sim.pages())
    sim.run(sim.now + 3 * HOUR)
    made = sim.pages()[before:]
    assert len(made) > 1000
    assert share - 0.05 < len({*made} & {*NEW}) / len(made) < share + 0.05


@pytest.mark.slow
def test_refetch_does_not_wait_for_all_new_urls() -> None:
    sim = hourly(revisit="none")
    sim.run(START + HOUR)
    admit_links(sim)
    sim.run(sim.now + HOUR)
    requested_at = sim.now - START
    sim.handle(RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(QUICK,)))
    sim.run(sim.now + 0.2 * HOUR)
    assert requested_at < visits(sim, QUICK)[-1] < requested_at + 300


@pytest.mark.long
def test_revisits_fit_beside_share_of_new_urls() -> None:
    sim = Simulation(delay=60.0)
    sim.give_verdict = Changing(DAY)
    define(sim, revisit="optimal", discovery_share=0.7)
    admit_links(sim, [f"{HOST}/known-{number}" for number in range(KNOWN)])
    sim.run(START + 4 * DAY)
    admit_links(sim)
    sim.run(sim.now + 1.5 * DAY)
    row = sim.row()
    assert row.of(DEFAULT_CRAWL).new.queued > 100
    assert row.of(DEFAULT_CRAWL).again.queued < 150
