"""`optimal` with periodic pages, with hints, and with prices."""

from random import Random

import pytest
from msgspec.structs import replace

from gossamer.services.frontier.revisit import (
    Basis,
    CrawlState,
    Evidence,
    Hint,
    Kind,
    PageState,
    SiteState,
    States,
    Visit,
    make_policy,
)
from gossamer.services.frontier.revisit.beliefs import is_regular
from gossamer.services.frontier.revisit.price import cell_of, demand, move_page, price_for
from gossamer.services.frontier.revisit.state import DAY

URL, BEGIN = "https://www.example.org/news", 1.7e9
OPTIMAL = make_policy("optimal")


def crawl(price: float = 0.05) -> CrawlState:
    """Return a crawl with a constant price."""
    return CrawlState(budget=1.0, price=price, priced_at=BEGIN + 1e9)


def visit_as_planned(period: float, count: int) -> tuple[States, list[float]]:
    """Visit a page that changes every *period* days; return the days from changes to visits."""
    states, now, delays, last = States(PageState(), SiteState(), crawl()), BEGIN, [], BEGIN
    for _ in range(count):
        changes = (now - BEGIN) // (period * DAY)
        changed = changes > (last - BEGIN) // (period * DAY)
        if changed:
            delays.append((now - BEGIN) / DAY - changes * period)
        states, plan = OPTIMAL.record_visit(states, Visit(URL, now, changed))
        assert plan.at is not None
        last, now = now, plan.at
    assert plan.basis is Basis.PERIODIC
    return states, delays


def test_periodic_page_is_visited_just_after_it_changes() -> None:
    states, delays = visit_as_planned(3.0, 200)
    assert is_regular(states.page.clock)
    assert states.page.clock.period == pytest.approx(3.0, rel=0.02)
    assert sorted(delays[-20:])[10] < 0.1


def visit_with_sitemap(true: bool) -> States:
    """Visit a page three times a day for 20 days; its sitemap is right, or always states "now"."""
    states = States(PageState(), SiteState(), crawl(price=0.5))
    for n in range(60):
        now, changed = BEGIN + n * DAY / 3, n % 6 == 5
        if n and (changed or not true):
            said = Evidence(Kind.SITEMAP, now - 60)
            states = OPTIMAL.record_hint(states, Hint(URL, now - 60, said)).states
        states = OPTIMAL.record_visit(states, Visit(URL, now, changed)).states
    return states


def test_hint_of_a_reliable_sitemap_causes_a_visit_and_of_an_unreliable_one_none() -> None:
    for true in (True, False):
        states = visit_with_sitemap(true)
        soon = states.page.at + 0.1 * DAY
        plan = OPTIMAL.record_hint(states, Hint(URL, soon, Evidence(Kind.SITEMAP, soon))).plan
        assert plan.at is not None
        if true:
            assert plan.at <= soon + 60
            assert "sitemap" in plan.reason and plan.basis is Basis.HINT
        else:
            assert plan.at > soon + 0.1 * DAY


@pytest.mark.parametrize("date", [0.0, 6e8, BEGIN + 100 * DAY])
def test_hint_with_an_impossible_date_is_ignored(date: float) -> None:
    states = visit_with_sitemap(true=True)
    hint = Hint(URL, states.page.at + 60, Evidence(Kind.SITEMAP, date))
    assert OPTIMAL.record_hint(states, hint).states == states


def test_page_that_changes_too_fast_is_rarely_visited() -> None:
    site = SiteState(pages=500.0, rates=125.0, log_rates=-1250.0)
    states, now, visits = States(PageState(), site, crawl(price=0.75)), BEGIN, 0
    while now < BEGIN + 365 * DAY:
        states, plan = OPTIMAL.record_visit(states, Visit(URL, now, changed=True))
        assert plan.at is not None
        now, visits = plan.at, visits + 1
    assert plan.basis is Basis.EXPLORED
    assert visits < 35


def test_page_with_more_weight_is_visited_sooner() -> None:
    waits = []
    for weight in (1.0, 10.0):
        states = States(PageState(weight=weight), SiteState(), crawl())
        for n in range(20):
            visit = Visit(URL, BEGIN + n * DAY, n in (1, 2, 7, 8, 9, 15))
            states, plan = OPTIMAL.record_visit(states, visit)
        assert plan.at is not None
        waits.append(plan.at - visit.at)
    assert waits[0] > 1.5 * waits[1]


def test_demand_of_a_site_falls_to_its_limit() -> None:
    pages, site = [PageState()] * 20, SiteState(limit=2.0)
    budget, now, random = CrawlState(budget=1000.0), BEGIN, Random(1)
    for n in range(400):
        now, url = now + DAY / 2, f"{URL}/{n % 20}"
        visit = Visit(url, now, random.random() < 0.6)
        (pages[n % 20], site, budget), _ = OPTIMAL.record_visit(
            States(pages[n % 20], site, budget), visit
        )
    assert site.surcharge > 2
    assert site.demand == pytest.approx(2.0, rel=0.4)
    free = OPTIMAL.replan(States(pages[0], replace(site, surcharge=1.0), budget), URL).plan.at
    bound = OPTIMAL.replan(States(pages[0], site, budget), URL).plan.at
    assert free is not None
    assert bound is not None
    assert free < bound


def test_price_falls_as_the_budget_grows() -> None:
    curve: dict[int, float] = {}
    for n in range(200):
        rate = 0.01 * 1.05**n
        curve = move_page(curve, (0, 0.0), (cell_of(rate, 20.0, 1.0), rate))
    prices = [price_for(curve, budget) for budget in (5.0, 20.0, 80.0)]
    assert prices[0] > prices[1] > prices[2]
    assert demand(curve, -40) > demand(curve, 0) > demand(curve, 40)
    for n in range(200):
        rate = 0.01 * 1.05**n
        curve = move_page(curve, (cell_of(rate, 20.0, 1.0), rate), (0, 0.0))
    assert curve == {}
