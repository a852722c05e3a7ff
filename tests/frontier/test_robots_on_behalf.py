"""Visits to robots.txt on behalf of other hosts: few visits answer many hosts."""

import pytest

from gossamer.events import Outcome, RobotsRequested
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import START, Simulation

OWNER = "http://owner.test"
ASKERS = [f"http://parked{n}.test" for n in range(30)]


def ask(sim: Simulation, url: str, *askers: str) -> None:
    for asker in askers:
        sim.handle(
            RobotsRequested(
                at=sim.now, site=Site("owner.test"), url=url, on_behalf_of=HostKey(asker), hops=1
            )
        )


def test_robots_txt_of_many_hosts_at_one_host_is_visited_once() -> None:
    sim = Simulation(delay=1.0, batch=4)
    ask(sim, f"{OWNER}/robots.txt", *ASKERS)
    sim.run()
    assert [url for _, _, url in sim.visits] == [f"{OWNER}/robots.txt"]
    assert [answer.host for answer in sim.answers] == ASKERS
    assert all(answer.site == answer.host.removeprefix("http://") for answer in sim.answers)
    assert all(answer.robots and not answer.robots.forbidden for answer in sim.answers)
    assert sim.frontier.due() is None


def test_pages_between_robots_visits_on_behalf_keep_their_order() -> None:
    sim = Simulation(delay=1.0, batch=4)
    sim.admit(f"{OWNER}/1")
    ask(sim, f"{OWNER}/robots.txt", *ASKERS[:5])
    sim.admit(f"{OWNER}/2", f"{OWNER}/3")
    ask(sim, f"{OWNER}/robots.txt", *ASKERS[5:])
    sim.admit(f"{OWNER}/4")
    sim.run()
    assert [url[len(OWNER) :] for _, _, url in sim.visits] == [
        "/robots.txt",
        "/1",
        "/2",
        "/3",
        "/4",
    ]
    assert [answer.host for answer in sim.answers] == ASKERS


@pytest.mark.parametrize("repeated", [False, True])
def test_robots_txt_as_page_is_visited_beside_visits_on_behalf(
    repeated: bool,
) -> None:
    sim = Simulation(delay=1.0)
    ask(sim, f"{OWNER}/elsewhere.txt", *ASKERS[:2])
    sim.admit(f"{OWNER}/elsewhere.txt", repeated=repeated)
    sim.run()
    pages = [(url, order.visits[index].on_behalf_of) for _, order in sim.orders
             for index, url in enumerate(visit.url for visit in order.visits)]  # fmt: skip
    assert (f"{OWNER}/elsewhere.txt", "") in pages
    assert not sim.answers, "a file that is not the robots.txt of its host is visited for each host"


def test_unreachable_robots_txt_gives_no_answer_on_behalf() -> None:
    broken = RobotsRules(forbidden="robots.txt answered 500")
    answers = iter([{"outcome": Outcome.SERVER_ERROR, "status": 500, "robots": broken}])
    sim = Simulation(lambda url: next(answers, {}), delay=1.0)
    ask(sim, f"{OWNER}/robots.txt", *ASKERS)
    sim.run(until=START + 60.0)
    assert not sim.answers
    sim.run()
    assert len(sim.visits) == 2 and len(sim.answers) == len(ASKERS)
