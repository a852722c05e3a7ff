"""The budgets of a site: they start small, and grow with what the site earns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events.hazards import Hazard
from gossamer.services.frontier.worth.budgets import BUDGETS, Usage, find_exceeded, limit_of
from gossamer.services.frontier.worth.worth import SiteTotals, SiteWorth, record_in_link
from gossamer.settings import FrontierSettings
from gossamer.web.url import Site

SETTINGS = FrontierSettings(
    url_budget=100, host_budget=10, byte_budget=10_000, second_budget=60.0, depth_budget=5
)


def usage(used: int, **totals: float) -> Usage:
    """Return a usage of *used* units of every budget."""
    earned = SiteTotals(
        received=used,
        seconds=float(used),
        entry_depth=0,
        **totals,  # type: ignore[arg-type]
    )
    return Usage(used, used, used + 1, earned, sitemaps=used)


@pytest.mark.parametrize("hazard", BUDGETS)
def test_site_that_earned_nothing_has_the_budget_of_the_setting(hazard: Hazard) -> None:
    start = getattr(SETTINGS, BUDGETS[hazard].setting)
    at = usage(0)
    if hazard is Hazard.TRAP_SITE_DEPTH:
        assert limit_of(hazard, at, SETTINGS) == start
    assert find_exceeded(hazard, usage(int(start) - 1), SETTINGS) is None
    used_up = usage(int(start))
    if hazard is Hazard.TRAP_URLS:
        used_up = used_up._replace(depth=1)
    assert "budget of" in (find_exceeded(hazard, used_up, SETTINGS) or "")


def test_url_budget_has_four_urls_more_for_each_level_up_to_the_setting_again() -> None:
    limits = [
        limit_of(Hazard.TRAP_URLS, usage(100)._replace(depth=depth), SETTINGS)
        for depth in (0, 1, 2, 3, 26, 27, 1000)
    ]
    assert limits == [100, 100, 104, 108, 200, 200, 200]


@pytest.mark.parametrize("hazard", BUDGETS)
def test_budget_of_0_is_off(hazard: Hazard) -> None:
    off = FrontierSettings(
        url_budget=0,
        host_budget=0,
        byte_budget=0,
        second_budget=0,
        depth_budget=0,
        sitemap_budget=0,
    )
    assert limit_of(hazard, usage(10**9), off) is None
    assert find_exceeded(hazard, usage(10**9), off) is None


@pytest.mark.parametrize("hazard", BUDGETS)
def test_new_texts_raise_the_budget(hazard: Hazard) -> None:
    start = int(getattr(SETTINGS, BUDGETS[hazard].setting))
    earned = usage(start, new=50.0, new_received=90_000, new_hosts=9, new_depth=20)
    assert find_exceeded(hazard, earned, SETTINGS) is None


@pytest.mark.parametrize("hazard", sorted(BUDGETS.keys() - {Hazard.TRAP_SITE_DEPTH}))
def test_sites_that_link_to_a_site_raise_its_budgets(hazard: Hazard) -> None:
    worth = SiteWorth()
    for n in range(50):
        record_in_link(worth, Site(f"site{n}.test"), Site("a.test"))
    start = int(getattr(SETTINGS, BUDGETS[hazard].setting))
    at = usage(start)._replace(totals=SiteTotals(in_links=worth.totals.in_links))
    limit = limit_of(hazard, at, SETTINGS)
    assert limit and limit > 10 * start


@pytest.mark.parametrize("hazard", sorted(BUDGETS.keys() - {Hazard.TRAP_SITE_DEPTH}))
def test_new_texts_of_pages_that_lead_only_to_new_pages_raise_no_budget(hazard: Hazard) -> None:
    start = getattr(SETTINGS, BUDGETS[hazard].setting)
    babble = usage(0, new=500.0, new_received=900_000, new_hosts=90, opened=500.0)
    assert limit_of(hazard, babble, SETTINGS) == start
    mixed = usage(0, new=500.0, new_received=900_000, new_hosts=90, opened=250.0)
    all_earned = usage(0, new=500.0, new_received=900_000, new_hosts=90)
    limits = [limit_of(hazard, at, SETTINGS) or 0.0 for at in (mixed, all_earned)]
    assert limits[0] - start == pytest.approx((limits[1] - start) / 2)


@pytest.mark.parametrize("hazard", sorted(BUDGETS.keys() - {Hazard.TRAP_SITE_DEPTH}))
def test_seed_of_an_operator_raises_budgets_as_twenty_linking_sites_do(hazard: Hazard) -> None:
    start = getattr(SETTINGS, BUDGETS[hazard].setting)
    at = usage(0)._replace(has_seed=True)
    assert limit_of(hazard, at, SETTINGS) == 21 * start


@given(
    st.sampled_from([*BUDGETS]),
    st.integers(0, 1000),
    st.floats(0, 1000),
    st.floats(0, 1000),
    st.integers(0, 10**6),
    st.integers(0, 100),
)
def test_no_limit_is_below_the_setting(
    hazard: Hazard, used: int, new: float, opened: float, new_bytes: int, depth: int
) -> None:
    at = usage(used, new=new, opened=opened, new_received=new_bytes, new_depth=depth)
    limit = limit_of(hazard, at, SETTINGS)
    assert limit is not None and limit >= getattr(SETTINGS, BUDGETS[hazard].setting)
    assert bool(find_exceeded(hazard, at, SETTINGS)) == (BUDGETS[hazard].used(at) >= limit)
