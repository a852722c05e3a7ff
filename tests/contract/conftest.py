"""Runs every contract over every implementation."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.contract.backends import BACKENDS, Backend, Ports

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Place:
    """Where one test keeps its data, in one implementation."""

    name: str
    path: Path
    opened: list[Ports] = field(default_factory=list)

    @property
    def backend(self) -> Backend:
        """Return what is known of the implementation."""
        return BACKENDS[self.name]

    def open(self) -> Ports:
        """Open the data, once more if they are open."""
        self.opened.append(ports := self.backend.open(self.path))
        return ports

    def size(self) -> int:
        """Return how many bytes the data take."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def child(self, part: str, *words: object) -> "subprocess.Popen[str]":
        """Start another process on the same data; see `tests/contract/child.py` for the parts."""
        command = [sys.executable, "-m", "tests.contract.child", part, self.name, str(self.path)]
        return subprocess.Popen(
            [*command, *map(str, words)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )


@pytest.fixture(params=sorted(BACKENDS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Return a place with nothing in it."""
    place = Place(request.param, tmp_path / "data")
    yield place
    for ports in place.opened:
        ports.close()


@pytest.fixture
def ports(place: Place) -> Ports:
    """Return an empty log and store."""
    return place.open()
