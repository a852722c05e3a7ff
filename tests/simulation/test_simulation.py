"""Simulated crawls of the whole fleet: the promises hold in spite of any harms."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.simulation import known
from tests.simulation.known import KnownFailure, failures_of
from tests.simulation.planted import FAULTS, plant
from tests.simulation.run import Result, simulate
from tests.simulation.scenarios import FIRST_SEED, NAMES, seeds_of
from tests.simulation.shrink import MAX_LINES, shrink_run, story

ROOT = Path(__file__).resolve().parents[2]
DAY_SEEDS = sorted({*range(FIRST_SEED, 41), *(next(seeds_of(name)) for name in NAMES)})
"""The first forty seeds, and the first seed of each scenario: some minutes of CPU."""
DAY_PARTS = 6
"""The number of tests of these seeds, which run on several cores."""
BLOCK_SIZE = 10
"""The number of seeds of one test at night."""
LOST = "http://a.example/ was parked by low_worth and is lost"
MAX_SHRUNK = 2
"""The number of failing seeds of a test that are shrunk."""
BUSY_SEED = 19
"""A seed with takeovers, in which every service logs."""


def assert_promises(seeds: Iterable[int]) -> None:
    """Run *seeds*, and fail with the stories of those that broke a promise."""
    failed = [result for result in map(simulate, seeds) if failures_of(result)]
    stories = [story(shrink_run(one)) for one in failed[:MAX_SHRUNK] if one.broken]
    lines = [line for one in failed for line in failures_of(one)]
    assert not failed, "\n".join([f"seeds {[one.seed for one in failed]}", *lines, *stories])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(DAY_PARTS))
def test_promises_hold_for_the_first_seeds_and_all_scenarios(part: int) -> None:
    assert_promises(DAY_SEEDS[part::DAY_PARTS])


@pytest.mark.long
@pytest.mark.parametrize("first", range(41, 601, BLOCK_SIZE))
def test_promises_hold_for_a_block_of_seeds(first: int) -> None:
    assert_promises(range(first, first + BLOCK_SIZE))


@pytest.fixture
def lost_urls_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    row = KnownFailure(r"\S+ was parked by low_worth and is lost", "A cause.", frozenset({1}))
    monkeypatch.setattr(known, "KNOWN_FAILURES", (row,))


@pytest.mark.usefixtures("lost_urls_are_known")
def test_broken_promise_without_a_known_cause_is_a_failure() -> None:
    result = Result(1, broken=[LOST, "the crawl did not finish"])
    assert failures_of(result) == ["the crawl did not finish"]


@pytest.mark.usefixtures("lost_urls_are_known")
def test_known_failure_of_another_seed_is_a_failure() -> None:
    assert failures_of(Result(1, broken=[LOST])) == []
    assert failures_of(Result(4711, broken=[LOST])) == [LOST]


@pytest.mark.usefixtures("lost_urls_are_known")
def test_seed_that_no_longer_shows_a_known_failure_fails() -> None:
    assert any("remove the seed" in line for line in failures_of(Result(1)))


@pytest.mark.slow
def test_seed_is_the_same_run_in_every_process(capsys: pytest.CaptureFixture[str]) -> None:
    def lines(printed: str) -> list[str]:
        return [line for line in printed.splitlines() if line.startswith("17")]

    simulate(BUSY_SEED, log=print)
    here = lines(capsys.readouterr().out)
    elsewhere = subprocess.run(
        [sys.executable, "-m", "bench.simulate", "--seed", str(BUSY_SEED), "--log"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        check=True,
    )
    assert len(here) > 100
    assert lines(elsewhere.stdout) == here


@pytest.mark.long
def test_failing_seed_is_shrunk_to_the_harms_that_break_the_promise() -> None:
    fault = next(one for one in FAULTS if one.name == "timestamps")
    with plant(fault):
        failing = (simulate(seed) for seed in seeds_of(fault.scenario))
        result = next(one for one in failing if one.broken)
        small = shrink_run(result)
        printed_story = story(small)
    assert small.broken and len(small.chosen or ()) <= min(5, result.planned)
    assert f"--seed {result.seed}" in printed_story and small.broken[0] in printed_story
    assert len(printed_story.splitlines()) <= MAX_LINES + len(small.harms) + len(small.broken) + 3
