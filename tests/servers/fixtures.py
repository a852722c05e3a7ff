"""What tests ask for by name; `tests/conftest.py` makes it known to all of them."""

from pathlib import Path

import pytest

from tests.servers import shared


@pytest.fixture(scope="session")
def servers_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all test processes of a run share."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "servers"


@pytest.fixture(scope="session")
def kafka(servers_place: Path) -> str:
    """Return `HOST:PORT` of the run's Kafka. It is everybody's: use a prefix of your own."""
    return f"127.0.0.1:{shared('kafka', servers_place)}"


@pytest.fixture(scope="session")
def cassandra(servers_place: Path) -> int:
    """Return the port of the run's Cassandra on 127.0.0.1. Use a keyspace of your own."""
    return shared("cassandra", servers_place)
