"""`gossamer site`: quiet hours are set, shown and taken back."""

from pathlib import Path

import pytest

from console.cli.main import main


def test_quiet_hours_are_set_for_the_whole_site_shown_and_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "data")

    def run(*arguments: str, status: int = 0) -> str:
        assert main(["site", "--data", data, *arguments]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    assert main(["seed", "--data", data, "https://www.a.example/"]) == 0
    capsys.readouterr()
    assert "a.example: no quiet hours" in run("a.example")
    run("https://www.a.example/x", "--quiet", "22:00-6:30")
    assert "a.example: quiet hours 22:00-06:30 UTC" in run("www.a.example")
    assert "no quiet hours" in run("b.example")
    for wrong in ("8-9", "25:00-06:00", "06:00-06:00", "nightly"):
        assert "UTC" in run("a.example", "--quiet", wrong, status=2)
    assert "22:00-06:30" in run("a.example")
    assert "no quiet hours" in run("a.example", "--quiet", "none")
