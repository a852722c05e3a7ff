"""The weight of pages: links from other sites, and operator requests."""

import pytest

from gossamer.events import RefetchRequested
from gossamer.services.frontier.revisit import unpack_page
from gossamer.web.url import Site
from tests.frontier.simulation import START, Simulation
from tests.frontier.test_revisits import DAY, HOST, URL, plan, simulate, visits


def weight(sim: Simulation, url: str = URL) -> float:
    return unpack_page(plan(sim, url).statistics).weight


def test_page_linked_from_another_site_has_higher_weight() -> None:
    sim = simulate("optimal")
    for n, via in enumerate(("1.0.0@http://b.test/", "1.0.1@http://a.test/", "seed@seeds/0/3")):
        sim.admit_links(f"{HOST}/{n}", via=via)
    sim.run(START + 60)
    weights = [weight(sim, f"{HOST}/{n}") for n in range(3)]
    assert weights[0] > 1.3 * weights[1] and weights[1] == weights[2]


@pytest.mark.long
def test_requested_page_has_higher_weight_for_some_months() -> None:
    sim = simulate("optimal", budget=1)
    sim.admit(URL)
    sim.run(START + DAY)
    before = weight(sim)
    sim.handle(RefetchRequested(at=sim.now, site=Site("a.test"), host=HOST, urls=(URL,)))
    sim.run(START + 1.2 * DAY)
    asked = len(visits(sim))
    assert 1.9 * before < weight(sim) < 2.1 * before
    sim.run(START + 300 * DAY)
    assert len(visits(sim)) > asked
    assert weight(sim) < 1.1 * before
