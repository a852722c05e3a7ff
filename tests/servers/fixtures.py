"""Fixtures for servers, which `tests/conftest.py` exports to all tests."""

from pathlib import Path

import pytest

from tests.servers import SERVE, launch, shared_port


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all test processes of a run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _launch_servers(request: pytest.FixtureRequest, shared_folder: Path) -> None:
    """Launch the servers that some test needs, since they start while other tests run."""
    needed = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    for kind in SERVE.keys() & needed:
        launch(kind, shared_folder)


@pytest.fixture(scope="session")
def kafka(shared_folder: Path) -> str:
    """Return `HOST:PORT` of the run's Kafka. It is shared: use a prefix of your own."""
    return f"127.0.0.1:{shared_port('kafka', shared_folder)}"


@pytest.fixture(scope="session")
def cassandra(shared_folder: Path) -> int:
    """Return the port of the run's Cassandra on 127.0.0.1. Use a keyspace of your own."""
    return shared_port("cassandra", shared_folder)
