"""Links outside the scope wait in the store until a wider crawl takes them up."""

from gossamer.events import Discovery, LinksSetAside, UrlsDiscovered
from services.frontier.aside import SEGMENT
from tests.frontier.simulation import Simulation, crawl


def test_wider_scope_takes_up_all_links_of_all_segments() -> None:
    sim = Simulation()
    sim.handle(crawl(scope="host('a.test')"))
    links = [f"http://b.test/{n}" for n in range(2 * SEGMENT + 10)]
    for url in links:
        found = (Discovery(url, 1),)
        outside = LinksSetAside(at=sim.now, site="a.test", via=f"visit of {url}", urls=found)
        assert [*sim.frontier.handle(outside, sim.now)] == []
    sim.handle(crawl(scope="any()"))
    taken_up: list[str] = []
    while (due := sim.frontier.due()) is not None and due <= sim.now:
        for event in sim.frontier.wake(sim.now):
            assert isinstance(event, UrlsDiscovered)
            taken_up += [link.url for link in event.urls]
        sim.frontier.settle()
    assert sorted(taken_up) == sorted(links)
