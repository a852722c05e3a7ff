"""The prior of a site, from its visited pages, and its totals after pages are forgotten."""

import pytest

from gossamer.services.frontier.revisit import (
    DAY,
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    forget,
    make_policy,
)
from gossamer.services.frontier.revisit.learning import DEFAULT_PRIOR, prior_of

BEGIN = 1_700_000_000.0
OPTIMAL = make_policy("optimal")


def visit(states: States, url: str, days: float, changed: bool = False) -> States:
    return OPTIMAL.record_visit(states, Visit(url, BEGIN + days * DAY, changed)).states


def crawl_of(pages: int) -> tuple[SiteState, CrawlState, dict[str, PageState]]:
    """Return the states after *pages* pages were visited once."""
    site, crawl, states = SiteState(), CrawlState(budget=100), dict[str, PageState]()
    for number in range(pages):
        url = f"http://a.test/{number}"
        states[url], site, crawl = visit(States(PageState(), site, crawl), url, 0.0)
    return site, crawl, states


def test_pages_visited_once_do_not_affect_the_prior() -> None:
    site, crawl, states = crawl_of(1000)
    assert prior_of(site, crawl).mean == pytest.approx(DEFAULT_PRIOR.mean, rel=0.01)
    for url in [*states][:20]:
        states[url], site, crawl = visit(States(states[url], site, crawl), url, 30.0)
    assert prior_of(site, crawl).mean < DEFAULT_PRIOR.mean / 3
    assert site.pages == crawl.pages == 1000 and site.unseen == crawl.unseen == 980


def test_forgotten_pages_leave_the_totals_after_any_number_of_visits() -> None:
    site, crawl, states = crawl_of(3)
    for url in [*states][:2]:
        states[url], site, crawl = visit(States(states[url], site, crawl), url, 3.0, True)
    for page in states.values():
        _, site, crawl = forget(States(page, site, crawl))
    assert site.pages == crawl.pages == site.unseen == crawl.unseen == 0
    assert crawl.rates == pytest.approx(0.0, abs=1e-6) and crawl.curve == {}


def test_totals_without_a_count_of_unseen_pages_continue() -> None:
    """The totals contain a page that was visited once, with its expected rate."""
    page = PageState(at=BEGIN, visits=1, expected=0.1, log_expected=-3.5)
    site = SiteState(pages=1, rates=0.1, log_rates=-3.5)
    crawl = CrawlState(budget=100, pages=1, rates=0.1, log_rates=-3.5)
    states = States(page, site, crawl)
    states = visit(states, "http://a.test/", 30.0)
    assert (states.site.pages, states.site.unseen) == (1, 0)
    assert states.crawl.rates == pytest.approx(states.page.expected)
