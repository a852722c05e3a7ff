"""The simulation sees: what once broke a promise, planted again, breaks one within so many seeds.

Each file in `planted/` says what is planted, in how many seeds of which scenario it has to be found
and by what line of a report, and is a patch of the services' code.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

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
HEADER = re.compile(r"Scenario: (?P<scenario>.+)\nSeeds: (?P<seeds>\d+)\nFound by: (?P<line>.+)\n")
RARE = 10
"""What needs more seeds than that is looked for in the long run."""


def planted() -> Iterator[ParameterSet]:
    for patch in PLANTED:
        header = HEADER.search(patch.read_text())
        assert header, f"{patch.name} does not say how it is found"
        marks = [pytest.mark.long] if int(header["seeds"]) > RARE else []
        yield pytest.param(patch, header, marks=marks, id=patch.stem)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("patch", "header"), [*planted()])
def test_what_is_planted_is_found(patch: Path, header: re.Match[str], tmp_path: Path) -> None:
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part)
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
