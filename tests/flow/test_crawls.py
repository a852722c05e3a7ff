"""Two crawls of overlapping hosts through all services: one politeness, and nothing else shared."""

from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.crawl import definitions_of
from gossamer.events import DEFAULT_CRAWL, BlocklistChanged, DeadLetter, ErasureRequested, Page
from gossamer.events.topics import DEAD_LETTERS, PAGES
from gossamer.log.codec import decode, encode, split_key
from gossamer.log.control import ControlRow
from gossamer.procedures.tables import TABLES
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.partition.plans import HOSTS
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow
from gossamer.web.url import HostKey, Site
from tests.flow.torn import Fate
from tests.flow.virtual import VirtualCrawl, Web

SHARED, OF_A, OF_B = HostKey("http://shared.test"), "http://a.test", "http://b.test"
HTML = (("Content-Type", "text/html; charset=utf-8"),)
DELAY, TOOK, DAY = 1.0, 0.1, 86400.0
A, B = DEFAULT_CRAWL, "b"
SCOPES = {A: "domain('shared.test', 'a.test')", B: "domain('shared.test', 'b.test')"}
OPTIONS = {"delay": DELAY, "delay_factor": 0.0, "batch": 4, "worth_parking": False}


def pages(count: int) -> dict[str, list[str]]:
    """Return the links of each page: a tree of *count* pages on each host."""
    return {
        f"{host}/{number}": [f"{host}/{2 * number + 1}", f"{host}/{2 * number + 2}"]
        for host in (SHARED, OF_A, OF_B)
        for number in range(count)
    }


def web(count: int, failing: str = "") -> Web:
    """Return a web of *count* pages on each host, with links out of all scopes. URLs that end with
    *failing* are answered by 500."""
    links = pages(count)

    def serve(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url not in links:
            return TOOK, Reply(status=404)
        if failing and url.endswith(failing):
            return TOOK, Reply(status=500)
        found = [*links[url], f"http://elsewhere{url.removeprefix('http://')[0]}.test/"]
        anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in found)
        body = f"<html><title>{url}</title><body><h1>This is {url}</h1>{anchors}".encode()
        return TOOK, Reply(status=200, headers=HTML, body=body)

    return serve


def two_crawls(
    folder: Path, count: int, weight: float = 1.0, fate: Fate | None = None
) -> VirtualCrawl:
    crawl = VirtualCrawl(folder, web(count), fate, **OPTIONS)
    crawl.define(f"{SHARED}/0", f"{OF_A}/0", scope=SCOPES[A])
    crawl.define(f"{SHARED}/0", f"{OF_B}/0", scope=SCOPES[B], crawl=B, weight=weight)
    return crawl


def visited(crawl: VirtualCrawl) -> dict[str, set[str]]:
    """Return the URLs that each crawl has visited, by crawl."""
    found = defaultdict[str, set[str]](set)
    for row in crawl.rows(UrlRow):
        if row.outcome == "page":
            found[row.crawl].add(row.url)
    return found


def published(crawl: VirtualCrawl) -> dict[str, set[str]]:
    """Return the URLs of the documents of each crawl, whose keys, headers and values agree."""
    found = defaultdict[str, set[str]](set)
    for record in crawl.records(PAGES.name):
        page, key = decode(record), split_key(record.key)
        assert isinstance(page, Page) and key == (page.crawl, page.url)
        assert dict(record.headers)["crawl"] == page.crawl
        found[page.crawl].add(page.url)
    return found


def expected(count: int) -> dict[str, set[str]]:
    hosts = {A: (SHARED, OF_A), B: (SHARED, OF_B)}
    return {
        name: {url for url in pages(count) if url.startswith(of_crawl)}
        for name, of_crawl in hosts.items()
    }


def test_each_crawl_visits_its_urls_with_the_politeness_of_one(tmp_path: Path) -> None:
    crawl = two_crawls(tmp_path, 15)
    assert crawl.run()
    assert visited(crawl) == expected(15)
    assert min(crawl.gaps()) >= DELAY - 1e-6
    requests = Counter(url for _, _, url in crawl.requests)
    assert requests[f"{SHARED}/robots.txt"] == 1
    assert requests[f"{SHARED}/7"] == 2 and requests[f"{OF_A}/7"] == requests[f"{OF_B}/7"] == 1
    assert crawl.lag() == 0


