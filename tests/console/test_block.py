"""`gossamer block`, `unblock` and `blocklist`."""

from pathlib import Path

import pytest

from console.cli.main import main


class Commands:
    """`gossamer` on one folder."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data, self._capsys = data, capsys
        self("seed", "https://www.a.example/")

    def __call__(self, name: str, *arguments: str, status: int = 0) -> str:
        """Run a command; return its output."""
        assert main([name, "--data", str(self.data), *arguments]) == status
        shown = self._capsys.readouterr()
        return shown.err if status == 2 else shown.out


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path / "data", capsys)


def test_rules_are_added_listed_and_lifted(command: Commands) -> None:
    assert "is empty" in command("blocklist", status=1)
    shown = command("block", "WWW.A.example", "*.b.example", "c.example/x*", "192.0.2.7/24")
    assert "www.a.example is blocked: the host www.a.example" in shown
    assert "192.0.2.0/24 is blocked: hosts with an address in 192.0.2.0/24" in shown
    assert "was blocked already" in command("block", "https://www.a.example")
    listed = command("blocklist")
    assert listed.count("\n") == 4
    assert "*.b.example  b.example and all names below it, since" in listed
    shown = command("blocklist", "http://deep.b.example/1", "d.example/")
    assert "http://deep.b.example/1 is blocked, by *.b.example" in shown
    assert "https://d.example/ is not blocked" in shown
    assert "blocklist    4 rules" in command("status")
    assert "the blocklist forbids it, by www.a.example" in command("why", "https://www.a.example/")
    shown = command("unblock", "*.b.example", "b.example")
    assert "*.b.example is not blocked any more" in shown
    assert "b.example is not on the blocklist" in shown
    assert "admitted again" in shown
    assert "is not blocked" in command("blocklist", "http://deep.b.example/1", status=1)
    assert "is not on the blocklist" in command("unblock", "*.b.example", status=1)


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
    assert command("blocklist").count("\n") == 3001
    command("unblock", "--file", str(given))
    assert "is empty" in command("blocklist", status=1)


@pytest.mark.parametrize("what", [(), ("ftp://a.example",), ("*.192.0.2.7",)])
def test_invalid_rules_are_refused(command: Commands, what: tuple[str, ...]) -> None:
    assert command("block", *what, status=2)
    assert "is empty" in command("blocklist", status=1)
