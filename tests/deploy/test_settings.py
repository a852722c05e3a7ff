"""What the compose file and the overlays set are settings, and make sense together."""

import os
from pathlib import Path

import pytest

from gossamer.errors import BadSettings
from gossamer.settings import load_settings
from services.fetcher.access import check_contact
from tests.support.commands import clean_environment

from .written import BASE, LOCAL, PRODUCTION, container, settings


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name not in clean_environment()]:
        monkeypatch.delenv(name)


def given(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_the_local_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, settings(BASE, LOCAL))
    loaded = load_settings()
    assert loaded.kafka.servers == "kafka:9092"
    assert loaded.cassandra.hosts == ("cassandra",)
    assert loaded.archive.folder.parent == loaded.dedup.folder.parent == Path("/data")
    check_contact(loaded.fetcher.contact)


def test_the_production_overlay_needs_its_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its secrets, and who it is."""
    given(monkeypatch, on_this_machine(settings(BASE, PRODUCTION)))
    with pytest.raises(BadSettings, match="password"):
        load_settings()
    own = {one["name"] for one in container("fetcher")["env"]}
    for name in ("GOSSAMER_KAFKA__PASSWORD", "GOSSAMER_CASSANDRA__PASSWORD"):
        assert name in own
        monkeypatch.setenv(name, "secret")
    loaded = load_settings()
    assert loaded.kafka.security == "sasl_ssl"
    assert loaded.cassandra.tls
    with pytest.raises(BadSettings, match="contact"):
        check_contact(loaded.fetcher.contact)


def on_this_machine(variables: dict[str, str]) -> dict[str, str]:
    """Return *variables* with files of this machine instead of mounted ones."""
    return {
        name: __file__ if name.endswith("_FILE") else value for name, value in variables.items()
    }
