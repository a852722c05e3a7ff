"""`--dry-run` and `--reason` of the commands that change something, and `gossamer audit`."""

import json
from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.events.topics import TOPICS
from inspection.basics.folder import Folder
from tests.runtime.processors import drain


class Commands:
    """`gossamer` on one folder."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data, self._capsys = data, capsys
        self("seed", "https://www.a.example/")

    def __call__(self, name: str, *arguments: str, status: int = 0) -> str:
        """Run a command; return its output."""
        assert main([*name.split(), "--data", str(self.data), *arguments]) == status
        return self._capsys.readouterr().out

    def records(self) -> int:
        """Return the number of retained records of all topics."""
        return len(drain(Folder(self.data).open().log.tail([*TOPICS])))


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path / "data", capsys)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("block", "a.example"), "a.example is blocked: the host a.example"),
        (("speed", "20/s"), "now: 20 pages/s"),
        (("site", "a.example", "--delay", "9"), "a.example: at least 9 s between two visits"),
        (("site", "b.a.example", "--host", "--off"), "b.a.example: off (before: as its site)"),
        (("seed", "https://www.a.example/x"), "1 seed added"),
    ],
)
def test_dry_run_shows_the_effect_and_changes_nothing(
    command: Commands, words: tuple[str, ...], shown: str
) -> None:
    before = command.records()
    printed = command(*words, "--dry-run")
    assert printed.startswith("Dry run: nothing is changed.") and shown in printed
    assert command.records() == before
    command(*words)
    assert command.records() > before


def test_dry_run_creates_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    assert main(["seed", "--data", str(data), "https://a.example/", "--dry-run"]) == 0
    assert not data.exists()


def test_audit_lists_who_changed_what_and_why(command: Commands) -> None:
    command("block", "a.example", "--reason", "complaint \x1b[2J of the owner")
    command("speed", "20/s")
    command("unblock", "a.example")
    shown = command("audit")
    seed, block, speed, unblock = [line for line in shown.splitlines() if line[0] == "2"]
    assert "  seed https://www.a.example/" in seed
    assert "@" in block and "  block a.example" in block
    assert speed.endswith("  speed") and "  unblock a.example" in unblock
    assert "  reason: complaint ?[2J of the owner\n" in shown
    assert "  blocklist_changed/a.example: lifted True → False\n" in shown


def test_audit_chooses_changes(command: Commands) -> None:
    command("block", "a.example", "b.example")
    command("speed", "20/s")
    (line,) = command("audit", "--json", "--action", "speed").splitlines()
    change = json.loads(line)
    assert change["action"] == "speed" and change["settings"][0]["before"]["speeds"] == []
    who = change["actor"].partition("@")[0]
    assert command("audit", "--actor", who) == command("audit")
    assert command("audit", "--actor", change["actor"]) == command("audit")
    assert "block a.example, b.example" in command("audit", "b.exam")
    assert "No change matches" in command("audit", "--actor", "nobody", status=1)
    assert "No change matches" in command("audit", "--since", "2999-01-01", status=1)
    newest = command("audit", "--limit", "1")
    assert "  speed" in newest and "block" not in newest and "Older changes" in newest


def test_commands_that_only_show_are_not_recorded(command: Commands) -> None:
    before = command("audit")
    command("speed")
    command("site")
    command("block", "a.example", "--dry-run")
    command("unblock", "a.example", status=1)
    assert command("audit") == before


def test_change_for_a_time_names_its_end(command: Commands) -> None:
    assert "This ends at 2" in command("block", "a.example", "--for", "1 day")
    assert ", until 2" in command("blocklist")
    assert "  until 2" in command("audit", "a.example")
    assert "This ends" not in command("block", "a.example")
    assert ", until" not in command("blocklist")
    assert "This ends at 2" in command("speed", "0", "--for", "30min")
    assert "This ends at 2" in command("site", "a.example", "--off", "--for", "12h")
