"""A change of the policy during a crawl replans every page from its state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.services.frontier.revisit import (
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
from gossamer.services.frontier.revisit.state import DAY

NAMES = ("none", "fixed:12h", "selective-incremental", "adaptive", "optimal")
BEGIN = 1.7e9


def run_policy(name: str, visits: int = 12, url: str = "https://a.test/") -> States:
    states, policy = States(PageState(), SiteState(), CrawlState(budget=2)), make_policy(name)
    for n in range(visits):
        at = BEGIN + (n - visits) * DAY
        if n % 4 == 3:
            said = Evidence(Kind.SITEMAP, at - DAY / 2)
            states = policy.record_hint(states, Hint(url, at - DAY / 2, said)).states
        states = policy.record_visit(states, Visit(url, at, n % 4 == 3)).states
    return states


@pytest.mark.parametrize("name", NAMES)
def test_page_without_visits_is_due_at_once(name: str) -> None:
    states = States(PageState(), SiteState(), CrawlState())
    decision = make_policy(name).replan(states, "https://a.test/")
    assert decision.states == states
    assert decision.plan.at == (None if name == "none" else 0.0)


@pytest.mark.parametrize("before", NAMES)
def test_page_and_site_state_do_not_depend_on_the_policy(before: str) -> None:
    states, optimal = run_policy(before), run_policy("optimal")
    assert states.page.rate == optimal.page.rate
    assert states.page.clock == optimal.page.clock
    assert states.site.trust == optimal.site.trust
    assert states.crawl.rates == optimal.crawl.rates
    assert states.crawl.curve == optimal.crawl.curve


@pytest.mark.parametrize("before", NAMES)
@pytest.mark.parametrize("after", NAMES)
def test_replanning_replaces_the_plan_and_counts_nothing_twice(before: str, after: str) -> None:
    states = run_policy(before)
    once, plan = make_policy(after).replan(states, "https://a.test/")
    again = make_policy(after).replan(once, "https://a.test/")
    assert again.plan == plan
    assert again.states.crawl == once.crawl
    assert again.states.site == once.site
    assert (plan.at is None) == (after == "none")
    if plan.at is None:
        assert (once.crawl.demand, once.site.demand, once.crawl.weights) == (0, 0, 0)
        assert once.page.due_at == 0
    else:
        assert once.crawl.demand == pytest.approx(once.page.pace)
        assert once.crawl.weights == once.page.weight
        assert plan.at > once.page.at
    assert once.page.visits == states.page.visits


lives = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(NAMES), st.sampled_from("vph"), st.booleans()),
    max_size=60,
)


@pytest.mark.slow
@given(lives, st.tuples(*[st.sampled_from((0.0, 1.0, 1000.0))] * 2))
def test_totals_match_the_pages_after_any_events(
    life: list[tuple[int, str, str, bool]], limits: tuple[float, float]
) -> None:
    pages = [PageState(weight=1.0 + n) for n in range(4)]
    site, crawl, now = SiteState(limit=limits[0]), CrawlState(budget=3), BEGIN
    for step, (n, name, what, changed) in enumerate(life):
        site = replace(site, limit=limits[step > len(life) / 2])
        now, url, policy = now + DAY / 3, f"https://a.test/{n}", make_policy(name)
        states = States(pages[n], site, crawl)
        if what == "v":
            states = policy.record_visit(states, Visit(url, now, changed)).states
        elif what == "p":
            states = policy.replan(states, url).states
        else:
            hint = Hint(url, now, Evidence(Kind.SITEMAP, now))
            states = policy.record_hint(states, hint).states
        pages[n], site, crawl = states
    if limits[0] == limits[1] == 0:
        assert crawl.demand == pytest.approx(sum(page.pace for page in pages), abs=1e-6)
    assert site.demand == pytest.approx(sum(page.pace for page in pages), abs=1e-6)
    assert crawl.weights == sum(page.weight for page in pages if page.fresh)
    assert crawl.fresh == pytest.approx(sum(page.weight * page.fresh for page in pages), abs=1e-6)
    assert crawl.age == pytest.approx(sum(page.weight * page.age for page in pages), abs=1e-6)
    assert crawl.rates == pytest.approx(sum(page.expected for page in pages), rel=1e-5)
    assert sum(crawl.curve.values()) == pytest.approx(
        sum(page.curve_rate for page in pages), rel=1e-5
    )
    own = sum(page.site_curve_rate for page in pages)
    assert sum(site.curve.values()) == pytest.approx(own, rel=1e-5)
