"""Simulated crawls of the whole fleet: the promises hold whatever is done to it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARE = 30
"""Seeds of a part: so many take half a minute."""
PARTS = (*range(3), *(pytest.param(part, marks=pytest.mark.long) for part in range(3, 20)))


def simulate(*options: str) -> str:
    """Run `bench.simulate`, and return what it prints; fail if a promise was broken."""
    run = subprocess.run(
        [sys.executable, "-m", "bench.simulate", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", PARTS)
def test_the_promises_hold_in_some_hundred_worlds(part: int) -> None:
    simulate("--first", str(part * SHARE), "--seeds", str(SHARE), "--cores", "1")


@pytest.mark.slow
def test_a_seed_is_the_same_run_each_time() -> None:
    def lines() -> list[str]:
        printed = simulate("--seed", "2", "--log").splitlines()
        return [line for line in printed if line.startswith("17")]

    once = lines()
    assert len(once) > 10
    assert lines() == once
