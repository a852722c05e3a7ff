"""A crawl that is killed many times, at random times, ends like a crawl without kills."""

import random
from pathlib import Path

import pytest

from tests.synthweb import SynthWeb, World
from tests.synthweb.record import Request

from .crawl import Crawl
from .kills import assert_as_if_never_killed, kill_crawl, split_by_runs

WORLD = World(seed=13, hosts=40, pages=8, silent=0, stuck=0, jitter=0.1)
DELAY = 0.25
CONFIG = """\
[fetcher]
connect_limit = 120.0
first_byte_limit = 120.0
between_bytes_limit = 120.0
visit_limit = 600.0
"""
"""If the machine stops for seconds, its servers must not count as failing: the crawl would visit
them only after ten minutes, or half a day."""
LAST_PATIENCE, LIMIT = 900.0, 1800
"""Seconds for the last run, which waits for hosts whose names were not resolved in time; and for
the test."""


@pytest.mark.timeout(LIMIT)
@pytest.mark.long
@pytest.mark.parametrize("times", [8, 20])
def test_crawl_with_many_kills_ends_like_one_without(tmp_path: Path, times: int) -> None:
    rng = random.Random(20)
    with SynthWeb(WORLD) as web:
        config = tmp_path / "gossamer.toml"
        config.write_text(CONFIG)
        crawl = Crawl(web, tmp_path / "data", DELAY, config=config)
        kills = [kill_crawl(crawl, rng, group=number % 2 == 0) for number in range(times)]
        last = crawl.run(patience=LAST_PATIENCE)
        assert measured_early_and_late(web.requests(), kills), "the kills met no crawl"
        assert_as_if_never_killed(crawl, last, kills)


def measured_early_and_late(requests: list[Request], kills: list[float]) -> bool:
    """Assert that some kills happened before the first request, and others later."""
    per_run = [len(run) for run in split_by_runs(requests, kills)[:-1]]
    return 0 in per_run and sum(count > 0 for count in per_run) >= len(kills) // 3
