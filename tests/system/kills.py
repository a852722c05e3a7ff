"""Kills of an embedded crawl at any moment, and what it must have come to in spite of them."""

import random
import time
from collections import Counter
from itertools import pairwise

from tests.support.commands import Done
from tests.support.waiting import until
from tests.synthweb import Truth
from tests.synthweb.record import Request

from .crawl import Crawl, Started
from .judge import (
    ROBOTS,
    assert_archived,
    assert_pages,
    assert_polite,
    assert_thorough,
)

BATCH = 10
"""Most URLs of a host that are under way together, as the settings say unless told otherwise."""


def assert_as_if_never_killed(crawl: Crawl, last: Done, kills: list[float]) -> None:
    """All promises hold at the server's record after the *last* run; *kills* are times."""
    assert (last.code, last.err) == (0, ""), last
    requests, truth = crawl.web.requests(), crawl.web.truth
    assert_polite(requests, truth, crawl.delay)
    assert_thorough(requests, truth)
    assert_repeats_are_batches(requests, truth, kills)
    assert_pages(crawl, truth)
    assert_archived(crawl, requests, truth)
    assert "dead letters" not in last.out


def killed(crawl: Crawl, rng: random.Random, group: bool) -> float:
    """Start the crawl, kill it at some moment, see everybody die; return when it was."""
    asked = len(crawl.web.requests())
    with crawl.start() as started:
        if rng.random() < 0.4:
            time.sleep(rng.uniform(0.0, 0.4))  # Anywhere while it starts.
        else:
            wanted = asked + rng.randrange(1, 60)
            until(lambda: at_work(crawl, started, wanted), "requests, or the end of the crawl")
        started.kill(group)
        until(started.is_gone, "the end of the killed crawl's processes")
        assert "Traceback" not in started.err
    return time.time()


def at_work(crawl: Crawl, started: Started, wanted: int) -> bool:
    return len(crawl.web.requests()) >= wanted or not started.running


def between(requests: list[Request], kills: list[float]) -> list[list[Request]]:
    """The requests of each run."""
    bounds = [0.0, *kills, float("inf")]
    return [[r for r in requests if a <= r.at < b] for a, b in pairwise(bounds)]


def assert_repeats_are_batches(requests: list[Request], truth: Truth, kills: list[float]) -> None:
    """What a run asks for again is at most what each host had under way when the last one died."""
    before: Counter[str] = Counter()
    for run in between(requests, kills):
        pages = [request for request in run if request.path not in ROBOTS]
        again = Counter(r.host for r in pages if before[r.url] > (r.url in truth.retried))
        assert all(count <= BATCH for count in again.values()), again
        before.update(request.url for request in pages)
