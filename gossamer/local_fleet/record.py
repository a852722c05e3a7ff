"""The record of a fleet that `scripts/fleet` keeps in a file between two commands."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gossamer.errors import GossamerError, Locked

SERVERS = ("kafka", "cassandra")
SERVICES = ("dedup", "frontier", "fetcher", "parser", "archive")


class Member(msgspec.Struct):
    """One process of the fleet."""

    service: str
    instance: str
    port: int
    """The port for health checks; of a server: for its clients."""
    pid: int = 0
    started: int = 0
    """The start time in the kernel's ticks: no other process has the same pid and start time."""

    @property
    def name(self) -> str:
        """The name in messages: `kafka`, `fetcher-1`."""
        return self.service if self.service in SERVERS else f"{self.service}-{self.instance}"


class Record(msgspec.Struct):
    """A fleet: its requested size, and its started processes."""

    contact: str = ""
    config: str = ""
    base_port: int = 29000
    counts: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(SERVICES, 1))
    servers: list[str] | None = None
    """The servers that it starts; None before its first `up`."""
    partitions: int | None = None
    """Partitions of each topic, by the last settings with a number; None before its first `up`."""
    members: list[Member] = msgspec.field(default_factory=list)


class FleetFolder:
    """The files of one fleet."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self._file = self.path / "fleet.json"

    def log_of(self, member: str) -> Path:
        """Return the file with the output of *member*."""
        return self.logs / f"{member}.log"

    def load(self) -> Record:
        """Return the record; raise GossamerError if the folder has no fleet."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Record)
        except FileNotFoundError as error:
            raise GossamerError(
                f"{self.path} has no fleet: scripts/fleet up starts one; --dir names another folder"
            ) from error
        except (OSError, msgspec.MsgspecError) as error:
            raise GossamerError(f"{self._file} cannot be read: {error}") from error

    def save(self, record: Record) -> None:
        """Write the record atomically."""
        new_file = self._file.with_suffix(".new")
        new_file.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
        new_file.replace(self._file)

    @property
    def exists(self) -> bool:
        """Whether the folder has a fleet."""
        return self._file.exists()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the fleet against changes by other commands."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise GossamerError(f"{self.path} is not writable: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise Locked(f"another command is changing the fleet in {self.path}") from error
        finally:
            os.close(lock)
