"""What `scripts/fleet` remembers of a fleet between two commands."""

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
    """Where it is asked how it is; a server's is where its clients come to."""
    pid: int = 0
    started: int = 0
    """When the kernel says that the process began: no other process has both numbers."""

    @property
    def name(self) -> str:
        """As a person would say it."""
        return self.service if self.service in SERVERS else f"{self.service}-{self.instance}"


class Record(msgspec.Struct):
    """A fleet: what was asked for, and what was started."""

    contact: str = ""
    config: str = ""
    base_port: int = 29000
    counts: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(SERVICES, 1))
    servers: list[str] | None = None
    """Which servers it brings along; None until it was first brought up."""
    partitions: int | None = None
    """Partitions of each topic, as the last settings that named a number had it; None until it was
    first brought up."""
    members: list[Member] = msgspec.field(default_factory=list)


class FleetFolder:
    """The files of one fleet."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self._file = self.path / "fleet.json"

    def log_of(self, member: str) -> Path:
        """Return where a member's output goes."""
        return self.logs / f"{member}.log"

    def load(self) -> Record:
        """Return the record; raise GossamerError if there is no fleet here."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Record)
        except FileNotFoundError as error:
            raise GossamerError(
                f"{self.path} holds no fleet: scripts/fleet up starts one; --dir names another "
                "folder"
            ) from error
        except (OSError, msgspec.MsgspecError) as error:
            raise GossamerError(f"{self._file} cannot be read: {error}") from error

    def save(self, record: Record) -> None:
        """Write the record, whole or not at all."""
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")
        fresh.replace(self._file)

    @property
    def exists(self) -> bool:
        """Whether there is a fleet here."""
        return self._file.exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from changing the fleet meanwhile."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise GossamerError(f"{self.path} cannot be written to: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise Locked(f"another command is changing the fleet in {self.path}") from error
        finally:
            os.close(lock)
