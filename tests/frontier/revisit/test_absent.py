"""Missing pages: confirmation, rechecks, and the end of their history."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events.outcomes import Absence
from gossamer.services.frontier.revisit import (
    CrawlState,
    PageState,
    Policy,
    SiteState,
    States,
    Visit,
    make_policy,
)
from gossamer.services.frontier.revisit.state import DAY

URL, BEGIN = "https://www.example.org/news", 1.7e9
NOTHING = States(PageState(weight=2.0), SiteState(), CrawlState(budget=100))
OPTIMAL, NONE = make_policy("optimal"), make_policy("none")
HOUR = 3600.0


def document(policy: Policy = OPTIMAL, visits: int = 5) -> States:
    states = NOTHING
    for n in range(visits):
        states = policy.record_visit(
            states, Visit(URL, BEGIN + (n - visits) * DAY, n % 2 == 1)
        ).states
    return states


def waits(states: States, kind: Absence, count: int) -> tuple[States, list[float]]:
    """Miss a page at each recheck; return the hours between rechecks."""
    at, found = BEGIN, []
    for _ in range(count):
        states, plan = OPTIMAL.record_absence(states, URL, at, kind)
        assert plan.at is not None
        found.append((plan.at - at) / HOUR)
        at = plan.at
    return states, found


@pytest.mark.parametrize("kind", [Absence.GONE, Absence.MOVED])
def test_gone_document_is_rechecked_soon_and_then_rarely(kind: Absence) -> None:
    states, found = waits(document(), kind, 8)
    assert found == pytest.approx([6, 24, 720, 1440, 2880, 4320, 4320, 4320], rel=0.06)
    assert states.page.visits == 0
    assert states.page.weight == 2.0
    assert states.crawl.pages == states.crawl.fresh == 0
    assert states.crawl.demand == pytest.approx(1 / 180)


def test_history_of_a_gone_document_is_dropped_after_two_more_misses() -> None:
    states, _ = waits(document(), Absence.GONE, 2)
    assert states.page.visits == 5
    states, _ = waits(document(), Absence.GONE, 3)
    assert states.page.visits == 0


def test_missing_url_without_a_document_is_rechecked_rarely() -> None:
    _, found = waits(NOTHING, Absence.GONE, 4)
    assert found == pytest.approx([720, 1440, 2880, 4320], rel=0.06)


def test_page_of_a_failing_server_is_rechecked_later_each_time_and_keeps_its_history() -> None:
    before = document()
    states, found = waits(before, Absence.DOWN, 7)
    assert found == pytest.approx([24, 72, 216, 648, 1440, 1440, 1440], rel=0.06)
    assert (states.page.visits, states.page.rate) == (before.page.visits, before.page.rate)


def test_failing_server_does_not_confirm_that_a_page_is_gone() -> None:
    states = document()
    for kind in (Absence.GONE, Absence.DOWN, Absence.GONE, Absence.DOWN, Absence.GONE):
        states = OPTIMAL.record_absence(states, URL, BEGIN, kind).states
    assert states.page.visits == 5


def test_refused_document_loses_its_history_after_a_month() -> None:
    states, found = waits(document(), Absence.REFUSED, 4)
    assert found == pytest.approx([720, 720, 1440, 2880], rel=0.06)
    assert states.page.visits == 0


def test_returned_page_starts_a_new_history() -> None:
    states, _ = waits(document(), Absence.GONE, 3)
    states, plan = OPTIMAL.record_visit(states, Visit(URL, BEGIN + 40 * DAY))
    assert (states.page.visits, states.page.changes, states.page.absent) == (1, 0, None)
    assert states.page.missed == 0
    assert plan.at is not None
    assert plan.at < BEGIN + 101 * DAY


def test_page_missed_once_keeps_its_history() -> None:
    states, _ = waits(document(), Absence.GONE, 1)
    states = OPTIMAL.record_visit(states, Visit(URL, BEGIN + HOUR)).states
    assert (states.page.visits, states.page.missed) == (6, 0)


def test_first_verdict_starts_a_new_history() -> None:
    states = OPTIMAL.record_visit(document(), Visit(URL, BEGIN, first=True)).states
    assert (states.page.visits, states.page.rate.exposure) == (1, 0)
    assert states.crawl.pages == 1


def test_pages_lost_at_once_are_rechecked_at_different_times() -> None:
    plans = [
        OPTIMAL.record_absence(NOTHING, f"{URL}/{n}", BEGIN, Absence.GONE).plan for n in range(50)
    ]
    times = sorted(plan.at or 0 for plan in plans)
    assert times[-1] - times[0] > DAY
    assert all(later - sooner < DAY for sooner, later in pairwise(times))


def test_policy_none_records_absences_for_the_next_policy() -> None:
    states, plan = NONE.record_absence(document(NONE), URL, BEGIN, Absence.GONE)
    assert plan.at is None
    assert states.crawl.demand == 0
    plan = OPTIMAL.replan(states, URL).plan
    assert plan.at == pytest.approx(BEGIN + 6 * HOUR, abs=HOUR)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from([*Absence, None]), st.floats(0, 100 * DAY))))
def test_any_page_but_a_walled_one_without_document_is_planned_within_190_days(
    life: list[tuple[Absence | None, float]],
) -> None:
    states, now = NOTHING, BEGIN
    for kind, wait in life:
        now += wait
        if kind:
            states, plan = OPTIMAL.record_absence(states, URL, now, kind)
        else:
            states, plan = OPTIMAL.record_visit(states, Visit(URL, now))
        if plan.at is None:
            assert states.page.absent is Absence.WALLED and not states.page.visits
            continue
        assert now < plan.at < now + 190 * DAY
        assert plan.reason
        assert OPTIMAL.replan(states, URL).plan.at == pytest.approx(plan.at, rel=0.3 / 1.7)
