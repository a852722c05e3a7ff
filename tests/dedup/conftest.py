"""What Faust's apps leave open is closed here, in the test that it belongs to.

A process of a fleet ends with its app; in a test, what a failed start leaves behind would be
collected whenever, and be taken for another test's.
"""

import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def tidied(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what the test's app left open, where there is one."""
    yield
    if "kafka" not in request.fixturenames:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
