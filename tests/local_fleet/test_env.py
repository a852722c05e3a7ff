"""The file `env` of `scripts/fleet`: what an operator's shell reads to speak to the fleet."""

import shlex
from pathlib import Path

import pytest

from gossamer.settings import load_settings
from local_fleet import plan
from local_fleet.record import FleetFolder, Record
from local_fleet.up import Up


@pytest.fixture
def folder(tmp_path: Path) -> FleetFolder:
    return FleetFolder(tmp_path / "fleet")


def env(folder: FleetFolder, record: Record) -> dict[str, str]:
    """Return what one more `scripts/fleet up` writes into `env`."""
    lines = shlex.split(plan.exports(Up(folder, record, load_settings(None)).clients))
    return dict(one.split("=", 1) for one in lines if one != "export")


def test_the_env_is_the_same_when_up_is_run_in_a_shell_that_has_read_it(
    folder: FleetFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record()
    first = env(folder, record)
    assert first["GOSSAMER_KAFKA__PARTITIONS"] == "12"
    for name, value in first.items():
        monkeypatch.setenv(name, value)
    assert env(folder, record) == first


def test_a_number_of_partitions_that_was_named_once_is_remembered(
    folder: FleetFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record()
    monkeypatch.setenv("GOSSAMER_KAFKA__PARTITIONS", "24")
    assert env(folder, record)["GOSSAMER_KAFKA__PARTITIONS"] == "24"
    monkeypatch.delenv("GOSSAMER_KAFKA__PARTITIONS")
    assert env(folder, record)["GOSSAMER_KAFKA__PARTITIONS"] == "24"


def test_commands_look_for_folders_where_the_services_have_them(folder: FleetFolder) -> None:
    told = env(folder, Record())
    assert told["GOSSAMER_ARCHIVE__FOLDER"] == str(folder.path / "warc")
    assert told["GOSSAMER_DEDUP__FOLDER"] == str(folder.path / "dedup")
