"""The variables of the compose file and the overlays are valid settings, also in combination."""

import os
from pathlib import Path

import pytest

from gossamer.errors import BadSettings
from gossamer.services.fetcher.access import check_contact
from gossamer.settings import load_settings
from tests.support.commands import clean_environment

from .written import BASE, LOCAL, PRODUCTION, container, settings


@pytest.fixture(autouse=True)
def clear_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name not in clean_environment()]:
        monkeypatch.delenv(name)


def settings_of(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_local_overlay_has_valid_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of(monkeypatch, settings(BASE, LOCAL))
    loaded = load_settings()
    assert loaded.kafka.servers == "kafka:9092"
    assert loaded.cassandra.hosts == ("cassandra",)
    assert loaded.archive.folder.parent == loaded.dedup.folder.parent == Path("/data")
    check_contact(loaded.fetcher.contact)


def test_production_overlay_is_valid_with_secrets_and_contact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operator must add secrets and a contact."""
    settings_of(monkeypatch, on_this_machine(settings(BASE, PRODUCTION)))
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
    """Return *variables* with files of this machine instead of mounted files."""
    return {
        name: __file__ if name.endswith("_FILE") else value for name, value in variables.items()
    }
