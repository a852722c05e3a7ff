"""Collects the resources that Faust's apps leave open, in the test that opened them.

In a fleet, the process ends with its app. In a test, the garbage collector would find the resources
of a failed start later, and report them in another test.
"""

import gc
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
