"""The CI workflows run the same scripts as `.ci/run`."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


SET_UP = ["scripts/bootstrap dev", "scripts/suites"]


def commands(workflow: str, job: str) -> list[str]:
    """Return the commands that *job* of a workflow runs, in their order."""
    read = yaml.safe_load((ROOT / ".github" / "workflows" / workflow).read_text())
    return [step["run"] for step in read["jobs"][job]["steps"] if "run" in step]


def test_ci_workflow_runs_the_scripts_of_ci_run_in_order() -> None:
    parts = re.findall(r"^scripts/.*$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert commands("ci.yml", "ci") == [*SET_UP, *parts]


def test_nightly_workflow_runs_the_long_tests_and_those_of_the_wheel() -> None:
    parts = ["scripts/test long", "scripts/test wheel"]
    assert commands("nightly.yml", "long") == [*SET_UP, *parts]


def test_pre_commit_hooks_use_installed_tools_only() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in hooks["repos"]] == ["local"]
    for hook in hooks["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
