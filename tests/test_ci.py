"""CI runs what `.ci/run` runs: whoever passes here passes there."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def test_the_workflow_runs_the_parts_of_ci_run_in_their_order() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["ci"]["steps"] if "run" in step]
    parts = re.findall(r"^scripts/.*$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert steps == ["scripts/bootstrap dev", "scripts/suites", *parts]


def test_hooks_fetch_nothing() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in hooks["repos"]] == ["local"]
    for hook in hooks["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
