"""Runs Faust's apps in the process of the tests.

In a fleet, the process ends with its app, and exits if the app does not stop in time. In a test,
the exit would end pytest, and the garbage collector would find the resources of a failed start
later, and report them in another test.
"""

import faulthandler
import gc
import sys
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collect_garbage(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect garbage after each test with an app."""
    yield
    if "kafka" not in request.fixturenames:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def stay_in_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the tracebacks of an app that stops too slowly, and go on: `Instance.stop` fails the
    test if the app never stops."""
    if {"kafka", "broker"} & set(request.fixturenames):
        monkeypatch.setattr("gossamer.services.dedup.faust.app._exit", _print_tracebacks)


def _print_tracebacks() -> None:
    faulthandler.dump_traceback(sys.__stderr__ or 2)
