"""CI runs what `.ci/run` runs: whoever passes here passes there."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


SET_UP = ["scripts/bootstrap dev", "scripts/suites"]


def commands(workflow: str, job: str) -> list[str]:
    """Return the commands that *job* of a workflow runs, in their order."""
    read = yaml.safe_load((ROOT / ".github" / "workflows" / workflow).read_text())
    return [step["run"] for step in read["jobs"][job]["steps"] if "run" in step]


def test_the_workflow_runs_the_parts_of_ci_run_in_their_order() -> None:
    parts = re.findall(r"^scripts/.*$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert commands("ci.yml", "ci") == [*SET_UP, *parts]


def test_what_is_too_long_for_every_change_runs_each_night() -> None:
    assert commands("nightly.yml", "long") == [*SET_UP, "scripts/test long"]


def test_hooks_fetch_nothing() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in hooks["repos"]] == ["local"]
    for hook in hooks["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
