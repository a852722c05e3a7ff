"""`gossamer speed`: limits by times of the week are set, shown and removed."""

import pytest

from gossamer import clock
from tests.console.gossamer import Gossamer


def test_speeds_are_set_shown_and_removed(
    gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: 2_000_000_000.0)  # a Wednesday, 3:33
    run = gossamer.command("speed")
    gossamer("seed", "https://www.a.example/")
    run()
    gossamer("status")
    run("20/s")
    run("120/min", "--bytes", "5MB/s", "--when", "Mon-Fri  8:00-18:00")
    run("0", "--when", "sat,sun")
    run()
    gossamer("status")
    run("none", "--when", "mon-fri 08:00-18:00")
    run("none", "--when", "sat,sun")
    run("none")
    for wrong in (("fast",), ("5MB/s",), ("2/s", "--when", "now"), ("--when", "mon")):
        run(*wrong, status=2)
    run()
