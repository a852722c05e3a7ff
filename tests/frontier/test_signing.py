"""Hosts that ask for signatures, with `fetcher.sign = asked`."""

from collections.abc import Mapping

import pytest

from gossamer.events import ErasureRequested, HostCheckedOut, Outcome, Purpose
from gossamer.services.frontier.tables.hosts import HostSigning, SigningState
from gossamer.web.robots import RobotsRules
from gossamer.web.url import Site
from tests.frontier.simulation import Simulation

HOST = "http://a.test"
URLS = [f"{HOST}/{n}" for n in range(6)]
ASKED: Mapping[str, object] = {"outcome": Outcome.SIGNATURE_ASKED, "status": 403}


def orders_of(sim: Simulation) -> list[HostCheckedOut]:
    return [order for _, order in sim.orders if order.visits[0].purpose is not Purpose.ROBOTS]


def simulation(
    signed: Mapping[str, object], mode: str = "asked", protected: tuple[str, ...] = ("",)
) -> Simulation:
    """Return a simulation of a host that asks for signatures at URLs that contain one of
    *protected*, and answers *signed* to signed requests for them."""

    def answer(url: str) -> Mapping[str, object]:
        if url.endswith("/robots.txt") and "robots" not in protected:
            return {}
        if "robots" not in protected and not any(part in url for part in protected):
            return {}
        return signed if sim.orders[-1][1].sign else ASKED

    sim = Simulation(answer, sign=mode, batch=3, delay=1.0)
    sim.admit(*URLS)
    return sim


def test_host_that_admits_signed_requests_gets_only_signed_ones() -> None:
    sim = simulation({})
    sim.run()
    assert sim.row().signing.state is SigningState.ADMITTED
    assert sorted(sim.pages()) == sorted([*URLS, URLS[0]])
    assert [order.sign for order in orders_of(sim)] == [False] + [True] * (len(orders_of(sim)) - 1)
    for url in URLS:
        found = sim.url_row(url)
        assert found and (found.outcome, found.queued) == (Outcome.PAGE, False)


@pytest.mark.parametrize("refusal", [ASKED, {"outcome": Outcome.CLIENT_ERROR, "status": 403}])
def test_host_that_refuses_signed_requests_is_not_signed_to_any_more(
    refusal: Mapping[str, object],
) -> None:
    sim = simulation(refusal, protected=("/0",))
    sim.run()
    assert sim.row().signing.state is SigningState.REFUSED
    assert sim.pages().count(URLS[0]) == 2
    assert sorted(set(sim.pages())) == URLS
    assert len(sim.pages()) == len(URLS) + 1
    assert sim.pages()[:2] == [URLS[0]] * 2
    sim.admit(f"{HOST}/later/0")
    sim.run()
    assert sim.pages()[-1] == f"{HOST}/later/0" and not sim.orders[-1][1].sign
    assert sim.pages().count(f"{HOST}/later/0") == 1


def test_refused_urls_of_a_host_that_refused_are_requested_once() -> None:
    sim = simulation(ASKED)
    sim.run()
    counts = [sim.pages().count(url) for url in URLS]
    assert sorted(counts) == [1] * 5 + [2]


@pytest.mark.parametrize("mode", ["never", "always"])
def test_nothing_is_repeated_in_other_modes(mode: str) -> None:
    sim = simulation(ASKED, mode)
    sim.run()
    assert sorted(sim.pages()) == URLS
    assert sim.row().signing.state is None
    assert {order.sign for _, order in sim.orders} == {mode == "always"}


def test_failing_server_leaves_the_trial_open() -> None:
    sim = simulation({"outcome": Outcome.SERVER_ERROR, "status": 500}, protected=("/0",))
    sim.run(until=sim.now + 60)
    assert sim.row().signing.state is SigningState.TRIED
    assert sim.row().signing.url == URLS[0]


def test_robots_txt_that_asks_is_requested_again_before_any_page() -> None:
    allowed = {"robots": RobotsRules(fetched_at=0.0, expires_at=9e9)}
    sim = simulation(allowed, protected=("robots",))
    sim.run()
    visited = [url for _, _, url in sim.visits]
    assert visited[:2] == [f"{HOST}/robots.txt"] * 2
    assert [order.sign for _, order in sim.orders[:2]] == [False, True]
    assert sim.row().signing.state is SigningState.ADMITTED


def test_asking_host_is_not_blamed() -> None:
    sim = simulation(ASKED, "never")
    sim.run()
    politeness = sim.row().politeness
    assert (politeness.strain, politeness.failures) == (0, {})
    assert sim.row().backoff_cause is None


def test_state_of_the_host_survives_a_crash() -> None:
    sim = simulation({})
    sim.run(until=sim.now + 2.5)
    assert sim.row().signing.state is not None
    sim.start()
    sim.run()
    assert sim.row().signing.state is SigningState.ADMITTED


def test_erased_url_of_a_trial_is_not_kept() -> None:
    sim = simulation({"outcome": Outcome.SERVER_ERROR, "status": 500}, protected=("/0",))
    sim.run(until=sim.now + 60)
    assert sim.row().signing.url == URLS[0]
    sim.handle(ErasureRequested(at=sim.now, site=Site("a.test"), url=URLS[0]))
    assert sim.row().signing == HostSigning()
