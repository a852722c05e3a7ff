"""A folder of a crawl, and what acts on it: the commands, and a client of the HTTP API."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from tests.console.gossamer import Gossamer
from tests.console.served import Client, client_of, make_api
from tests.support.transcripts import Transcript


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def gossamer(data: Path, transcript: Transcript) -> Gossamer:
    """Return all commands on the folder."""
    return Gossamer(data, transcript)


@pytest.fixture
def seeded(gossamer: Gossamer) -> Gossamer:
    """Return all commands on the folder, which has a crawl of a.example."""
    assert main(["seed", "--data", str(gossamer.data), "http://a.example/"]) == 0
    return gossamer


@pytest.fixture
def client(data: Path) -> Iterator[Client]:
    """Return an admin's client of the API of the folder."""
    with client_of(make_api(data)) as client:
        yield client
