"""What pages have in common: learnt from those of which something was seen, and forgotten again."""

import pytest

from services.frontier.revisit import (
    DAY,
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    forget,
    make_policy,
)
from services.frontier.revisit.learning import DEFAULT_PRIOR, prior_of

BEGIN = 1_700_000_000.0
OPTIMAL = make_policy("optimal")


def visited(states: States, url: str, days: float, changed: bool = False) -> States:
    return OPTIMAL.record_visit(states, Visit(url, BEGIN + days * DAY, changed)).states


def crawl_of(pages: int) -> tuple[SiteState, CrawlState, dict[str, PageState]]:
    """Return what is known when so many pages were visited once."""
    site, crawl, states = SiteState(), CrawlState(budget=100), dict[str, PageState]()
    for number in range(pages):
        url = f"http://a.test/{number}"
        states[url], site, crawl = visited(States(PageState(), site, crawl), url, 0.0)
    return site, crawl, states


def test_pages_that_were_visited_once_do_not_hold_the_guess_fast() -> None:
    site, crawl, states = crawl_of(1000)
    assert prior_of(site, crawl).mean == pytest.approx(DEFAULT_PRIOR.mean, rel=0.01)
    for url in [*states][:20]:
        states[url], site, crawl = visited(States(states[url], site, crawl), url, 30.0)
    assert prior_of(site, crawl).mean < DEFAULT_PRIOR.mean / 3
    assert site.pages == crawl.pages == 1000 and site.unseen == crawl.unseen == 980


def test_what_is_forgotten_is_in_no_sum_however_often_it_was_visited() -> None:
    site, crawl, states = crawl_of(3)
    for url in [*states][:2]:
        states[url], site, crawl = visited(States(states[url], site, crawl), url, 3.0, True)
    for page in states.values():
        _, site, crawl = forget(States(page, site, crawl))
    assert site.pages == crawl.pages == site.unseen == crawl.unseen == 0
    assert crawl.rates == pytest.approx(0.0, abs=1e-6) and crawl.curve == {}


def test_sums_of_before_pages_visited_once_were_told_apart_go_on() -> None:
    """A page that was visited once is in them: it is known by its expected rate."""
    page = PageState(at=BEGIN, visits=1, expected=0.1, log_expected=-3.5)
    site = SiteState(pages=1, rates=0.1, log_rates=-3.5)
    crawl = CrawlState(budget=100, pages=1, rates=0.1, log_rates=-3.5)
    states = States(page, site, crawl)
    states = visited(states, "http://a.test/", 30.0)
    assert (states.site.pages, states.site.unseen) == (1, 0)
    assert states.crawl.rates == pytest.approx(states.page.expected)
