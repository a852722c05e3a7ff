"""`gossamer speed`: limits by times of the week are set, shown and removed."""

from pathlib import Path

import pytest

from console.cli.main import main


def test_speeds_are_set_shown_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "data")

    def run(*arguments: str, command: str = "speed", status: int = 0) -> str:
        assert main([command, "--data", data, *arguments]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    run("https://www.a.example/", command="seed")
    assert run() == "now: no limit\n"
    assert "  speed" not in run(command="status")
    assert run("20/s") == "always: 20 pages/s\nnow: 20 pages/s\n"
    shown = run("120/min", "--bytes", "5MB/s", "--when", "Mon-Fri  8:00-18:00")
    assert shown.splitlines()[:2] == [
        "mon-fri 8:00-18:00: 2 pages/s, 4.8 MiB/s",
        "at all other times: 20 pages/s",
    ]
    assert "UTC" in shown.splitlines()[2]
    assert "always: standstill" not in run("0", "--when", "sat,sun")
    assert "sat,sun: standstill" in run()
    assert "  speed       " in run(command="status")
    assert "mon-fri" not in run("none", "--when", "mon-fri 08:00-18:00")
    run("none", "--when", "sat,sun")
    assert run("none") == "now: no limit\n"
    for wrong in (("fast",), ("5MB/s",), ("2/s", "--when", "now"), ("--when", "mon")):
        assert run(*wrong, status=2)
    assert run() == "now: no limit\n"
