"""One world with all oddities, started once, for the tests of sockets."""

from collections.abc import Iterator

import pytest

from tests.synthweb import SynthWeb, World


@pytest.fixture(scope="session")
def web() -> Iterator[SynthWeb]:
    with SynthWeb(World(seed=7, hosts=120, pages=5, slowness=0.01)) as running:
        yield running
