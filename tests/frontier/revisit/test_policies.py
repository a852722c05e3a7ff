"""Laws of every policy: plans are in the future, bounded and explained."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policies import uses_hints, uses_internal_links
from gossamer.services.frontier.revisit import (
    CrawlState,
    Evidence,
    Hint,
    Kind,
    PageState,
    Policy,
    SiteState,
    States,
    Visit,
    forget,
    format_duration,
    make_policy,
    pack,
    unpack_crawl,
    unpack_page,
    unpack_site,
)
from gossamer.services.frontier.revisit.state import DAY
from gossamer.web.links import sample_links

URL, OTHER = "https://www.example.org/news", "https://www.example.org/old"
NAMES = ("none", "fixed:12h", "selective-incremental", "adaptive", "optimal")
POLICIES = {name: make_policy(name) for name in NAMES}
waits = st.floats(0.0, 400 * DAY, allow_subnormal=False)
lives = st.lists(st.tuples(waits, st.booleans(), st.booleans()), min_size=1, max_size=60)


def live(policy: Policy, life: list[tuple[float, bool, bool]], states: States) -> States:
    """Visit a page at any times; assert that every plan is in the future."""
    now = 1.7e9
    for wait, changed, not_modified in life:
        now += wait
        links = sample_links((OTHER,))
        visit = Visit(
            URL,
            now,
            changed,
            not_modified=not_modified and not changed,
            internal_links=links if uses_internal_links(policy.name) else None,
        )
        states, plan = policy.record_visit(states, visit)
        assert plan.at is None or plan.at > now
        assert plan.reason and (plan.basis is None) == (plan.at is None)
        if plan.at and (left_out := policy.at_due(states, URL, plan.at)):
            states = left_out.states
            assert left_out.plan.at and left_out.plan.at == states.page.due_at > plan.at
            assert left_out.plan.reason and left_out.plan.basis
    return states


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(life=lives, weight=st.floats(0.01, 100))
@settings(max_examples=40)
def test_plan_is_in_the_future_and_state_is_bounded(
    name: str, life: list[tuple[float, bool, bool]], weight: float
) -> None:
    start = States(PageState(weight=weight), SiteState(limit=50), CrawlState(budget=100))
    states = live(POLICIES[name], life, start)
    assert len(pack(states.page)) <= 200
    assert len(pack(states.site)) <= 700
    assert len(pack(states.crawl)) <= 500
    assert unpack_page(pack(states.page)) == states.page
    assert unpack_site(pack(states.site)) == states.site
    assert unpack_crawl(pack(states.crawl)) == states.crawl


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(life=lives)
@settings(max_examples=20)
def test_forgotten_page_leaves_all_totals(name: str, life: list[tuple[float, bool, bool]]) -> None:
    start = States(PageState(), SiteState(), CrawlState(budget=100))
    states = forget(live(POLICIES[name], life, start))
    assert states.page == PageState()
    assert (states.site.demand, states.crawl.demand) == (0.0, 0.0)
    assert (states.crawl.weights, states.crawl.fresh, states.crawl.age) == (0.0, 0.0, 0.0)
    assert states.crawl.curve == {}
    assert states.site.pages == states.crawl.pages == 0
    assert states.crawl.rates == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_plans_are_deterministic(name: str) -> None:
    life = [(DAY, n % 3 == 0, False) for n in range(10)]
    start = States(PageState(), SiteState(), CrawlState(budget=100))
    assert live(make_policy(name), life, start) == live(make_policy(name), life, start)


@pytest.mark.parametrize("name", NAMES[1:])
def test_no_visit_is_planned_in_quiet_hours(name: str) -> None:
    site = SiteState(quiet_from=22 * 3600.0, quiet_until=6 * 3600.0)
    states, policy = States(PageState(), site, CrawlState(budget=100)), make_policy(name)
    for n in range(50):
        states, plan = policy.record_visit(states, Visit(URL, 1.7e9 + n * 0.7 * DAY, n % 4 == 0))
        assert plan.at is not None
        assert 6 <= plan.at % DAY / 3600 <= 22


def test_visits_to_a_page_drift_over_the_day() -> None:
    states, policy, now = (
        States(PageState(), SiteState(), CrawlState()),
        make_policy("fixed:1d"),
        1.7e9,
    )
    hours = set()
    for _ in range(200):
        states, plan = policy.record_visit(states, Visit(URL, now))
        assert plan.at is not None
        now = plan.at
        hours.add(int(now % DAY / 3600))
    assert len(hours) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_hint_never_delays_a_visit(name: str) -> None:
    states, policy = States(PageState(), SiteState(), CrawlState(budget=10)), make_policy(name)
    for n in range(5):
        states, plan = policy.record_visit(states, Visit(URL, 1.7e9 + n * DAY, n % 2 == 0))
    now = 1.7e9 + 4.5 * DAY
    hint = Hint(URL, now, Evidence(Kind.SITEMAP, now))
    _, hinted = policy.record_hint(states, hint)
    if plan.at is None:
        assert hinted.at is None
    else:
        assert hinted.at is not None
        assert hinted.at <= max(plan.at, now)


@pytest.mark.parametrize(
    "text", ["", "daily", "fixed:", "fixed:1y", "fixed:0d", "none:1d", "optimal:1d"]
)
def test_unknown_policy_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a revisit policy|is not a duration"):
        make_policy(text)


def test_adaptive_interval_shrinks_after_a_change_and_grows_otherwise() -> None:
    policy = make_policy("adaptive:4d")
    once = policy.record_visit(
        States(PageState(), SiteState(), CrawlState()), Visit(URL, 1.7e9)
    ).states
    after = 1.7e9 + 4 * DAY
    changed = policy.record_visit(once, Visit(URL, after, changed=True)).states.page
    unchanged = policy.record_visit(once, Visit(URL, after)).states.page
    assert changed.interval == pytest.approx(3.2 * DAY)
    assert unchanged.interval == pytest.approx(4.8 * DAY)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0 s"),
        (0.01, "under 1 s"),
        (90, "90 s"),
        (1800, "30 min"),
        (12600, "3.5 h"),
        (12 * DAY, "12 d"),
        (1000 * DAY, "2.74 y"),
        (1e12, "over 100 y"),
    ],
)
def test_durations_are_readable(duration: float, text: str) -> None:
    assert format_duration(duration) == text


@pytest.mark.parametrize("name", NAMES)
def test_uses_hints_names_the_policies_that_use_them(name: str) -> None:
    states = States(PageState(), SiteState(), CrawlState(budget=100))
    states = live(POLICIES[name], [(DAY, True, False)] * 20, states)
    said = Evidence(Kind.SITEMAP, changed_at=states.page.at + DAY)
    _, plan = POLICIES[name].record_hint(states, Hint(URL, states.page.at + 1.1 * DAY, said))
    assert ("hints are not used" in plan.reason) is not uses_hints(name)


@pytest.mark.parametrize("name", NAMES)
def test_uses_internal_links_names_the_policies_that_use_them(name: str) -> None:
    states, now = States(PageState(), SiteState(), CrawlState(budget=100)), 1.7e9
    for n in range(8):
        now += DAY
        visit = Visit(URL, now, n == 2, internal_links=sample_links((OTHER,)))
        states, plan = POLICIES[name].record_visit(states, visit)
    left_out = plan.at is not None and POLICIES[name].at_due(states, URL, plan.at) is not None
    kept = bool(states.page.internal_links and states.site.changed_pages)
    assert left_out is kept is uses_internal_links(name)


@pytest.mark.parametrize("name", ["fixed:12h", "adaptive", "optimal"])
def test_policy_without_internal_links_drops_them(name: str) -> None:
    states = States(PageState(), SiteState(), CrawlState(budget=100))
    states = live(POLICIES["selective-incremental"], [(DAY, True, False)] * 4, states)
    assert states.page.internal_links and states.site.changed_pages
    states = POLICIES[name].record_visit(states, Visit(URL, states.page.at + DAY)).states
    assert not states.page.internal_links and not states.site.changed_pages
