"""What the compose file and the overlays set are settings, and make sense together."""

import os
from pathlib import Path

import pytest

from gossamer.config import load_settings
from gossamer.errors import BadSettings
from services.fetcher.identity import check_contact

from .written import BASE, LOCAL, PRODUCTION, clean_environment, container, settings


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name not in clean_environment()]:
        monkeypatch.delenv(name)


def given(monkeypatch: pytest.MonkeyPatch, told: dict[str, str]) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)


def test_the_local_overlay(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, settings(BASE, LOCAL))
    told = load_settings()
    assert told.kafka.servers == "kafka:9092"
    assert told.cassandra.hosts == ("cassandra",)
    assert told.archive.folder.parent == told.dedup.folder.parent == Path("/data")
    check_contact(told.fetcher.contact)


def test_the_production_overlay_needs_its_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its secrets, and who it is."""
    given(monkeypatch, on_this_machine(settings(BASE, PRODUCTION)))
    with pytest.raises(BadSettings, match="password"):
        load_settings()
    own = {one["name"] for one in container("fetcher")["env"]}
    for name in ("GOSSAMER_KAFKA__PASSWORD", "GOSSAMER_CASSANDRA__PASSWORD"):
        assert name in own
        monkeypatch.setenv(name, "secret")
    told = load_settings()
    assert told.kafka.security == "sasl_ssl"
    assert told.cassandra.tls
    with pytest.raises(BadSettings, match="contact"):
        check_contact(told.fetcher.contact)


def on_this_machine(told: dict[str, str]) -> dict[str, str]:
    """With files that are here in place of those that are mounted there."""
    return {name: __file__ if name.endswith("_FILE") else value for name, value in told.items()}
