"""Real servers for the tests: one Kafka and one Cassandra a run, shared by all test processes.

The first test that needs one starts it (`scripts/servers/…/serve`, of our own, under a file lock);
`keeper.py` ends it with the run, however that ends. A test that kills servers starts its own.
"""

import fcntl
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVE = {name: ROOT / "scripts" / "servers" / name / "serve" for name in ("kafka", "cassandra")}
_started: list["subprocess.Popen[bytes]"] = []
"""Held on to: a process nobody refers to is a warning, and it has to outlive us."""
PATIENCE = 180.0
"""Seconds for a server to start on a busy machine, its libraries fetched first."""


def free_ports(count: int) -> int:
    """Return the first of *count* ports in a row that nobody listens on."""
    while True:
        # Below those that the system gives to whoever connects somewhere.
        port = random.randrange(20_000, 32_000)
        if all(_free(port + i) for i in range(count)):
            return port


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listens(port: int) -> bool:
    """Return whether somebody takes connections there."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


class Server:
    """A server of one test's own, that may be killed and started again on its data."""

    def __init__(self, kind: str, data: Path) -> None:
        self.kind, self.data, self.port = kind, data, free_ports(3)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, ready: Callable[[int], bool] = listens) -> None:
        """Start it and wait until it is *ready*."""
        self.data.mkdir(parents=True, exist_ok=True)
        with (self.data / "out.log").open("ab") as out:
            self.process = subprocess.Popen(
                kept(os.getpid(), self.kind, self.data, self.port),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        await_ready(self.process, self.port, self.data, ready)

    def kill(self) -> None:
        """SIGKILL to the server and everything of it."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, 9)
            self.process.wait()

    def restart(self) -> None:
        """Kill it, and start it again on what it has on disk."""
        self.kill()
        self.start()


def kept(whose: int, kind: str, data: Path, port: int) -> list[str]:
    """Return the command that serves until the process *whose* is gone."""
    keeper = Path(__file__).with_name("keeper.py")
    return [sys.executable, str(keeper), str(whose), str(SERVE[kind]), str(data), str(port)]


def await_ready(
    process: "subprocess.Popen[bytes]", port: int, data: Path, ready: Callable[[int], bool]
) -> None:
    """Wait until the server answers; fail with what it said if it ends first."""
    until = time.monotonic() + PATIENCE
    while not ready(port):
        said = (data / "out.log").read_text(errors="replace")[-2000:]
        assert process.poll() is None, f"the server ended: {said}"
        assert time.monotonic() < until, f"the server never got ready: {said}"
        time.sleep(0.1)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shared(kind: str, place: Path, ready: Callable[[int], bool] = listens) -> int:
    """Return the port of the run's one server of *kind*, started if need be.

    *place* is a folder that all test processes of the run share.
    """
    place.mkdir(parents=True, exist_ok=True)
    told = place / f"{kind}.json"
    with _locked(place / f"{kind}.lock"):
        if not told.exists():
            port, data = free_ports(3), place / kind
            data.mkdir()
            with (data / "out.log").open("ab") as out:
                process = subprocess.Popen(
                    kept(controller(), kind, data, port),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            await_ready(process, port, data, ready)
            _started.append(process)
            told.write_text(json.dumps({"port": port}))
        return int(json.loads(told.read_text())["port"])


def controller() -> int:
    """Return the process that the whole run ends with: under pytest-xdist, our parent."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
