"""Why a seed gave no page."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from gossamer.events import CrawlDefined, Outcome
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.urls.visits import NOT_VISITED, SeedFailure, failed_seeds
from gossamer.log import Log, Tail
from gossamer.log.codec import encode
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.url import host_key
from tests.support.rows import put_rows

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    opened = Folder(tmp_path / "data").create()
    crawl = CrawlDefined(crawl="news", at=1.0, scope="domain('a.example')", max_depth=2)
    opened.log.append([encode(crawl)])
    return opened


def store(opened: Opened, url: str, outcome: str, status: int, location: str = "") -> None:
    put_rows(opened.store, UrlRow("news", host_key(url), url, outcome, 1.0, status, "", location))


def test_each_seed_without_a_page_has_its_reason(opened: Opened) -> None:
    store(opened, A, Outcome.REDIRECT, 301, B)
    store(opened, f"{A}1", Outcome.REDIRECT, 302, "/2")
    store(opened, f"{A}2", Outcome.PAGE, 200)
    store(opened, f"{A}3", Outcome.NOT_MODIFIED, 304)
    store(opened, f"{A}4", Outcome.GONE, 404)
    store(opened, f"{A}5", Outcome.REDIRECT, 302, "/6")
    store(opened, f"{A}6", Outcome.REDIRECT, 302, "/5")
    seeds = [A, *(f"{A}{number}" for number in range(1, 6)), C]
    assert failed_seeds(opened, "news", seeds) == {
        A: SeedFailure(
            "", 0, f"it redirects to {B}, which is out of scope, by domain('a.example')"
        ),
        f"{A}4": SeedFailure("gone", 404, ""),
        f"{A}5": SeedFailure("redirect", 302, f"its redirects lead back to {A}5"),
        C: SeedFailure("", 0, NOT_VISITED),
    }


def test_many_seeds_read_the_log_as_often_as_few(opened: Opened) -> None:
    log = CountingLog(opened.log)
    opened.log = log  # type: ignore[assignment]
    reads = []
    for count in (2, 20):
        log.tails = 0
        seeds = [f"{A}{number}" for number in range(count)]
        for seed in seeds:
            store(opened, seed, Outcome.REDIRECT, 301, B)
        assert failed_seeds(opened, "news", seeds).keys() == {*seeds}
        reads.append(log.tails)
    assert reads[0] == reads[1]


class CountingLog:
    """A log that counts how often it is read from its beginning."""

    def __init__(self, log: Log) -> None:
        self._log, self.tails = log, 0

    def tail(self, topics: Sequence[str]) -> Tail:
        self.tails += 1
        return self._log.tail(topics)
