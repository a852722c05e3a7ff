"""The file `env` of `scripts/fleet`, with which a shell reaches the fleet."""

import shlex
from pathlib import Path

import pytest

from gossamer.local_fleet import plan
from gossamer.local_fleet.record import FleetFolder, Record
from gossamer.local_fleet.up import Up
from gossamer.settings import load_settings


@pytest.fixture
def folder(tmp_path: Path) -> FleetFolder:
    return FleetFolder(tmp_path / "fleet")


def env(folder: FleetFolder, record: Record) -> dict[str, str]:
    """Return the content of `env` after one more `scripts/fleet up`."""
    lines = shlex.split(plan.exports(Up(folder, record, load_settings(None)).clients))
    return dict(one.split("=", 1) for one in lines if one != "export")


def test_env_is_unchanged_by_an_up_in_its_own_environment(
    folder: FleetFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record()
    first = env(folder, record)
    assert first["GOSSAMER_KAFKA__PARTITIONS"] == "12"
    for name, value in first.items():
        monkeypatch.setenv(name, value)
    assert env(folder, record) == first


def test_number_of_partitions_is_recorded(
    folder: FleetFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record()
    monkeypatch.setenv("GOSSAMER_KAFKA__PARTITIONS", "24")
    assert env(folder, record)["GOSSAMER_KAFKA__PARTITIONS"] == "24"
    monkeypatch.delenv("GOSSAMER_KAFKA__PARTITIONS")
    assert env(folder, record)["GOSSAMER_KAFKA__PARTITIONS"] == "24"


def test_commands_and_services_use_the_same_folders(folder: FleetFolder) -> None:
    found = env(folder, Record())
    assert found["GOSSAMER_ARCHIVE__FOLDER"] == str(folder.path / "warc")
    assert found["GOSSAMER_DEDUP__FOLDER"] == str(folder.path / "dedup")