def test_paused_crawl_leaves_the_other(tmp_path: Path) -> None:
    crawl = two_crawls(tmp_path, 40)
    crawl.run(until=crawl.now + 20.0)
    crawl.define(scope=SCOPES[B], crawl=B, paused=True)
    crawl.run(until=crawl.now + 10.0)
    before = visited(crawl)
    crawl.run()
    after = visited(crawl)
    assert after[A] == expected(40)[A]
    assert after[B] == before[B] < expected(40)[B]
    crawl.define(scope=SCOPES[B], crawl=B)
    crawl.run()
    assert visited(crawl) == expected(40)


def visits_of_shared_host(crawl: VirtualCrawl) -> Counter[str]:
    """Return the number of pages of the shared host that each crawl has visited."""
    found = visited(crawl).items()
    return Counter({name: sum(url.startswith(SHARED) for url in urls) for name, urls in found})


@pytest.mark.parametrize("weight", [pytest.param(1.0, marks=pytest.mark.long), 3.0])
def test_paused_crawl_saves_no_visits_at_a_shared_host(tmp_path: Path, weight: float) -> None:
    crawl = two_crawls(tmp_path, 150, weight)
    crawl.run(until=crawl.now + 20.0)
    crawl.define(scope=SCOPES[B], crawl=B, weight=weight, paused=True)
    crawl.run(until=crawl.now + 50.0)
    crawl.define(scope=SCOPES[B], crawl=B, weight=weight)
    before = visits_of_shared_host(crawl)
    crawl.run(until=crawl.now + 50.0)
    after = visits_of_shared_host(crawl)
    assert (after[A] + after[B]) - (before[A] + before[B]) > 30
    of_a, of_b = ((after[name] - before[name]) for name in (A, B))
    # One order of each crawl, of up to four URLs, is in flight at the ends of the time.
    assert abs(of_b / weight - of_a) <= 4 + 4 / weight


def test_crawl_that_begins_beside_a_paused_one_shares_with_the_others(tmp_path: Path) -> None:
    crawl = two_crawls(tmp_path, 150)
    crawl.run(until=crawl.now + 20.0)
    crawl.define(scope=SCOPES[B], crawl=B, paused=True)
    crawl.run(until=crawl.now + 50.0)
    crawl.define(f"{SHARED}/0", scope="domain('shared.test')", crawl="c")
    crawl.run(until=crawl.now + 10.0)
    before = visits_of_shared_host(crawl)
    crawl.run(until=crawl.now + 60.0)
    after = visits_of_shared_host(crawl)
    assert after["c"] - before["c"] > 10
    assert abs((after["c"] - before["c"]) - (after[A] - before[A])) <= 8


@settings(deadline=None, max_examples=8)
@given(
    st.lists(st.integers(1, 400), max_size=4),
    st.sampled_from([0.5, 1.0, 4.0]),
    st.integers(0, 99),
)
def test_crashes_lose_no_url_of_either_crawl(lives: list[int], weight: float, seed: int) -> None:
    with TemporaryDirectory() as folder:
        crawl = two_crawls(Path(folder), 6, weight, Fate(seed))
        crawl.die(*lives, seconds=30.0)
        assert crawl.run()
        assert visited(crawl) == published(crawl) == expected(6)
        assert all(row.queued == 0 for row in crawl.rows(HostRow))
        assert min(crawl.gaps()) >= DELAY - 1e-6


ROWS_OF_CRAWLS: tuple[Any, ...] = tuple(
    kind for kind in TABLES if "crawl" in kind.__annotations__ and kind is not ControlRow
)


