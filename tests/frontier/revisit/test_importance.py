"""The weight of a page, from depth, priority, links from other sites, and requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.revisit import (
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    add_request,
    make_policy,
    new_page,
    pack,
    unpack_page,
)
from gossamer.services.frontier.revisit.learning import weight_of
from gossamer.services.frontier.revisit.state import DAY
from gossamer.web.links import add_link
from gossamer.web.url import Site

URL, BEGIN = "https://www.example.org/news", 1.7e9
OPTIMAL = make_policy("optimal")


def links(count: int) -> int:
    sketch = 0
    for n in range(count):
        sketch = add_link(sketch, Site(f"site{n}.example"), URL)
    return sketch


def test_weight_falls_with_depth_and_rises_with_priority() -> None:
    weights = [weight_of(depth, 0) for depth in range(12)]
    assert weights[0] == 1
    assert weights == sorted(weights, reverse=True)
    assert 0.4 < weight_of(2, 0) < 0.5
    assert weights[-1] == weights[7] > 0.05
    assert weight_of(0, -2) == 2
    assert weight_of(0, 2) == 0.5
    assert weight_of(0, -100) == 16
    assert weight_of(-1, 0) == 1
    assert new_page(2, 0).weight == pytest.approx(weight_of(2, 0))


def weights_after(page: PageState, *visits: Visit) -> list[float]:
    states, weights = States(page, SiteState(), CrawlState(budget=10.0)), []
    for visit in visits:
        states = OPTIMAL.record_visit(states, visit).states
        weights.append(states.page.weight)
    return weights


def test_in_links_raise_the_weight_at_the_visit_that_reports_them() -> None:
    few, many = (
        weights_after(
            new_page(3, 0), Visit(URL, BEGIN), Visit(URL, BEGIN + DAY, in_links=links(count))
        )
        for count in (3, 300)
    )
    assert few[0] == many[0] == pytest.approx(weight_of(3, 0))
    assert 1.4 < few[1] / few[0] < 2.8
    assert 10 < many[1] / many[0] <= 16


def test_operator_requests_raise_the_weight_for_some_months() -> None:
    asked = add_request(new_page(0, 0))
    weights = weights_after(asked, *(Visit(URL, BEGIN + n * 30 * DAY) for n in range(9)))
    assert weights[0] == 2
    assert weights[1] == pytest.approx(1.5)
    assert weights[-1] == 1
    often = new_page(0, 0)
    for _ in range(100):
        often = add_request(often)
    assert weights_after(often, Visit(URL, BEGIN)) == [4]


def test_state_without_parts_of_the_weight_keeps_its_weight() -> None:
    assert weights_after(PageState(weight=0.3), Visit(URL, BEGIN)) == [pytest.approx(0.3)]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 40), st.booleans()), max_size=25
    )
)
def test_totals_of_a_crawl_follow_the_weights_of_its_pages(
    life: list[tuple[int, bool, int, bool]],
) -> None:
    pages = [new_page(depth, 0) for depth in range(3)]
    site, crawl, now = SiteState(), CrawlState(budget=10.0), BEGIN
    for which, changed, count, asked in life:
        now += DAY / 3
        page = unpack_page(pack(add_request(pages[which]) if asked else pages[which]))
        visit = Visit(f"{URL}/{which}", now, changed, in_links=links(count))
        pages[which], site, crawl = OPTIMAL.record_visit(States(page, site, crawl), visit).states
    counted = [page for page in pages if page.fresh]
    assert crawl.weights == pytest.approx(sum(page.weight for page in counted), abs=1e-5)
    assert crawl.fresh == pytest.approx(sum(page.weight * page.fresh for page in counted), abs=1e-5)
