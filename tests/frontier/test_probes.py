"""The visit by which a host is known, as the frontier orders it and takes it in."""

from collections.abc import Mapping

import pytest

from gossamer.events import HostCheckedOut, MissingPageRead, Outcome, Purpose
from gossamer.web.soft_404 import NO_SIGNATURE, missing_page
from services.frontier.rows import HostRow
from tests.frontier.simulation import Simulation

HOST = "http://a.test"


def probes(sim: Simulation) -> list[HostCheckedOut]:
    orders = [order for _, order in sim.orders]
    return [order for order in orders if order.visits[0].purpose is Purpose.PROBE]


def simulation(outcome: Outcome, **fields: object) -> Simulation:
    """Return one in which what nobody links to has *outcome* at first."""
    answers: list[Mapping[str, object]] = [{"outcome": outcome, **fields}]

    def answer(url: str) -> Mapping[str, object]:
        linked = len(url) < 30
        return {} if linked or not answers else answers.pop()

    sim = Simulation(answer, probe_after=3, batch=3, delay=1.0)
    sim.admit(*(f"{HOST}/{n}" for n in range(10)))
    return sim


def test_a_probe_has_an_order_of_its_own_and_the_queue_goes_on() -> None:
    sim = simulation(Outcome.GONE, status=404)
    sim.run()
    [order] = probes(sim)
    assert [visit.url for visit in order.visits] == [missing_page(HOST, order.order)]
    assert [url for url in sim.pages() if len(url) < 30] == [f"{HOST}/{n}" for n in range(10)]
    signatures = [one.signature for _, one in sim.orders]
    turn = next(at for at, (_, one) in enumerate(sim.orders) if one is order)
    assert turn == 2 and signatures[: turn + 1] == [NO_SIGNATURE] * 3
    assert {one.status for one in signatures[turn + 1 :]} == {404}


def test_its_text_joins_the_signature_when_it_is_read() -> None:
    sim = simulation(Outcome.PAGE, status=200)
    sim.run(until=sim.now + 6.5)
    assert probes(sim)
    sim.handle(MissingPageRead(at=sim.now, site="a.test", host=HOST, digest="d", simhash="5"))
    sim.run()
    assert len(probes(sim)) == 1
    last = sim.orders[-1][1].signature
    assert (last.status, last.digest, last.simhash) == (200, "d", "5")
    assert last.at > 0


@pytest.mark.parametrize(
    ("outcome", "times"),
    [(Outcome.BUSY, 1), (Outcome.HOST_DOWN, 1), (Outcome.BROKEN, 1), (Outcome.UNVISITED, 2)],
)
def test_whatever_comes_of_it_it_is_made_once_and_holds_nothing_up(
    outcome: Outcome, times: int
) -> None:
    sim = simulation(outcome)
    sim.run()
    assert len(probes(sim)) == times
    assert [url for url in sim.pages() if len(url) < 30] == [f"{HOST}/{n}" for n in range(10)]
    [row] = sim.store.table(HostRow).everything()
    assert row.signature and row.queued == 0


def test_a_host_that_nobody_knows_learns_nothing() -> None:
    sim = Simulation()
    sim.handle(MissingPageRead(at=sim.now, site="b.test", host="http://b.test", digest="d"))
    assert list(sim.store.table(HostRow).everything()) == []