def rows_of(crawl: VirtualCrawl, name: str) -> dict[str, list[Any]]:
    """Return the rows of the crawl *name* by table."""
    found = defaultdict[str, list[Any]](list)
    for kind in ROWS_OF_CRAWLS:
        for row in crawl.rows(kind):
            if row.crawl == name:
                found[kind.table].append(row)
    return dict(found)


def remove(crawl: VirtualCrawl, name: str) -> None:
    crawl.define(scope=SCOPES[name], crawl=name, removed=True, paused=True)


def assert_removed(crawl: VirtualCrawl, name: str) -> None:
    """Assert that no row and no document of the crawl *name* is left."""
    assert rows_of(crawl, name) == {}
    shared: tuple[Any, ...] = (HostRow, SiteRow)
    for kind in shared:
        assert not [row for row in crawl.rows(kind) if name in row.crawls]
    records = crawl.records(PAGES.name)
    assert not [one.key for one in records if split_key(one.key)[0] == name and one.value]


@pytest.mark.parametrize("name", [A, B])
@pytest.mark.parametrize("seconds", [0.0, 1.0, 12.0, 500.0])
def test_removed_crawl_leaves_no_rows_and_the_other_is_complete(
    tmp_path: Path, seconds: float, name: str
) -> None:
    crawl = two_crawls(tmp_path, 20)
    crawl.run(until=crawl.now + seconds)
    remove(crawl, name)
    assert crawl.run()
    assert_removed(crawl, name)
    other = B if name == A else A
    assert visited(crawl) == {other: expected(20)[other]}
    assert min(crawl.gaps()) >= DELAY - 1e-6
    requests = Counter(url for _, _, url in crawl.requests)
    assert requests[f"{SHARED}/robots.txt"] == 1
    assert crawl.lag() == 0


@pytest.mark.parametrize("crashes", [False, True])
def test_definition_of_a_removed_crawl_is_refused_by_all_services(
    tmp_path: Path, crashes: bool
) -> None:
    crawl = two_crawls(tmp_path, 6)
    crawl.run(until=crawl.now + 10.0)
    remove(crawl, B)
    assert crawl.run()
    visits = len(crawl.requests)
    crawl.define(f"{SHARED}/0", f"{OF_B}/0", scope=SCOPES[B], crawl=B)
    crawl.run(until=crawl.now + 5.0)
    if crashes:
        crawl.crash()
    assert crawl.run()
    assert_removed(crawl, B)
    assert len(crawl.requests) == visits
    letters = [decode(one) for one in crawl.records(DEAD_LETTERS.name)]
    of_control = [one for one in letters if isinstance(one, DeadLetter) and one.topic == "control"]
    assert {one.service for one in of_control} >= {"frontier", "dedup", "archive"}
    assert all("b was removed, and an id is used only once" in one.reason for one in of_control)
    # Kafka keeps the newest definition alone.
    assert definitions_of(crawl.log)[B].removed


def test_site_whose_hosts_were_forgotten_is_still_one_of_other_crawls(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web(6), None, **OPTIONS)
    crawl.log.append([encode(BlocklistChanged(at=crawl.now, rule="www.shared.test"))])
    crawl.define(f"{SHARED}/0", scope=SCOPES[A])
    crawl.define("http://www.shared.test/0", scope=SCOPES[B], crawl=B)
    assert crawl.run()
    assert rows_of(crawl, B)["parked"]
    crawl.log.append(
        [encode(ErasureRequested(at=crawl.now, site=Site("shared.test"), host=SHARED))]
    )
    assert crawl.run()
    (row,) = crawl.rows(SiteRow)
    assert row.hosts == 0 and B in row.crawls  # The removal of B finds the site by that.
    remove(crawl, B)
    assert crawl.run()
    assert_removed(crawl, B)


def results(crawl: VirtualCrawl, name: str) -> dict[str, tuple[str, str, int]]:
    """Return outcome, verdict and the number of visits of each URL of the crawl *name*."""
    rows = rows_of(crawl, name)
    verdicts = {row.url: row.verdict for row in rows["verdicts"]}
    return {row.url: (row.outcome, verdicts.get(row.url, ""), row.earlier) for row in rows["urls"]}


