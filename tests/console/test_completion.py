"""Completion in shells, as bash itself computes it."""

import subprocess
from pathlib import Path

import pytest

from gossamer.console.cli.completion import SHELLS
from gossamer.console.cli.main import COMMANDS, main

COMPLETE = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
complete -p gossamer >/dev/null && _shtab_gossamer && printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_bash_completes_commands_options_and_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gossamer.bash").write_text(script("bash", capsys))

    def complete(*words: str) -> list[str]:
        command = ["bash", "-c", COMPLETE, "bash", str(tmp_path / "gossamer.bash"), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert complete("gossamer", "cr") == ["crawl", "crawls"]
    assert complete("gossamer", "crawl", "--max-p") == ["--max-pages"]
    assert complete("gossamer", "crawl", "--for", "") == ["rag", "archive", "watch", "none"]
    assert complete("gossamer", "crawls", "re") == ["resume", "remove"]


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_have_all_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = script(shell, capsys)
    assert all(command in shown for command in COMMANDS)
    assert "discovery-share" in shown, "an option of one command"
