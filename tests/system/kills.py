"""Kills of an embedded crawl at random times, and the promises that must hold in spite of them."""

import random
import time
from collections import Counter
from itertools import pairwise

from tests.support.commands import Done
from tests.support.waiting import until
from tests.synthweb import Truth
from tests.synthweb.record import Request

from .assertions import (
    ROBOTS_PATHS,
    assert_archived,
    assert_pages,
    assert_polite,
    assert_thorough,
)
from .crawl import Crawl, Started

BATCH = 10
"""The maximum number of URLs of a host in flight, by default settings."""


def assert_as_if_never_killed(crawl: Crawl, last: Done, kills: list[float]) -> None:
    """Assert all promises on the server's record after the *last* run. *kills* are times."""
    assert (last.code, last.err) == (0, ""), last
    requests, truth = crawl.web.requests(), crawl.web.truth
    assert_polite(requests, truth, crawl.delay)
    assert_thorough(requests, truth)
    assert_repeats_are_batches(requests, truth, kills)
    assert_pages(crawl, truth)
    assert_archived(crawl, requests, truth)
    assert "dead letters" not in last.out


def kill_crawl(crawl: Crawl, rng: random.Random, group: bool) -> float:
    """Start the crawl, kill it at a random time, and wait for its processes; return the time of the
    kill."""
    request_count = len(crawl.web.requests())
    with crawl.start() as started:
        if rng.random() < 0.4:
            time.sleep(rng.uniform(0.0, 0.4))  # At any point of its start.
        else:
            required_count = request_count + rng.randrange(1, 60)
            until(
                lambda: has_requests(crawl, started, required_count),
                "requests, or the end of the crawl",
            )
        started.kill(group)
        until(started.is_gone, "the end of the killed crawl's processes")
        assert "Traceback" not in started.err
    return time.time()


def has_requests(crawl: Crawl, started: Started, required_count: int) -> bool:
    return len(crawl.web.requests()) >= required_count or not started.running


def split_by_runs(requests: list[Request], kills: list[float]) -> list[list[Request]]:
    bounds = [0.0, *kills, float("inf")]
    return [[r for r in requests if a <= r.at < b] for a, b in pairwise(bounds)]


def assert_repeats_are_batches(requests: list[Request], truth: Truth, kills: list[float]) -> None:
    """Assert that each run repeats at most the URLs that were in flight at the last kill."""
    before: Counter[str] = Counter()
    for run in split_by_runs(requests, kills):
        pages = [request for request in run if request.path not in ROBOTS_PATHS]
        again = Counter(r.host for r in pages if before[r.url] > (r.url in truth.retried))
        assert all(count <= BATCH for count in again.values()), again
        before.update(request.url for request in pages)
