"""Freshness by day: the last state of each partition, carried over days without visits."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import DEFAULT_CRAWL
from gossamer.inspection.progress.freshness import make_days, read_freshness
from gossamer.services.frontier.totals.daily import DAY, DailyTallyRow, FreshnessSums
from tests.frontier.simulation import START, Simulation, crawl
from tests.frontier.test_revisits import Changing
from tests.inspection.simulated import opened

FIRST = START // DAY * DAY


def row(day: int, fresh: float, weights: float = 4.0, pages: int = 0) -> DailyTallyRow:
    sums = FreshnessSums(
        planned=2, pages=4.0, unseen=1.0, weights=weights, fresh=fresh, age=weights
    )
    return DailyTallyRow(DEFAULT_CRAWL, "0/4", FIRST + day * DAY, pages=pages, freshness=sums)


def test_days_sum_partitions_and_carry_the_last_state_over_days_without_visits() -> None:
    days = make_days([[row(0, 4.0, pages=1), row(2, 2.0, pages=2)], [row(1, 0.0, pages=5)], []])
    assert [(one.expected_freshness, one.pages, one.planned) for one in days] == [
        (1.0, 1, 2),
        (0.5, 5, 4),
        (0.25, 2, 4),
    ]
    assert days[0].expected_age == DAY and days[0].day < days[1].day


def test_days_before_anything_is_known_have_no_freshness() -> None:
    learning = DailyTallyRow(
        DEFAULT_CRAWL, "0/4", FIRST, freshness=FreshnessSums(pages=4.0, unseen=3.0, weights=4.0)
    )
    old = DailyTallyRow(DEFAULT_CRAWL, "0/4", FIRST - DAY, pages=7)
    days = make_days([[old, learning]])
    assert [day.expected_freshness for day in days] == [None, None]
    assert make_days([]) == ()


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 4)), max_size=5), max_size=4))
def test_freshness_is_a_share(partitions: list[list[tuple[int, float]]]) -> None:
    rows = [[row(day, fresh) for day, fresh in sorted(dict(days).items())] for days in partitions]
    days = make_days(rows)
    assert all(day.expected_freshness is not None for day in days)
    assert all(0.0 <= (day.expected_freshness or 0.0) <= 1.0 for day in days)
    assert len(days) == len({one.at for rows_ in rows for one in rows_})


def test_crawl_with_revisits_has_a_freshness_each_day() -> None:
    sim = Simulation()
    sim.give_verdict = Changing(3600.0)
    sim.handle(crawl(revisit="fixed:1d"))
    sim.admit(*(f"http://a.example/{number}" for number in range(20)))
    sim.run(until=START + 5 * DAY)
    days = read_freshness(opened(sim), now=sim.now)
    assert len(days) == 6
    assert sum(day.pages for day in days) == len(sim.pages())
    assert days[-1].planned == 20
    assert days[-1].expected_freshness is not None and days[-1].expected_freshness < 0.5
    assert read_freshness(opened(sim), weeks=1, now=sim.now + 30 * DAY) == ()
