"""Isolates the tests from settings in the environment."""

import os

import pytest


@pytest.fixture(autouse=True)
def remove_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all settings from the environment."""
    for name in os.environ:
        if name.upper().startswith("GOSSAMER_"):
            monkeypatch.delenv(name)
