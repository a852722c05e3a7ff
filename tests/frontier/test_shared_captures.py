"""A page that one crawl has fetched is a visit of another crawl, without a request."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    ErasureRequested,
    HostCheckedOut,
    PageDeduplicated,
    RefetchRequested,
    SharedCapture,
    Verdict,
    VisitEnded,
)
from gossamer.inspection.progress.report import read_report
from gossamer.services.frontier.features.shared import SharedCaptureRow
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import Simulation, make_verdict, page
from tests.inspection.simulated import opened

HOST = HostKey("http://a.test")
DELAY, HOUR = 2.0, 3600.0
PAGES = [f"{HOST}/{number}" for number in range(12)]


def two_crawls(answer: object = page, **fields: object) -> Simulation:
    """Return a frontier with the crawls `default` and `b`; *fields* of the definition of `b`."""
    sim = Simulation(answer, delay=DELAY, delay_factor=0.0, batch=5)  # type: ignore[arg-type]
    sim.keeps = True
    sim.define("b", **fields)
    return sim


def crawl_then(sim: Simulation, wait: float = 0.0) -> None:
    """Visit all pages for `default` while `b` has a URL at the host, and later those of `b`."""
    sim.admit(f"{HOST}/b", crawl="b")
    sim.admit(*PAGES)
    sim.run()
    sim.now += wait
    sim.admit(*PAGES, crawl="b")
    sim.run()


def requests(sim: Simulation) -> Counter[str]:
    return Counter(url for _, _, url in sim.visits if not url.endswith("robots.txt"))


def shared_visits(sim: Simulation) -> dict[str, SharedCapture]:
    return {
        visit.url: visit.shared
        for _, order in sim.orders
        for visit in order.visits
        if visit.shared and order.crawl == "b"
    }


def test_page_of_two_crawls_is_requested_once() -> None:
    sim = two_crawls()
    crawl_then(sim)
    assert requests(sim) == Counter([*PAGES, f"{HOST}/b"])
    taken = shared_visits(sim)
    assert taken.keys() == {*PAGES}
    assert {one.crawl for one in taken.values()} == {DEFAULT_CRAWL}
    for url in PAGES:
        row = sim.url_row(url, "b")
        assert row and (row.outcome, row.earlier, row.at) == ("page", 1, taken[url].at)


def test_shared_visits_cost_the_host_nothing_and_count_for_the_crawl() -> None:
    sim = two_crawls()
    crawl_then(sim)
    row = sim.row()
    assert row.totals.visits == len(PAGES) + 2  # with robots.txt and /b
    assert row.totals.pages == 2 * len(PAGES) + 1
    assert row.of("b").used <= row.of(DEFAULT_CRAWL).used, "shares are not charged, either"
    assert sim.share(Site("a.test"), "b").tally.row.pages == len(PAGES) + 1


def test_report_states_how_many_pages_were_taken_from_other_crawls() -> None:
    sim = two_crawls()
    crawl_then(sim)
    crawl = opened(sim)
    totals = read_report(crawl.of("b")).totals
    assert (totals.pages, totals.shared) == (len(PAGES) + 1, len(PAGES))
    assert totals.pages > totals.visits, "visits are requests"
    assert read_report(crawl.of(DEFAULT_CRAWL)).totals.shared == 0


def test_shared_visits_need_no_delay() -> None:
    sim = two_crawls()
    crawl_then(sim)
    times = [at for at, order in sim.orders if any(visit.shared for visit in order.visits)]
    assert len(times) > 1 and max(times) - min(times) < DELAY
    assert min(gap for _, gap in sim.gaps()) >= DELAY


@pytest.mark.parametrize(
    ("share_for", "wait", "is_shared"),
    [(HOUR, 0.0, True), (HOUR, HOUR, False), (2 * HOUR, HOUR, True), (0.0, 0.0, False)],
)
def test_captures_are_taken_up_to_their_age(share_for: float, wait: float, is_shared: bool) -> None:
    sim = two_crawls(share_for=share_for)
    crawl_then(sim, wait)
    assert bool(shared_visits(sim)) is is_shared
    assert requests(sim).total() == (1 if is_shared else 2) * len(PAGES) + 1


def test_nothing_is_kept_if_no_other_crawl_could_take_it() -> None:
    for fields in ({"share_for": 0.0}, {"paused": True}):
        sim = two_crawls(**fields)
        sim.admit(f"{HOST}/b", crawl="b")
        sim.admit(*PAGES)
        sim.run()
        assert not any(order.keep for _, order in sim.orders if order.crawl == DEFAULT_CRAWL)
    sim = two_crawls()
    sim.admit(*PAGES)
    sim.admit("http://b.test/", crawl="b")
    sim.run()
    assert not any(order.keep for _, order in sim.orders), "they have no host in common"


def verdict(ended: VisitEnded) -> PageDeduplicated:
    return make_verdict(ended, verdict=Verdict.FIRST, fetched_at=ended.captured_at, status=200)


def test_crawl_takes_no_capture_older_than_its_own_visit() -> None:
    sim = two_crawls()
    sim.give_verdict = verdict
    crawl_then(sim)
    before = requests(sim).total()
    again = RefetchRequested(
        crawl="b", at=sim.now, site=Site("a.test"), host=HOST, urls=(PAGES[0],)
    )
    sim.handle(again)
    sim.run(until=sim.now + 600.0)
    assert requests(sim).total() == before + 1, "its own visit was that capture"
    sim.handle(replace(again, crawl=DEFAULT_CRAWL))
    sim.run(until=sim.now + 600.0)
    assert requests(sim).total() == before + 1, "and now the other crawl takes the newer one"


def test_history_says_whose_capture_was_taken() -> None:
    sim = two_crawls()
    sim.give_verdict = verdict
    crawl_then(sim)
    [row] = sim.store.table(HistoryRow).scan(("b", PAGES[0]))
    assert row.reason.startswith("taken from the capture of crawl default at 20")
    [row] = sim.store.table(HistoryRow).scan((DEFAULT_CRAWL, PAGES[0]))
    assert row.reason == ""


def test_erased_page_is_requested_again() -> None:
    for target in (PAGES[0], HOST, "a.test"):
        sim = two_crawls()
        sim.admit(f"{HOST}/b", crawl="b")
        sim.admit(*PAGES)
        sim.run()
        url, host = (target, HOST) if target == PAGES[0] else ("", HOST * (target == HOST))
        sim.handle(ErasureRequested(at=sim.now, site=Site("a.test"), host=HostKey(host), url=url))
        sim.run()
        sim.admit(PAGES[0], crawl="b")
        sim.run()
        assert requests(sim)[PAGES[0]] == 2, target


def test_captures_of_a_removed_crawl_are_dropped_with_it() -> None:
    sim = two_crawls()
    sim.admit(f"{HOST}/b", crawl="b")
    sim.admit(*PAGES)
    sim.run()
    assert {row.crawl for row in sim.store.table(SharedCaptureRow).everything()} >= {DEFAULT_CRAWL}
    sim.handle(replace(sim.definition, removed=True))
    sim.run()
    assert {row.crawl for row in sim.store.table(SharedCaptureRow).everything()} <= {"b"}


orders_of_links = st.lists(
    st.tuples(st.sampled_from([DEFAULT_CRAWL, "b", "c"]), st.integers(0, 5)), max_size=25
)


@settings(max_examples=40)
@given(orders_of_links, st.floats(0.0, 20.0))
def test_every_crawl_visits_each_of_its_urls_once(
    links: list[tuple[str, int]], share_for: float
) -> None:
    sim = two_crawls(share_for=share_for)
    sim.define("c", share_for=HOUR, weight=3.0)
    wanted = set(links)
    for crawl, number in dict.fromkeys(links):
        sim.admit(PAGES[number], crawl=crawl)
        sim.run(steps=2)
    sim.run()
    visited = Counter(
        (order.crawl, visit.url)
        for order in _orders(sim)
        for visit in order.visits
        if not visit.url.endswith("robots.txt")
    )
    assert visited == Counter((crawl, PAGES[number]) for crawl, number in wanted)
    starts = {(url, at) for at, _, url in sim.visits}
    for order in _orders(sim):
        for visit in order.visits:
            if shared := visit.shared:
                assert shared.crawl != order.crawl and (visit.url, shared.at) in starts
                assert order.at - sim.others.get(order.crawl, sim.definition).share_for <= shared.at


def _orders(sim: Simulation) -> list[HostCheckedOut]:
    return [order for _, order in sim.orders]
