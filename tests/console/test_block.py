"""`gossamer block`, `unblock` and `blocklist`."""

from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from tests.console.gossamer import Gossamer


def test_rules_are_added_listed_and_lifted(seeded: Gossamer) -> None:
    seeded("blocklist", status=1)
    seeded("block", "WWW.A.example", "*.b.example", "c.example/x*", "192.0.2.7/24")
    seeded("block", "https://www.a.example")
    seeded("blocklist")
    seeded("blocklist", "http://deep.b.example/1", "d.example/")
    seeded("status")
    seeded("why", "https://www.a.example/")
    seeded("unblock", "*.b.example", "b.example")
    seeded("blocklist", "http://deep.b.example/1", status=1)
    seeded("unblock", "*.b.example", status=1)


def test_list_says_who_added_a_rule_until_when_and_why(seeded: Gossamer) -> None:
    seeded("block", "a.example", "--for", "1h", "--reason", "complaint 4711")
    seeded("block", "b.example")
    seeded("blocklist")


def test_rules_are_read_from_a_file(seeded: Gossamer, tmp_path: Path) -> None:
    given = tmp_path / "rules.txt"
    given.write_text("# complaints\n\na.example\n*.b.example\n")
    seeded("block", "--file", given)
    seeded("blocklist")
    seeded("unblock", "--file", given)
    seeded("blocklist", status=1)


@pytest.mark.slow
def test_file_may_have_thousands_of_rules(
    seeded: Gossamer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, place = tmp_path / "rules.txt", ("--data", str(seeded.data))
    given.write_text("".join(f"*.{n}.example\n" for n in range(3000)))
    assert main(["block", "--file", str(given), *place]) == 0
    capsys.readouterr()
    assert main(["blocklist", *place]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3000
    assert main(["unblock", "--file", str(given), *place]) == 0
    assert main(["blocklist", *place]) == 1


def test_invalid_rules_are_refused(seeded: Gossamer) -> None:
    for what in ((), ("ftp://a.example",), ("*.192.0.2.7",)):
        seeded("block", *what, status=2)
    seeded("blocklist", status=1)
