"""A strained server is visited more slowly, and then as before again."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Outcome
from gossamer.services.frontier.features.strain import MAX_STRAIN
from gossamer.services.frontier.partition.politeness import MAX_STRAINED_DELAY, strained_delay
from tests.frontier.simulation import Simulation

ERROR = {"outcome": Outcome.SERVER_ERROR, "status": 500}


class Server:
    """Takes this long, or has this outcome, from the visit *since* until the visit *until*."""

    def __init__(self, since: int, until: int, **answer: object) -> None:
        self.visits, self._bad, self._answer = 0, range(since, until), answer

    def __call__(self, url: str) -> Mapping[str, object]:
        self.visits += 1
        return {"took": 0.2, **(self._answer if self.visits in self._bad else {})}


def gaps(server: Server, pages: int) -> list[float]:
    sim = Simulation(server, batch=1, retries=9)
    sim.admit(*(f"http://a.test/{number}" for number in range(pages)))
    sim.run()
    assert len(set(sim.pages())) == pages
    return [round(gap, 3) for _, gap in sim.gaps()][:pages]


@pytest.mark.parametrize("answer", [ERROR, {"took": 4.0}], ids=["errors", "slow"])
def test_strain_doubles_delay_and_success_halves_it(answer: dict[str, object]) -> None:
    found = gaps(Server(10, 14, **answer), 24)
    assert found[:8] == [1.0] * 8
    assert found[9:18] == [2.0, 4.0, 8.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0]


def test_delay_of_permanently_slow_server_returns_to_normal() -> None:
    found = gaps(Server(20, 10_000, took=2.0), 150)
    assert max(found) == 60.0 and found[-1] == 1.0


def test_strain_survives_restart() -> None:
    sim = Simulation(Server(4, 8, **ERROR), batch=1)
    sim.admit(*(f"http://a.test/{number}" for number in range(20)))
    while sim.row().politeness.strain < 3:
        sim.run(steps=1)
    sim.start()
    assert sim.row().politeness.strain == 3


def test_server_that_is_always_slow_has_no_strain() -> None:
    assert set(gaps(Server(0, 10_000, took=5.0), 30)) == {1.0}


@given(st.floats(0, 1e5), st.integers(0, MAX_STRAIN))
def test_strained_delay_is_never_shorter(delay: float, strain: int) -> None:
    assert delay <= strained_delay(delay, strain) <= max(delay, MAX_STRAINED_DELAY)


@pytest.mark.parametrize("took", [1.3, 8.0])
def test_slow_host_with_quick_robots_txt_keeps_its_delay(took: float) -> None:
    sim = Simulation(lambda url: {"took": 0.001 if "robots.txt" in url else took}, batch=1)
    sim.admit(*(f"http://a.test/{number}" for number in range(20)))
    while len(sim.pages()) < 20:
        sim.run(steps=1)
        assert sim.row().politeness.strain == 0


def test_slow_robots_txt_adds_no_strain_and_error_does() -> None:
    sim = Simulation(Server(1, 2, took=9.0), batch=1)
    sim.admit("http://a.test/1")
    sim.run()
    assert (sim.row().politeness.strain, sim.row().politeness.usual_took) == (0, 0.2)
    busy = Simulation(lambda url: ERROR if "robots.txt" in url else {}, batch=1)
    busy.admit("http://a.test/1")
    while not busy.visits:
        busy.run(steps=1)
    busy.run(steps=1)
    assert busy.row().politeness.strain == 1
