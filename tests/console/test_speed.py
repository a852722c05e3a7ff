"""`gossamer speed`: limits by times of the week are set, shown and removed."""

from pathlib import Path

import pytest

from gossamer import clock
from tests.support.transcripts import Transcript


def test_speeds_are_set_shown_and_removed(
    tmp_path: Path, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(tmp_path / "data")
    monkeypatch.setattr(clock, "now", lambda: 2_000_000_000.0)  # a Wednesday, 3:33

    def run(*arguments: str, command: str = "speed", status: int = 0) -> str:
        return transcript(command, "--data", data, *arguments, status=status)

    run("https://www.a.example/", command="seed")
    run()
    run(command="status")
    run("20/s")
    run("120/min", "--bytes", "5MB/s", "--when", "Mon-Fri  8:00-18:00")
    run("0", "--when", "sat,sun")
    run()
    run(command="status")
    run("none", "--when", "mon-fri 08:00-18:00")
    run("none", "--when", "sat,sun")
    run("none")
    for wrong in (("fast",), ("5MB/s",), ("2/s", "--when", "now"), ("--when", "mon")):
        run(*wrong, status=2)
    run()
