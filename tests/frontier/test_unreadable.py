"""A host with unreadable pages is postponed for a growing time, and keeps its URLs."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gossamer.events import PageDeduplicated, RetryRequested, Verdict, VisitEnded
from gossamer.events.hazards import Hazard
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import START, Simulation, make_verdict

HOST, OTHER = HostKey("http://bad.test"), "http://good.test"
WAIT, DAY = 600.0, 86400.0
LIMIT, DELAY = 5, 1.0

Readable = Callable[[VisitEnded], bool]


def never(ended: VisitEnded) -> bool:
    return ended.host == OTHER


def make_simulation(readable: Readable = never, count: int = 40, **settings: object) -> Simulation:
    """Return a frontier whose *count* URLs of each host are parsed at once."""

    def give_verdict(ended: VisitEnded) -> PageDeduplicated:
        verdict = Verdict.FIRST if readable(ended) else Verdict.UNREADABLE
        return make_verdict(ended, verdict=verdict, fetched_at=ended.started_at)

    given = {"unreadable_limit": LIMIT, "unreadable_wait": WAIT, "delay": DELAY, **settings}
    sim = Simulation(**given)  # type: ignore[arg-type]
    sim.give_verdict = give_verdict
    sim.admit(*(f"{host}/{number}" for number in range(count) for host in (HOST, OTHER)))
    return sim


def visit_times(sim: Simulation, host: str = HOST) -> list[float]:
    return [at for at, _, url in sim.visits if url.startswith(f"{host}/") and "robots" not in url]


def test_unreadable_host_is_tried_with_growing_backoff_and_others_continue() -> None:
    sim = make_simulation()
    sim.run(START + 300.0)
    assert len(visit_times(sim, OTHER)) == 40
    row = sim.row(HOST)
    assert row.condition is Condition.BACKING_OFF
    assert row.backoff_reason and row.backoff_reason.startswith("the last ")
    assert row.backoff_reason.endswith(" pages were unreadable")
    sim.run(START + 5 * DAY)
    at = visit_times(sim)
    # An order in flight is completed, and the postponement starts at the fifth page.
    first = next(n for n in range(1, len(at)) if at[n] - at[n - 1] > 10 * DELAY)
    assert LIMIT <= first <= LIMIT + 10
    waits = [later - sooner for sooner, later in zip(at[first - 1 :], at[first:], strict=False)]
    expected = [min(WAIT * 2**n, DAY) for n in range(len(waits))]
    assert waits == pytest.approx(expected, abs=10 * DELAY)
    assert len(at) == len(set(at)) < 40


def test_readable_page_ends_postponement() -> None:
    sim = make_simulation(lambda ended: ended.host == OTHER or ended.at > START + WAIT)
    sim.run(START + DAY)
    assert len(visit_times(sim)) == len(visit_times(sim, OTHER)) == 40


def test_unreadable_pages_between_readable_ones_postpone_nothing() -> None:
    sim = make_simulation(lambda ended: ended.visit.url.endswith(("0", "4", "8")))
    sim.run(START + 300.0)
    assert len(visit_times(sim)) == 40


def test_unreadable_limit_of_zero_postpones_nothing() -> None:
    sim = make_simulation(unreadable_limit=0)
    sim.run(START + 300.0)
    assert len(visit_times(sim)) == 40


def test_postponement_survives_restart() -> None:
    sim = make_simulation()
    sim.run(START + 300.0)
    before = len(visit_times(sim))
    sim.start()
    sim.run(START + WAIT / 2)
    assert len(visit_times(sim)) == before


def test_retry_ends_postponement() -> None:
    sim = make_simulation()
    sim.run(START + 300.0)
    before = len(visit_times(sim))
    sim.handle(RetryRequested(at=sim.now, site=Site("bad.test"), host=HOST, urls=()))
    sim.run(sim.now + 60.0)
    assert len(visit_times(sim)) >= before + LIMIT


def test_unreadable_page_that_is_visited_again_after_crashes_counts_once() -> None:
    sim = make_simulation(lambda ended: not ended.visit.url.endswith("/7"))
    give_verdict, verdicts = sim.give_verdict, list[PageDeduplicated]()

    def repeat_verdict(ended: VisitEnded) -> PageDeduplicated:
        assert give_verdict
        verdict = give_verdict(ended)
        if verdict.verdict is Verdict.UNREADABLE:
            # The fetcher published the page and crashed before it reported the visit, again and
            # again.
            for number in range(LIMIT):
                visit = replace(ended.visit, id=f"{ended.visit.id}-{number}")
                verdicts.append(replace(verdict, visit=visit))
        return verdict

    sim.give_verdict = repeat_verdict
    sim.run(START + 10.0)
    for verdict in verdicts:
        sim.handle(verdict)
    sim.run(START + 300.0)
    assert verdicts
    assert len(visit_times(sim)) == 40


def test_pages_on_which_a_reader_fails_do_not_postpone_their_host() -> None:
    """dgtlmoon/changedetection.io#4272, the kind: all pages of a site have half of an emoji."""
    sim = make_simulation()
    give_verdict = sim.give_verdict
    assert give_verdict

    def give_failed(ended: VisitEnded) -> PageDeduplicated:
        hazards = (Hazard.PARSER_FAULT.value, Hazard.READER_FAILED.value)
        return replace(give_verdict(ended), hazards=hazards)

    sim.give_verdict = give_failed
    sim.run(START + 300.0)
    assert len(visit_times(sim)) == 40
    assert sim.row(HOST).condition is not Condition.BACKING_OFF
