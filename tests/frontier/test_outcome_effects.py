"""The tables of check-in and check-out: effects of outcomes, and fates of URLs."""

from itertools import product

import pytest

from gossamer.events import OrderId, Outcome, Purpose, Visit, VisitEnded
from gossamer.web.url import HostKey, Site
from services.frontier.features.ended_visit import EndedVisit
from services.frontier.partition.workbench import Host
from services.frontier.steps.checkin import OUTCOME_EFFECTS
from services.frontier.steps.queue_fates import QUEUE_FATES
from services.frontier.tables.hosts import HostRow
from tests.frontier.simulation import START, Simulation

SITE, HOST = Site("a.test"), HostKey("http://a.test")
NOBODY = HostKey("")


def event_of(
    outcome: Outcome,
    purpose: Purpose,
    on_behalf_of: HostKey = NOBODY,
    started_at: float = START,
) -> VisitEnded:
    return VisitEnded(
        at=START,
        site=SITE,
        host=HOST,
        order=OrderId("1.1"),
        epoch=1,
        index=0,
        last=True,
        visit=Visit(id="1.1.0@x", url=f"{HOST}/x", purpose=purpose, on_behalf_of=on_behalf_of),
        outcome=outcome,
        started_at=started_at,
    )


def ended(event: VisitEnded, *, is_erased: bool = False) -> EndedVisit:
    sim = Simulation()
    sim.admit(f"{HOST}/")
    host = Host(HostRow(SITE, HOST))
    partition, share = sim.partition(SITE), sim.share(SITE)
    return EndedVisit(partition, share, host, event, sim.settings, START, is_erased)


def effects_of(visit: EndedVisit) -> list[str]:
    return [effect.name for effect in OUTCOME_EFFECTS if effect.applies(visit)]


@pytest.mark.parametrize("purpose", Purpose)
def test_one_effect_decides_what_becomes_of_the_url_of_each_outcome(purpose: Purpose) -> None:
    visit = ended(event_of(Outcome.PAGE, purpose))
    for outcome, is_erased, on_behalf_of, is_tried in product(
        Outcome, (False, True), ("", "http://b.test"), (False, True)
    ):
        visit.event = event_of(outcome, purpose, HostKey(on_behalf_of))
        visit.is_erased, visit.is_tried_signed = is_erased, is_tried
        deciding = [one.name for one in OUTCOME_EFFECTS if one.decides and one.applies(visit)]
        assert len(deciding) == 1, (outcome, is_erased, on_behalf_of, is_tried, deciding)


def test_page_that_was_erased_after_its_order_stores_nothing_about_its_url() -> None:
    effects = effects_of(ended(event_of(Outcome.PAGE, Purpose.PAGE), is_erased=True))
    assert not {"URL", "signing", "capture"} & {*effects}
    assert {"on behalf", "delay"} <= {*effects}, "the host's delay still counts"


def test_order_that_comes_back_without_a_request_starts_no_delay() -> None:
    effects = effects_of(ended(event_of(Outcome.UNVISITED, Purpose.PAGE, started_at=0.0)))
    assert "returned order" in effects and not {"delay", "strain"} & {*effects}


@pytest.mark.parametrize("table", [OUTCOME_EFFECTS, QUEUE_FATES])
def test_names_are_unique_and_texts_complete_a_sentence(
    table: tuple[tuple[str, str], ...],
) -> None:
    names = [row[0] for row in table]
    assert len({*names}) == len(names)
    for row in table:
        assert row[1][0].islower() and not row[1].endswith(".")
