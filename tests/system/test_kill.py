"""A crawl killed twenty times, at any moment, is at last the crawl it would have been."""

import random
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, Truth, World
from tests.synthweb.record import Request

from .crawl import Crawl, Started
from .judge import (
    ROBOTS,
    assert_archived,
    assert_pages,
    assert_polite,
    assert_thorough,
)

KILLS = 20
BATCH = 10
"""Most URLs of a host that are under way together, as the settings say unless told otherwise."""
WORLD = World(seed=13, hosts=40, pages=8, silent=0, stuck=0, jitter=0.1)
DELAY = 0.25


@pytest.mark.slow
def test_killed_twenty_times_it_ends_as_if_never_killed(tmp_path: Path) -> None:
    rng = random.Random(20)
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", DELAY)
        kills = [killed(crawl, rng, group=number % 2 == 0) for number in range(KILLS)]
        last = crawl.run()
        assert (last.code, last.err) == (0, ""), last
        requests, truth = web.requests(), web.truth
        assert measured_early_and_late(requests, kills), "the kills met no crawl: choose others"
        assert_polite(requests, truth, DELAY)
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
            time.sleep(rng.uniform(0.0, 2.0))  # Anywhere while it starts, if the machine is idle.
        else:
            wanted = asked + rng.randrange(1, 60)
            until(lambda: at_work(crawl, started, wanted), "requests, or the end of the crawl")
        started.kill(group)
        until(started.is_gone, "the end of the killed crawl's processes")
        assert "Traceback" not in started.err
    return time.time()


def at_work(crawl: Crawl, started: Started, wanted: int) -> bool:
    return len(crawl.web.requests()) >= wanted or not started.running


def measured_early_and_late(requests: list[Request], kills: list[float]) -> bool:
    """Whether some kills met a crawl that had asked for nothing yet, and others one at work."""
    per_run = [len(run) for run in between(requests, kills)[:-1]]
    return 0 in per_run and sum(count > 0 for count in per_run) >= KILLS // 3


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
