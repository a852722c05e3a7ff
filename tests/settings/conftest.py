"""No setting comes from the environment that the tests run in."""

import os

import pytest


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no setting in the environment."""
    for name in os.environ:
        if name.upper().startswith("GOSSAMER_"):
            monkeypatch.delenv(name)
