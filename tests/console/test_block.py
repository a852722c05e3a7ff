"""`gossamer block`, `unblock` and `blocklist`."""

from pathlib import Path

import pytest

from console.cli.main import main
from tests.support.transcripts import Transcript


class Commands:
    """`gossamer` on one folder."""

    def __init__(self, data: Path, transcript: Transcript) -> None:
        self.data, self._transcript = data, transcript
        assert main(["seed", "--data", str(data), "https://www.a.example/"]) == 0

    def __call__(self, name: str, *arguments: str, status: int = 0) -> str:
        """Run a command, add it to the transcript, and return its output."""
        return self._transcript(name, "--data", self.data, *arguments, status=status)


@pytest.fixture
def command(tmp_path: Path, transcript: Transcript) -> Commands:
    return Commands(tmp_path / "data", transcript)


def test_rules_are_added_listed_and_lifted(command: Commands) -> None:
    command("blocklist", status=1)
    command("block", "WWW.A.example", "*.b.example", "c.example/x*", "192.0.2.7/24")
    command("block", "https://www.a.example")
    command("blocklist")
    command("blocklist", "http://deep.b.example/1", "d.example/")
    command("status")
    command("why", "https://www.a.example/")
    command("unblock", "*.b.example", "b.example")
    command("blocklist", "http://deep.b.example/1", status=1)
    command("unblock", "*.b.example", status=1)


def test_list_says_who_added_a_rule_until_when_and_why(command: Commands) -> None:
    command("block", "a.example", "--for", "1h", "--reason", "complaint 4711")
    command("block", "b.example")
    first, second = command("blocklist").splitlines()
    assert ", until 20" in first and ", by " in first and first.endswith(": complaint 4711")
    assert ", by " in second and "until" not in second


@pytest.mark.slow
def test_rules_are_read_from_a_file(command: Commands, tmp_path: Path) -> None:
    given = tmp_path / "rules.txt"
    given.write_text(
        "# complaints\n\na.example\n" + "".join(f"*.{n}.example\n" for n in range(3000))
    )
    command("block", "--file", str(given))
    command("blocklist")
    command("unblock", "--file", str(given))
    command("blocklist", status=1)


def test_invalid_rules_are_refused(command: Commands) -> None:
    for what in ((), ("ftp://a.example",), ("*.192.0.2.7",)):
        command("block", *what, status=2)
    command("blocklist", status=1)