def test_results_of_a_crawl_equal_those_of_a_run_without_removal(tmp_path: Path) -> None:
    kept = two_crawls(tmp_path / "kept", 12)
    assert kept.run()
    assert {"urls", "verdicts", "page_history", "tallies", "documents"} <= rows_of(kept, B).keys()
    crawl = two_crawls(tmp_path / "removed", 12)
    crawl.run(until=crawl.now + 8.0)
    remove(crawl, B)
    assert crawl.run()
    assert results(crawl, A) == results(kept, A)


@pytest.mark.parametrize("seconds", [30.0, 300.0, 3 * DAY])
def test_removed_crawl_leaves_no_plans(tmp_path: Path, seconds: float) -> None:
    crawl = VirtualCrawl(tmp_path, web(12, failing="/7"), None, **OPTIONS)
    plans = {"revisit": "fixed:1d", "budget": 10_000}
    crawl.define(f"{SHARED}/0", f"{OF_A}/0", scope=SCOPES[A])
    crawl.define(f"{SHARED}/0", f"{OF_B}/0", scope=SCOPES[B], crawl=B, **plans)
    crawl.run(until=crawl.now + seconds)
    before = rows_of(crawl, B)
    assert {"plans", "due", "parked", "parked_limits", "partition_plans"} <= before.keys()
    remove(crawl, B)
    assert crawl.run()
    assert_removed(crawl, B)
    assert visited(crawl) == {A: {url for url in expected(12)[A] if not url.endswith("/7")}}
    totals = crawl.rows(PartitionTallyRow)
    assert sum(row.due_count for row in totals) == 0


def test_retries_of_a_forgotten_host_wait_no_longer(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web(12, failing="/7"), None, **OPTIONS)
    crawl.define(f"{SHARED}/0", f"{OF_A}/0", scope=SCOPES[A])
    crawl.run(until=crawl.now + 40.0)
    crawl.log.append(
        [encode(ErasureRequested(at=crawl.now, site=Site("shared.test"), host=SHARED))]
    )
    assert crawl.run()
    totals = crawl.rows(PartitionTallyRow)
    assert sum(row.due_count for row in totals) == 0


def retries_of(crawl: VirtualCrawl, name: str) -> list[DueRow]:
    """Return the entries of the crawl *name* in the calendar of hosts."""
    found = rows_of(crawl, name).get("due", [])
    return [row for row in found if row.bucket.startswith(f"{HOSTS}/")]


def test_retries_of_a_removed_crawl_leave_the_calendar_of_hosts_at_once(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web(12, failing="/7"), None, **OPTIONS)
    crawl.define(f"{SHARED}/0", f"{OF_A}/0", scope=SCOPES[A])
    crawl.define(f"{SHARED}/0", f"{OF_B}/0", scope=SCOPES[B], crawl=B)
    crawl.run(until=crawl.now + 40.0)
    retries = {name: retries_of(crawl, name) for name in (A, B)}
    assert retries[A] and min(row.at for row in retries[B]) > crawl.now + 20.0
    remove(crawl, B)
    crawl.run(until=crawl.now + 15.0)
    assert rows_of(crawl, B) == {}
    assert retries_of(crawl, A) == retries[A]


@settings(deadline=None, max_examples=10)
@given(
    st.lists(st.integers(1, 300), max_size=5),
    st.sampled_from([A, B]),
    st.sampled_from([0.5, 6.0, 60.0]),
    st.integers(0, 99),
)
def test_crashes_leave_no_rows_of_a_removed_crawl(
    lives: list[int], name: str, seconds: float, seed: int
) -> None:
    with TemporaryDirectory() as folder:
        crawl = two_crawls(Path(folder), 6, 1.0, Fate(seed))
        crawl.run(until=crawl.now + seconds)
        remove(crawl, name)
        crawl.die(*lives, seconds=30.0)
        assert crawl.run()
        assert_removed(crawl, name)
        other = B if name == A else A
        assert visited(crawl) == {other: expected(6)[other]}
        assert min(crawl.gaps()) >= DELAY - 1e-6
