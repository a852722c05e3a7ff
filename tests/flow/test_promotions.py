"""Whole crawls in which good pages link to URLs that already wait."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events import DEFAULT_CRAWL
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.hosts import HostRow
from tests.flow.torn import Fate
from tests.flow.virtual import VirtualCrawl, html_page

HTML = (("Content-Type", "text/html; charset=utf-8"),)
HOST = "http://a.test"
POOR, GOOD = 12, 6
"""The number of poor and of good pages that the seed links to."""
LIMITS: dict[str, Any] = {"delay": 1.0, "worth_parking": False, "url_budget": 0}


def text(path: str) -> str:
    """Return a long text of words that no other page has."""
    return " ".join(f"word{path.strip('/').replace('/', 'x')}n{n}" for n in range(300))


def links_of(path: str) -> list[str]:
    """Return the links of a page: each good page links to the last of the pages that the seed
    links to."""
    if path == "/":
        good, poor = [f"/good/{n}" for n in range(GOOD)], [f"/poor/{n}" for n in range(POOR)]
        return [*good, *poor, "/target"]
    return ["/target"] if path.startswith("/good") else []


def web(url: str, now: float) -> tuple[float, Reply]:
    path = url.removeprefix(HOST)
    if path == "/robots.txt":
        return 0.1, Reply(status=404)
    anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in links_of(path))
    words = f"Only {path}" if path.startswith("/poor") else text(path)
    body = f"<html><title>{path}</title><body><p>{words}</p>{anchors}"
    return 0.1, html_page(body)


def pages(crawl: VirtualCrawl) -> list[str]:
    """Return the paths of the requested pages in their order."""
    return [url.removeprefix(HOST) for url in crawl.requested()]


@pytest.mark.parametrize(("strategy", "is_sooner"), [("best", True), ("breadth", False)])
def test_url_that_good_pages_link_to_is_visited_before_older_ones(
    tmp_path: Path, strategy: str, is_sooner: bool
) -> None:
    crawl = VirtualCrawl(tmp_path, web, batch=1, **LIMITS)
    crawl.define(f"{HOST}/", strategy=strategy)
    assert crawl.run()
    made = pages(crawl)
    assert len(made) == len({*made}) == 2 + POOR + GOOD
    before = {path for path in made[: made.index("/target")] if path.startswith("/poor")}
    assert (len(before) < POOR // 2) is is_sooner
    [row] = crawl.rows(HostRow)
    assert (row.queued, row.of(DEFAULT_CRAWL).new.surplus, row.totals.admitted) == (0, 0, len(made))


@pytest.mark.slow
@pytest.mark.parametrize("examples", [15, pytest.param(60, marks=pytest.mark.long)])
def test_promoted_url_is_visited_once_through_crashes_between_any_two_writes(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        deaths=st.lists(st.integers(0, 120), max_size=8),
        batch=st.integers(1, 5),
        seed=st.integers(0, 1 << 16),
    )
    def check(deaths: list[int], batch: int, seed: int) -> None:
        with TemporaryDirectory() as folder:
            limits = {"batch": batch, "lease_slack": 10.0, **LIMITS}
            crawl = VirtualCrawl(Path(folder), web, Fate(seed), **limits)
            crawl.define(f"{HOST}/", strategy="best")
            crawl.die(*deaths)
            assert crawl.run()
            crawl.archive.close()
        requested = Counter(pages(crawl))
        assert len(requested) == 2 + POOR + GOOD
        # A crash loses the outcomes of the visits in flight, which are made again.
        assert sum(requested.values()) - len(requested) <= len(deaths) * batch * 4
        if not deaths:
            assert {*requested.values()} == {1}
        [row] = crawl.rows(HostRow)
        assert (row.queued, row.of(DEFAULT_CRAWL).new.surplus) == (0, 0)

    check()
