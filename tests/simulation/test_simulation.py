"""Simulated crawls of the whole fleet: the promises hold in spite of any harms."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.planted import FAULTS, plant
from tests.simulation.run import simulate
from tests.simulation.scenarios import seeds_of
from tests.simulation.shrink import MAX_LINES, shrink_run, story

ROOT = Path(__file__).resolve().parents[2]
BLOCK_SIZE = 10
"""Seeds of one test, which take five seconds of CPU."""
QUICK_BLOCK, SLOW_BLOCKS = 6, range(2, 6)
"""The block that takes the least time, and others of less than half a minute of CPU."""
BLOCKS = [
    pytest.param(QUICK_BLOCK),
    *(pytest.param(block, marks=pytest.mark.slow) for block in SLOW_BLOCKS),
    *(pytest.param(block, marks=pytest.mark.long) for block in (0, 1, *range(7, 60))),
]
MAX_SHRUNK = 2
"""The number of failing seeds of a block that are shrunk."""
BUSY_SEED = 19
"""A seed with takeovers, in which every service logs."""


@pytest.mark.parametrize("block", BLOCKS)
def test_promises_hold_for_a_block_of_seeds(block: int) -> None:
    results = map(simulate, range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE))
    broken = [result for result in results if result.broken]
    assert not broken, "\n".join(story(shrink_run(result)) for result in broken[:MAX_SHRUNK])


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


@pytest.mark.slow
def test_failing_seed_is_shrunk_to_the_harms_that_break_the_promise() -> None:
    fault = next(one for one in FAULTS if one.name == "outcomes not consumed")
    with plant(fault):
        failing = (simulate(seed) for seed in seeds_of(fault.scenario, fault.first))
        result = next(one for one in failing if one.broken)
        small = shrink_run(result)
        printed_story = story(small)
    assert small.broken and len(small.chosen or ()) <= min(5, result.planned)
    assert f"--seed {result.seed}" in printed_story and small.broken[0] in printed_story
    assert len(printed_story.splitlines()) <= MAX_LINES + len(small.harms) + len(small.broken) + 3
