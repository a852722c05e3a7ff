"""The simulation sees: what once broke a promise, planted again, breaks one within so many seeds.

Each file in `planted/` says what is planted, in how many seeds of which scenario it has to be found
and by what line of a report, and is a patch of the services' code.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLANTED = sorted((Path(__file__).parent / "planted").glob("*.patch"))
PARTS = (
    "gossamer",
    "services",
    "schemas",
    "standalone",
    "console",
    "local_fleet",
    "tests",
    "bench",
)
OPTIONS = ("--cores", "1", "--stop")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")
HEADER = re.compile(r"Scenario: (?P<scenario>.+)\nSeeds: (?P<seeds>\d+)\nFound by: (?P<line>.+)\n")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("patch", PLANTED, ids=lambda patch: patch.stem)
def test_what_is_planted_is_found(patch: Path, tmp_path: Path) -> None:
    header = HEADER.search(patch.read_text())
    assert header, f"{patch.name} does not say how it is found"
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, ignore=LEFT_OUT)
    apply = ["git", "apply", "--whitespace=nowarn", str(patch)]
    applied = subprocess.run(apply, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert applied.returncode == 0, f"the code has changed: {applied.stderr}"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "bench.simulate", *OPTIONS, "--seeds", header["seeds"]),
            *("--scenario", header["scenario"]),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=False,
    )
    assert run.returncode == 1, f"not found:\n{run.stdout}{run.stderr}"
    assert re.search(header["line"], run.stdout), run.stdout
