"""A wider scope or a larger depth releases parked URLs from the store."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.events import FleetPaused, SeedAdded
from gossamer.log.codec import encode
from gossamer.services.frontier.partition.parts import PROBE_WAIT
from gossamer.services.frontier.service import Frontier
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import host_key
from tests.flow.test_blocklist import change_blocklist
from tests.flow.test_flow import Pages, reachable, redirects, virtual_crawl, webs
from tests.flow.torn import Died, Fate
from tests.flow.virtual import VirtualCrawl

CHAIN: Pages = {f"http://a.test/{n}": [f"http://a.test/{n + 1}"] for n in range(9)} | {
    "http://a.test/9": []
}
OUT: Pages = {
    "http://a.test/": ["http://b.test/", "http://a.test/to/b", "http://a.test/1"],
    "http://a.test/1": ["http://b.test/"],
    "http://a.test/to/b": ["http://c.test/"],
    "http://b.test/": ["http://b.test/1"],
    "http://b.test/1": [],
    "http://c.test/": [],
}


def is_waiting(crawl: VirtualCrawl) -> bool:
    """Return whether one URL of the chain is queued, and none in flight."""
    host = SqliteStore(crawl.database).table(HostRow).get("a.test", "http://a.test")
    return host is not None and host.queued == 1 and host.condition is Condition.DELAYED


def test_larger_depth_continues_where_the_smaller_one_ended(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, CHAIN, 0.0)
    crawl.define("http://a.test/0", max_depth=1)
    assert crawl.run()
    assert set(crawl.requested()) == {"http://a.test/0", "http://a.test/1"}
    for depth in (1, 5, 3, 9):
        crawl.define(max_depth=depth)
        assert crawl.run()
    assert Counter(crawl.requested()) == Counter(CHAIN.keys()), "all pages, once each"
    last = crawl.url_row("http://a.test/9")
    assert last and (last.origin.depth, last.origin.via.partition("@")[2]) == (9, "http://a.test/8")


def test_wider_scope_visits_parked_links_and_redirects(
    tmp_path: Path,
) -> None:
    crawl = virtual_crawl(tmp_path, OUT, 0.0)
    crawl.define("http://a.test/", scope="domain('a.test')")
    assert crawl.run()
    assert {host_key(url) for url in crawl.requested()} == {"http://a.test"}
    crawl.crash()
    crawl.define(scope="any()")
    assert crawl.run()
    assert Counter(crawl.requested()) == Counter(OUT.keys())
    row = crawl.url_row("http://c.test/")
    assert row and row.origin.depth == 1, "a redirect does not increase the depth"


def test_seeds_wait_for_the_definition_of_the_crawl(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, CHAIN, 0.0)
    frontier = next(one for one in crawl.services if isinstance(one, Frontier))
    crawl.log.append([encode(SeedAdded(url=url)) for url in ("http://a.test/0", "http://b.test/")])
    assert crawl.run()
    assert crawl.requests == []
    assert "no crawl is defined, so nothing is fetched (URLs queued: 2)" in frontier.note()
    crawl.define(scope="domain('a.test')")
    assert crawl.run()
    assert Counter(crawl.requested()) == Counter(CHAIN.keys())
    row = crawl.url_row("http://b.test/")
    assert row and (row.outcome, frontier.note()) == ("out_of_scope", "")
    crawl.define(paused=True)
    assert crawl.run()
    assert frontier.note() == "the crawl is paused"


def test_pause_of_all_crawls_ends_without_resuming_a_paused_one(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, CHAIN, 0.0)
    frontier = next(one for one in crawl.services if isinstance(one, Frontier))
    crawl.log.append([encode(FleetPaused(at=crawl.now, paused=True))])
    crawl.define("http://a.test/0", scope="domain('a.test')")
    assert crawl.run()
    assert (crawl.requests, frontier.note()) == ([], "all crawls are paused")
    crawl.define(paused=True)
    crawl.log.append([encode(FleetPaused(at=crawl.now, paused=False))])
    assert crawl.run()
    assert (crawl.requests, frontier.note()) == ([], "the crawl is paused")
    crawl.define(scope="domain('a.test')")
    assert crawl.run()
    assert Counter(crawl.requested()) == Counter(CHAIN.keys())


def test_depth_of_a_url_is_the_smallest_at_which_it_was_found(tmp_path: Path) -> None:
    pages: Pages = {
        "http://a.test/": ["http://a.test/1", "http://a.test/2"],
        "http://a.test/1": ["http://a.test/11"],
        "http://a.test/11": ["http://b.test/"],
        "http://a.test/2": ["http://b.test/"],
    }
    crawl = virtual_crawl(tmp_path, pages, 0.0)
    crawl.define("http://a.test/", scope="domain('a.test')", max_depth=3)
    assert crawl.run()
    crawl.define(scope="any()", max_depth=2)
    assert crawl.run()
    assert crawl.requested().count("http://b.test/") == 1
    row = crawl.url_row("http://b.test/")
    assert row and row.origin.depth == 2


def test_page_limit_and_host_budget_hold_for_released_urls(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, CHAIN, 0.0, url_budget=3, budget_growth=0.0, seed_sites=0)
    crawl.define("http://a.test/0", max_depth=0)
    assert crawl.run()
    crawl.define(max_depth=9, pages_before=1, max_pages=2)
    assert crawl.run()
    assert len({*crawl.requested()}) == 3
    crawl.define(max_depth=9)
    crawl.run(until=crawl.now + PROBE_WAIT / 2)
    assert len({*crawl.requested()}) == 6


@pytest.mark.parametrize(
    ("narrow", "rule"),
    [
        ({"scope": "not prefix('http://a.test/2')"}, "out_of_scope"),
        ({"max_depth": 1}, "trap_depth"),
    ],
)
def test_queued_urls_outside_a_narrower_crawl_are_skipped_until_it_is_wider(
    tmp_path: Path, narrow: dict[str, object], rule: str
) -> None:
    crawl = virtual_crawl(tmp_path, CHAIN, 0.0, delay=60.0)
    crawl.define("http://a.test/0")
    while not ("http://a.test/1" in crawl.requested() and is_waiting(crawl)):
        crawl.run(1)
    crawl.define(**narrow)
    assert crawl.run()
    assert set(crawl.requested()) == {"http://a.test/0", "http://a.test/1"}
    left = crawl.url_row("http://a.test/2")
    assert left and left.outcome == rule and left.reason
    crawl.define()
    assert crawl.run()
    assert Counter(crawl.requested()) == Counter(CHAIN.keys())


scopes = st.sampled_from(
    ["any()", "domain('a.test')", "domain('b.test')", "not host('b.test')", "prefix('http://a')"]
)
rules = st.sampled_from(["a.test", "*.b.test", "*.test", "b.test/1", "a.test/to/*", "c.test/*"])
Change = tuple[str, int | bool, int]
"""A scope and a depth, or a rule of the blocklist and whether it is lifted; and the steps that
follow."""
changes = st.lists(
    st.one_of(
        st.tuples(scopes, st.integers(0, 4), st.integers(1, 40)),
        st.tuples(rules, st.booleans(), st.integers(1, 40)),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [12, pytest.param(40, marks=pytest.mark.long)])
def test_all_pages_are_visited_after_random_definitions_and_rules(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        pages=webs,
        changes=changes,
        deaths=st.lists(st.integers(0, 80), max_size=6),
        seed=st.integers(0, 1 << 16),
    )
    # The second crash leaves the URL in the queue's bucket, and not in the host's row.
    @example({"http://a.test/": []}, [("domain('b.test')", 0, 6)], [21, 43], 0)
    def check(pages: Pages, changes: list[Change], deaths: list[int], seed: int) -> None:
        start, fate = next(iter(pages)), Fate(seed)
        with TemporaryDirectory() as folder:
            crawl = virtual_crawl(Path(folder), pages, 0.3, fate, lease_slack=10.0)
            crawl.define(start)
            crawl.run(2)
            left = iter(deaths)
            blocked = sorted({rule for rule, value, _ in changes if isinstance(value, bool)})
            lifted = ((rule, True, 1) for rule in blocked)
            for what, value, steps in [*changes, *lifted, ("any()", 99, 1_000_000)]:
                if isinstance(value, bool):
                    change_blocklist(crawl, what, lifted=value)
                else:
                    crawl.define(scope=what, max_depth=value)
                fate.left = next(left, None)
                with suppress(Died):
                    crawl.run(steps)
                if fate.left is not None:
                    crawl.crash()
            crawl.die(*left)
            assert crawl.run()
            crawl.archive.close()
        required = reachable(pages, start)
        assert set(crawl.requested()) == required
        assert deaths or max(Counter(crawl.requested()).values(), default=1) == 1
        documents = {url for url in required if url in pages and not redirects(url, pages)}
        assert crawl.published() == documents

    check()
