"""`--dry-run` and `--reason` of the commands that change something, and `gossamer audit`."""

from pathlib import Path
from typing import Any

import pytest

from console.cli.main import main
from gossamer import clock
from gossamer.events.topics import TOPICS
from inspection.basics.folder import Folder
from tests.runtime.processors import drain
from tests.support.transcripts import Transcript


class Commands:
    """`gossamer` on one folder."""

    def __init__(self, data: Path, transcript: Transcript) -> None:
        self.data, self._transcript = data, transcript
        assert main(["seed", "--data", str(data), "https://www.a.example/"]) == 0

    def __call__(self, name: str, *arguments: str, status: int = 0) -> str:
        """Run a command, add it to the transcript, and return its output."""
        return self._transcript(*name.split(), "--data", self.data, *arguments, status=status)

    def json_lines(self, name: str, *arguments: str) -> list[Any]:
        """Run a command with `--json` and return what it prints."""
        return self._transcript.json_lines(name, "--data", self.data, *arguments, "--json")

    def records(self) -> int:
        """Return the number of retained records of all topics."""
        return len(drain(Folder(self.data).open().log.tail([*TOPICS])))


@pytest.fixture
def command(tmp_path: Path, transcript: Transcript) -> Commands:
    return Commands(tmp_path / "data", transcript)


def test_dry_run_shows_the_effect_and_changes_nothing(command: Commands) -> None:
    for words in (
        ("block", "a.example"),
        ("speed", "20/s"),
        ("site", "a.example", "--delay", "9"),
        ("site", "b.a.example", "--host", "--off"),
        ("seed", "https://www.a.example/x"),
    ):
        before = command.records()
        command(*words, "--dry-run")
        assert command.records() == before
        command(*words)
        assert command.records() > before


def test_dry_run_creates_no_folder(tmp_path: Path, transcript: Transcript) -> None:
    data = tmp_path / "data"
    assert main(["seed", "--data", str(data), "https://a.example/", "--dry-run"]) == 0
    assert not data.exists()


def test_audit_lists_who_changed_what_and_why(command: Commands) -> None:
    command("block", "a.example", "--reason", "complaint \x1b[2J of the owner")
    command("speed", "20/s")
    command("unblock", "a.example")
    command("audit")


def test_audit_chooses_changes(command: Commands) -> None:
    command("block", "a.example", "b.example")
    command("speed", "20/s")
    (change,) = command.json_lines("audit", "--action", "speed")
    assert change["action"] == "speed" and change["settings"][0]["before"]["speeds"] == []
    for actor in ("ann", "ann@desk"):
        assert command("audit", "--actor", actor) == command("audit")
    command("audit", "b.exam")
    command("audit", "--actor", "nobody", status=1)
    command("audit", "--since", "2999-01-01", status=1)
    command("audit", "--limit", "1")


def test_commands_that_only_show_are_not_recorded(command: Commands) -> None:
    command("audit")
    command("speed")
    command("site")
    command("block", "a.example", "--dry-run")
    command("unblock", "a.example", status=1)
    command("audit")


def test_change_for_a_time_names_its_end(
    command: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: 2_000_000_000.0)
    command("block", "a.example", "--for", "1 day")
    command("blocklist")
    command("audit", "a.example")
    command("block", "a.example")
    command("blocklist")
    command("speed", "0", "--for", "30min")
    command("site", "a.example", "--off", "--for", "12h")
