"""Runs every contract over every implementation."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.contract.backends import BACKENDS, LOGS, STORES, Backend, Ports
from tests.contract.child import Child


@dataclass
class Data:
    """The data of one test, in one implementation."""

    name: str
    path: Path
    server: str
    """The address of the implementation's server; empty if it has none."""
    opened: list[Ports] = field(default_factory=list)

    @property
    def backend(self) -> Backend:
        """Return the implementation."""
        return BACKENDS[self.name]

    def open(self) -> Ports:
        """Open the data, also if they are open."""
        self.opened.append(ports := self.backend.open(self.path, self.server))
        return ports

    def size(self) -> int:
        """Return how many bytes the data take."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def child(self, part: str, *words: object) -> Child:
        """Start another process on the same data. `tests/contract/child.py` has the parts."""
        return Child(part, self.name, self.path, self.server, words)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of stores over every store, and other tests over every log. A mark `only` selects
    the implementations with an ability."""
    about_stores = metafunc.module.__name__.rpartition(".")[2].startswith("test_store")
    if "backend" in metafunc.fixturenames:
        only = [mark.args[0] for mark in metafunc.definition.iter_markers("only")]
        names = [
            name
            for name in sorted(STORES if about_stores else LOGS)
            if all(getattr(BACKENDS[name], ability) for ability in only)
        ]
        served = [
            pytest.param(name, marks=[pytest.mark.slow] if BACKENDS[name].server else [])
            for name in names
        ]
        metafunc.parametrize("backend", served)


@pytest.fixture
def server(request: pytest.FixtureRequest, backend: str) -> str:
    """Return the address of the implementation's server, without data of earlier tests; "" if it
    has none."""
    needs = BACKENDS[backend].server
    where = str(request.getfixturevalue(needs)) if needs else ""
    BACKENDS[backend].clear(where)
    return where


@pytest.fixture
def data(backend: str, server: str, tmp_path: Path) -> Iterator[Data]:
    """Return a place without data."""
    data = Data(backend, tmp_path / "data", server)
    yield data
    for ports in data.opened:
        ports.close()


@pytest.fixture
def ports(data: Data) -> Ports:
    """Return an empty log and store."""
    return data.open()
