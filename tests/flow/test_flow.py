"""Whole crawls in virtual time, over random webs, through random crashes."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events.topics import DEAD_LETTERS, PAGES_ARCHIVED
from gossamer.log.codec import split_key
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.urls import UrlRow
from tests.flow.torn import Fate
from tests.flow.virtual import VirtualCrawl, html_page

HTML = (("Content-Type", "text/html; charset=utf-8"),)
ROBOTS = b"User-agent: *\nDisallow: /secret\n"

Pages = dict[str, list[str]]
"""URL → the URLs that it links to. `/secret…` is forbidden, `/to/…` redirects to its first link."""


def redirects(url: str, pages: Pages) -> bool:
    return "/to/" in url and bool(pages.get(url))


def serve(pages: Pages, took: float) -> dict[str, Reply]:
    replies = {}
    for url, links in pages.items():
        if redirects(url, pages):
            replies[url] = Reply(status=301, headers=(("Location", links[0]),))
            continue
        anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in links)
        body = f"<html><title>{url}</title><body><h1>This is {url}</h1>{anchors}"
        replies[url] = html_page(body)
    return replies


def reachable(pages: Pages, seed: str) -> set[str]:
    found, todo = set(), [seed]
    while todo:
        url = todo.pop()
        if url in found or "/secret" in url:
            continue
        found.add(url)
        links = pages.get(url, [])
        todo += links[:1] if "/to/" in url else links
    return found


def virtual_crawl(
    folder: Path,
    pages: Pages,
    took: float,
    fate: Fate | None = None,
    failing: Collection[str] = (),
    **options: object,
) -> VirtualCrawl:
    """Return a crawl of *pages*. The first request for a URL in *failing* is answered 500."""
    replies, failed = serve(pages, took), set[str]()

    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url.endswith("/robots.txt"):
            return took, Reply(status=200, body=ROBOTS)
        reply = replies.get(url, Reply(status=404))
        if url in failing and url not in failed:
            failed.add(url)
            return took, Reply(status=500)
        return took, reply

    return VirtualCrawl(folder, web, fate, **options)


urls = [
    f"http://{host}.test{path}"
    for host in ("a", "b", "www.b", "c")
    for path in ("/", "/1", "/2", "/to/x", "/secret/1", "/3")
]
webs = st.dictionaries(
    st.sampled_from(urls), st.lists(st.sampled_from(urls), max_size=6, unique=True), min_size=1
)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.long)])
def test_every_page_is_visited_politely_through_crashes(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        pages=webs,
        crashes=st.lists(st.integers(1, 60), max_size=8),
        batch=st.integers(1, 5),
        took=st.sampled_from([0.0, 0.3]),
        loaded=st.integers(1, 6),
    )
    def check(pages: Pages, crashes: list[int], batch: int, took: float, loaded: int) -> None:
        seed = next(iter(pages))
        with TemporaryDirectory() as folder:
            crawl = virtual_crawl(
                Path(folder), pages, took, batch=batch, loaded_limit=loaded, delay=1.0
            )
            crawl.define(seed)
            for steps in crashes:
                crawl.run(steps)
                crawl.crash()
            assert crawl.run()
            crawl.archive.close()
        requested = assert_whole(crawl, pages, seed)
        assert max(requested.values(), default=0) <= 1 + len(crashes)
        assert sum(requested.values()) - len(requested) <= len(crashes) * batch * 4

    check()


@pytest.mark.slow
@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.long)])
def test_nothing_is_lost_if_a_fleet_crashes_between_any_two_writes(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        pages=webs,
        deaths=st.lists(st.integers(0, 80), max_size=8),
        failing=st.lists(st.sampled_from(urls), max_size=4),
        batch=st.integers(1, 5),
        loaded=st.integers(1, 6),
        seed=st.integers(0, 1 << 16),
    )
    def check(
        pages: Pages, deaths: list[int], failing: list[str], batch: int, loaded: int, seed: int
    ) -> None:
        start = next(iter(pages))
        with TemporaryDirectory() as folder:
            limits = {"batch": batch, "loaded_limit": loaded, "lease_slack": 10.0, "delay": 1.0}
            crawl = virtual_crawl(Path(folder), pages, 0.3, Fate(seed), failing, **limits)
            crawl.define(start)
            crawl.die(*deaths)
            assert crawl.run()
            crawl.archive.close()
        requested = assert_whole(crawl, pages, start)
        again = requested.keys() & {*failing}
        assert sum(requested.values()) - len(requested) - len(again) <= len(deaths) * batch * 4
        outcomes = {row.url for row in crawl.rows(UrlRow)}
        assert outcomes >= requested.keys(), "every requested URL has an outcome"

    check()


def assert_whole(crawl: VirtualCrawl, pages: Pages, seed: str) -> Counter[str]:
    """Assert that all required pages were visited, published and archived; return the requests by
    URL."""
    required = reachable(pages, seed)
    requested = Counter(crawl.requested())
    assert set(requested) == required
    assert min(crawl.gaps(), default=1.0) >= 1.0 - 1e-6
    assert crawl.lag() == 0
    assert not crawl.records(DEAD_LETTERS.name)
    documents = {url for url in required & pages.keys() if not redirects(url, pages)}
    assert crawl.published() == documents
    captures = crawl.records(PAGES_ARCHIVED.name)
    assert {split_key(record.key)[1] for record in captures} == required
    return requested


def test_second_run_with_the_same_seeds_makes_no_requests(tmp_path: Path) -> None:
    crawl = virtual_crawl(
        tmp_path, {"http://a.test/": ["http://a.test/1"], "http://a.test/1": []}, 0.1
    )
    crawl.define("http://a.test/")
    assert crawl.run()
    before = list(crawl.requests)
    crawl.crash()
    crawl.define("http://a.test/")
    assert crawl.run()
    assert crawl.requests == before
