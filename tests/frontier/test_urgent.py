"""Urgent URLs: visited next, once, and politely."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events import (
    DEFAULT_CRAWL,
    BlocklistChanged,
    ErasureRequested,
    FetchRequested,
    Outcome,
)
from gossamer.web.url import HostKey, Site, host_key, site_of
from tests.frontier.simulation import START, Simulation, crawl
from tests.frontier.test_parts import parked_calendar

HOST, SITE = HostKey("http://a.test"), Site("a.test")
DELAY, BATCH = 2.0, 5


def simulation(**settings: object) -> Simulation:
    """Return a frontier whose limits, besides the delay, do not count."""
    given = {"delay": DELAY, "batch": BATCH, "worth_parking": False, "url_budget": 0, **settings}
    return Simulation(**given)  # type: ignore[arg-type]


def fetch(sim: Simulation, *urls: str, crawl: str = DEFAULT_CRAWL) -> None:
    """Request URLs of one host."""
    host = host_key(urls[0])
    sim.handle(FetchRequested(crawl=crawl, at=sim.now, site=site_of(urls[0]), host=host, urls=urls))


def pages(count: int, at: str = HOST) -> list[str]:
    return [f"{at}/{number}" for number in range(count)]


def test_urgent_url_precedes_ten_thousand_others_of_its_host() -> None:
    sim = simulation()
    for start in range(0, 10_000, 1000):
        sim.admit_links(*pages(10_000)[start : start + 1000])
    sim.run(START + 5.0)
    asked_at = sim.now
    fetch(sim, f"{HOST}/9999", f"{HOST}/unknown")
    sim.run(asked_at + 30.0)
    for url in (f"{HOST}/9999", f"{HOST}/unknown"):
        (at,) = sim.starts(url)
        assert at - asked_at <= (BATCH + 2) * DELAY, "after the running order"
    assert min(gap for _, gap in sim.gaps()) >= DELAY


def test_unknown_urgent_url_is_visited_once_and_enters_the_url_seen_set() -> None:
    sim = simulation()
    event = FetchRequested(at=sim.now, site=SITE, host=HOST, urls=(f"{HOST}/new",))
    (reported,) = sim.frontier.handle(event, sim.now)
    assert [(one.url, one.visited) for one in reported.urls] == [(f"{HOST}/new", True)]  # type: ignore[union-attr]
    sim.run()
    assert sim.pages() == [f"{HOST}/new"]
    row = sim.row()
    assert (row.queued, row.queued_urls, row.totals.admitted) == (0, 0, 1)


def test_known_page_is_fetched_again_before_waiting_revisits() -> None:
    sim = simulation()
    sim.handle(crawl(revisit="fixed:10m"))
    sim.admit_links(*pages(40))
    sim.run(START + 400.0)
    assert sorted(sim.pages()) == sorted(pages(40))
    # The revisits of all pages become due while the host is visited.
    sim.run(START + 640.0)
    asked_at, before = sim.now, len(sim.pages())
    fetch(sim, f"{HOST}/39")
    sim.run(asked_at + (BATCH + 2) * DELAY)
    assert f"{HOST}/39" in sim.pages()[before:]


def test_url_that_is_being_visited_is_not_visited_again() -> None:
    sim = simulation()
    sim.admit_links(*pages(20))
    sim.run(START + 3.0)
    fetch(sim, *pages(20)[1:BATCH])
    sim.run()
    assert Counter(sim.pages()) == Counter(pages(20))


def test_parked_url_is_visited_at_once_and_its_part_stays_parked() -> None:
    site = parked_calendar()
    (name, parked), *_ = site.parked().items()
    url = next(
        f"{HOST}/cal/{n}"
        for n in range(8, 48)
        if site.outcome(f"/cal/{n}") == "low_worth" and f"{HOST}/cal/{n}" not in site.sim.pages()
    )
    fetch(site.sim, url)
    site.run(30.0)
    assert Counter(site.sim.pages())[url] == 1
    assert site.parked()[name] == parked


def test_url_of_unloaded_host_precedes_all_hosts_in_memory() -> None:
    sim = simulation(loaded_limit=4, checked_out_limit=2)
    hosts = [f"http://{number}.test" for number in range(40)]
    for one in hosts:
        sim.admit_links(*pages(20, one))
    sim.run(START + 30.0)
    assert sim.loaded() <= 4
    last = next(one for one in reversed(hosts) if f"{one}/0" not in sim.pages())
    asked_at = sim.now
    fetch(sim, f"{last}/19")
    sim.run(asked_at + 60.0)
    (at,) = sim.starts(f"{last}/19")
    # After one running order, for a slot, and the visit to robots.txt.
    assert at - asked_at <= (BATCH + 2) * DELAY


def test_urgent_url_precedes_crawls_with_a_larger_claim() -> None:
    sim = simulation(checked_out_limit=1)
    sim.define("b", weight=0.01)
    for number in range(10):
        sim.admit_links(*pages(50, f"http://{number}.test"))
    sim.admit(*pages(50), crawl="b")
    sim.run(START + 120.0)
    asked_at = sim.now
    fetch(sim, f"{HOST}/urgent", crawl="b")
    sim.run(asked_at + 60.0)
    (at,) = sim.starts(f"{HOST}/urgent")
    assert at - asked_at <= 2 * (BATCH + 2) * DELAY


def test_backoff_and_courtesy_delay_of_the_host_stay() -> None:
    answers = dict[str, Mapping[str, object]]()
    sim = Simulation(lambda url: answers.get(url, {}), delay=DELAY)
    answers[f"{HOST}/busy"] = {"outcome": Outcome.BUSY, "retry_after": 300.0}
    sim.admit_links(f"{HOST}/busy")
    sim.run(START + 10.0)
    busy_at = sim.visits[-1][1]
    fetch(sim, f"{HOST}/page")
    sim.run(START + 400.0)
    (at,) = sim.starts(f"{HOST}/page")
    assert at >= busy_at + 300.0


def test_blocklist_and_scope_still_refuse() -> None:
    sim = simulation()
    sim.handle(crawl(scope="host('a.test')"))
    sim.handle(BlocklistChanged(at=sim.now, rule="a.test/no/*"))
    fetch(sim, f"{HOST}/no/1", f"{HOST}/yes")
    fetch(sim, "http://b.test/")
    sim.run()
    assert sim.pages() == [f"{HOST}/yes"]
    for url in (f"{HOST}/no/1", "http://b.test/"):
        row = sim.url_row(url)
        assert row and row.outcome in ("blacklisted", "out_of_scope")


def test_urls_of_an_erasure_are_not_fetched() -> None:
    sim = simulation()
    sim.admit_links(*pages(3))
    sim.run()
    sim.frontier.handle(ErasureRequested(at=sim.now, site=SITE, url=f"{HOST}/1"), sim.now)
    fetch(sim, f"{HOST}/1")
    sim.run()
    assert Counter(sim.pages())[f"{HOST}/1"] == 1


requests = st.lists(
    st.tuples(st.integers(0, 29), st.floats(0.0, 15.0), st.booleans()), min_size=1, max_size=8
)


@settings(max_examples=30)
@given(requests=requests, batch=st.integers(1, 6))
def test_each_new_url_is_visited_once_whenever_it_becomes_urgent(
    requests: list[tuple[int, float, bool]], batch: int
) -> None:
    sim = simulation(batch=batch)
    sim.admit_links(*pages(20))
    visited = set[str]()
    for number, pause, crashes in requests:
        sim.run(sim.now + pause)
        visited = {*sim.pages()}
        if (url := f"{HOST}/{number}") not in visited:
            fetch(sim, url)
        if crashes:
            sim.start()
    sim.run()
    crashed = any(crash for _, _, crash in requests)
    counts = Counter(sim.pages())
    assert {*counts} >= {*pages(20)}
    if not crashed:
        assert {*counts.values()} == {1}
    row = sim.row()
    assert (row.queued, row.queued_urls) == (0, 0)
    starts = sorted(at for at, _, _ in sim.visits)
    assert all(after - before >= DELAY for before, after in pairwise(starts))
