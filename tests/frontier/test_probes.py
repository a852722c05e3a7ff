"""Probes, as the frontier orders and applies them."""

from collections.abc import Mapping

import pytest

from gossamer.events import (
    BlocklistChanged,
    Event,
    HostCheckedOut,
    MissingPageRead,
    Outcome,
    Purpose,
)
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.web.soft_404 import NO_SIGNATURE, missing_page
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import Simulation, crawl

HOST = HostKey("http://a.test")


def probes(sim: Simulation) -> list[HostCheckedOut]:
    orders = [order for _, order in sim.orders]
    return [order for order in orders if order.visits[0].purpose is Purpose.PROBE]


def simulation(outcome: Outcome, **fields: object) -> Simulation:
    """Return a simulation in which URLs without links have *outcome* at first."""
    answers: list[Mapping[str, object]] = [{"outcome": outcome, **fields}]

    def answer(url: str) -> Mapping[str, object]:
        linked = len(url) < 30
        return {} if linked or not answers else answers.pop()

    sim = Simulation(answer, probe_after=3, batch=3, delay=1.0)
    sim.admit(*(f"{HOST}/{n}" for n in range(10)))
    return sim


def test_probe_has_its_own_order_and_queue_continues() -> None:
    sim = simulation(Outcome.GONE, status=404)
    sim.run()
    [order] = probes(sim)
    assert [visit.url for visit in order.visits] == [missing_page(HOST, order.order)]
    assert [url for url in sim.pages() if len(url) < 30] == [f"{HOST}/{n}" for n in range(10)]
    signatures = [one.signature for _, one in sim.orders]
    turn = next(at for at, (_, one) in enumerate(sim.orders) if one is order)
    assert turn == 2 and signatures[: turn + 1] == [NO_SIGNATURE] * 3
    assert {one.status for one in signatures[turn + 1 :]} == {404}


def test_signature_gets_text_of_probe_when_parsed() -> None:
    sim = simulation(Outcome.PAGE, status=200)
    sim.run(until=sim.now + 6.5)
    assert probes(sim)
    sim.handle(MissingPageRead(at=sim.now, site=Site("a.test"), host=HOST, digest="d", simhash="5"))
    sim.run()
    assert len(probes(sim)) == 1
    last = sim.orders[-1][1].signature
    assert (last.status, last.digest, last.simhash) == (200, "d", "5")
    assert last.at > 0


@pytest.mark.parametrize(
    ("outcome", "times"),
    [(Outcome.BUSY, 1), (Outcome.HOST_DOWN, 1), (Outcome.BROKEN, 1), (Outcome.UNVISITED, 2)],
)
def test_probe_is_made_once_for_any_outcome_without_delay_of_pages(
    outcome: Outcome, times: int
) -> None:
    sim = simulation(outcome)
    sim.run()
    assert len(probes(sim)) == times
    assert [url for url in sim.pages() if len(url) < 30] == [f"{HOST}/{n}" for n in range(10)]
    [row] = sim.store.table(HostRow).everything()
    assert row.signature and row.queued == 0


def test_signature_of_unknown_host_is_dropped() -> None:
    sim = Simulation()
    sim.handle(
        MissingPageRead(at=sim.now, site=Site("b.test"), host=HostKey("http://b.test"), digest="d")
    )
    assert list(sim.store.table(HostRow).everything()) == []


@pytest.mark.parametrize(
    "exclude", [BlocklistChanged(at=0.0, rule="a.test"), crawl(scope="domain('b.test')")]
)
def test_host_whose_urls_are_excluded_is_not_probed(exclude: Event) -> None:
    sim = simulation(Outcome.GONE, status=404)
    while len(sim.pages()) < 3:
        sim.run(steps=1)
    before = len(sim.visits)
    sim.handle(exclude)
    sim.run()
    assert sim.visits[before:] == [] and probes(sim) == []
