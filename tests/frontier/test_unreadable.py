"""A host whose pages cannot be read is left alone for ever longer, and none of its URLs is lost."""

from collections.abc import Callable

import pytest

from gossamer.events import PageJudged, RetryRequested, Verdict, VisitEnded
from gossamer.store.sqlite import SqliteStore
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow
from tests.frontier.simulation import START, Simulation

HOST, OTHER = "http://bad.test", "http://good.test"
WAIT, DAY = 600.0, 86400.0
LIMIT, DELAY = 5, 1.0

Readable = Callable[[VisitEnded], bool]


def never(ended: VisitEnded) -> bool:
    return ended.host == OTHER


def simulated(readable: Readable = never, count: int = 40, **settings: object) -> Simulation:
    """Return a frontier whose *count* URLs of each host are parsed at once."""

    def judge(ended: VisitEnded) -> PageJudged:
        return PageJudged(
            at=ended.at,
            site=ended.site,
            host=ended.host,
            visit=ended.visit,
            verdict=Verdict.FIRST if readable(ended) else Verdict.UNREADABLE,
            digest="d",
            fetched_at=ended.started_at,
        )

    given = {"unreadable_limit": LIMIT, "unreadable_wait": WAIT, "delay": DELAY, **settings}
    sim = Simulation(**given)  # type: ignore[arg-type]
    sim.judge = judge
    sim.admit(*(f"{host}/{number}" for number in range(count) for host in (HOST, OTHER)))
    return sim


def visited(sim: Simulation, host: str = HOST) -> list[float]:
    return [at for at, _, url in sim.visits if url.startswith(f"{host}/") and "robots" not in url]


def host(sim: Simulation) -> HostRow:
    row = SqliteStore(sim.database).table(HostRow).get("bad.test", HOST)
    assert row
    return row


def test_after_so_many_in_a_row_one_is_tried_ever_later_and_the_others_go_on() -> None:
    sim = simulated()
    sim.run(START + 300.0)
    assert len(visited(sim, OTHER)) == 40
    row = host(sim)
    assert row.condition is Condition.BACKING_OFF
    assert row.backoff_reason and row.backoff_reason.startswith("its last ")
    assert row.backoff_reason.endswith(" pages could not be read")
    sim.run(START + 5 * DAY)
    at = visited(sim)
    # An order that is out is made to its end, and the wait is from the fifth.
    first = next(n for n in range(1, len(at)) if at[n] - at[n - 1] > 10 * DELAY)
    assert LIMIT <= first <= LIMIT + 10
    waits = [later - sooner for sooner, later in zip(at[first - 1 :], at[first:], strict=False)]
    expected = [min(WAIT * 2**n, DAY) for n in range(len(waits))]
    assert waits == pytest.approx(expected, abs=10 * DELAY)
    assert len(at) == len(set(at)) < 40


def test_a_page_that_is_read_ends_it_and_all_are_visited() -> None:
    sim = simulated(lambda ended: ended.host == OTHER or ended.at > START + WAIT)
    sim.run(START + DAY)
    assert len(visited(sim)) == len(visited(sim, OTHER)) == 40


def test_those_that_are_not_in_a_row_hold_nothing_back() -> None:
    sim = simulated(lambda ended: ended.visit.url.endswith(("0", "4", "8")))
    sim.run(START + 300.0)
    assert len(visited(sim)) == 40


def test_a_limit_of_none_holds_nothing_back() -> None:
    sim = simulated(unreadable_limit=0)
    sim.run(START + 300.0)
    assert len(visited(sim)) == 40


def test_a_restart_does_not_forget_it() -> None:
    sim = simulated()
    sim.run(START + 300.0)
    before = len(visited(sim))
    sim.start()
    sim.run(START + WAIT / 2)
    assert len(visited(sim)) == before


def test_a_person_may_ask_for_it_sooner() -> None:
    sim = simulated()
    sim.run(START + 300.0)
    before = len(visited(sim))
    sim.handle(RetryRequested(at=sim.now, site="bad.test", host=HOST, urls=()))
    sim.run(sim.now + 60.0)
    assert len(visited(sim)) >= before + LIMIT
