"""`scripts/fleet up`: the number of processes of each service."""

import sys
from pathlib import Path

import pytest

from gossamer.console import fleet
from gossamer.local_fleet.record import SERVICES, FleetFolder, Member, Record


def test_count_0_stops_services_but_not_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = dict[str, int]()

    class Nothing:
        """An `up` that starts nothing."""

        def __init__(self, folder: FleetFolder, record: Record, settings: object) -> None:
            self.clients = dict[str, str]()
            asked.update(record.counts)

        def run(self) -> list[Member]:
            return []

    monkeypatch.setattr(fleet, "Up", Nothing)
    words = ["up", "--dir", str(tmp_path), "--contact", "you@example.org", "--count", "0"]
    monkeypatch.setattr(sys, "argv", ["scripts/fleet", *words])
    assert fleet.main() == 0
    assert asked == dict.fromkeys(SERVICES, 0)
