"""Real servers for the tests: one Kafka and one Cassandra a run, shared by all test processes.

They are launched (`scripts/servers/…/serve`, of our own) before the first test of a run that needs
them at all, and waited for by each test that does; `keeper.py` ends them with the run, however that
ends. A test that kills servers starts its own.
"""

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.servers.keeper import alive
from tests.support.once import once

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts" / "servers"
SERVE = {name: SCRIPTS / name / "serve" for name in ("kafka", "cassandra")}
_launched: list["subprocess.Popen[bytes]"] = []
"""Held on to: a process nobody refers to is a warning, and it has to outlive us."""
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
OURS = range(20_000 + WORKER % 8 * 1500, 20_000 + (WORKER % 8 + 1) * 1500)
"""Ports below those that the system gives to whoever connects somewhere: each process of the tests
has its own, since nobody listens yet on one that was just given."""
_given = random.randrange(len(OURS))
QUICK_TO_START = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""The environment of servers: they live for minutes, and the optimising compiler of the JVM would
take a third of the CPU that they use."""
PATIENCE = 180.0
"""Seconds for a server to start on a busy machine, its libraries fetched first."""


def free_ports(count: int) -> int:
    """Return the first of *count* ports in a row that nobody listens on, and nobody was given."""
    global _given
    while True:
        port = OURS.start + _given % (len(OURS) - count)
        _given += count
        if all(_free(port + i) for i in range(count)):
            return port


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listens(port: int, address: str = "127.0.0.1") -> bool:
    """Return whether somebody takes connections there."""
    with suppress(OSError), socket.create_connection((address, port), 1.0):
        return True
    return False


class Server:
    """A server of one test's own, that may be killed and started again on its data."""

    def __init__(self, kind: str, data: Path) -> None:
        self.kind, self.data, self.port = kind, data, free_ports(3)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, ready: Callable[[int], bool] = listens) -> None:
        """Start it and wait until it is *ready*."""
        self.launch()
        self.await_ready(ready)

    def launch(self) -> None:
        """Start it, and do not wait."""
        self.process = serve(os.getpid(), self.kind, self.data, self.port)

    def await_ready(self, ready: Callable[[int], bool] = listens) -> None:
        """Wait until it is *ready*."""
        assert self.process
        await_ready(self.process.pid, self.port, self.data, ready)

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


@contextmanager
def running(*servers: Server) -> Iterator[None]:
    """Start servers of one test's own, all at once; at the end they are gone."""
    try:
        for server in servers:
            server.launch()
        for server in servers:
            server.await_ready()
        yield
    finally:
        for server in servers:
            server.kill()


def fetch(kind: str) -> None:
    """Fetch the libraries of a kind of server, unless they are there."""
    subprocess.run([SCRIPTS / "fetch", kind], check=True, stdout=subprocess.DEVNULL)


def serve(
    whose: int,
    kind: str,
    data: Path,
    port: int,
    *addresses: str,
    within: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a server that serves until the process *whose* is gone.

    *addresses* are its own and its peers'; *within* is a command that runs another one somewhere.
    """
    data = data.resolve()
    data.mkdir(parents=True, exist_ok=True)
    keeper = [sys.executable, str(Path(__file__).with_name("keeper.py")), str(whose)]
    with (data / "out.log").open("ab") as out:
        return subprocess.Popen(
            [*within, *keeper, str(SERVE[kind]), str(data), str(port), *addresses],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **QUICK_TO_START, **(environment or {})},
            cwd=data,  # Where Java says what it died of.
            start_new_session=True,
        )


def await_ready(
    pid: int,
    port: int,
    data: Path,
    ready: Callable[[int], bool] = listens,
    patience: float = PATIENCE,
) -> None:
    """Wait until the server answers; fail with what it wrote last if it ends first."""
    latest = time.monotonic() + patience
    while not ready(port):
        written = (data / "out.log").read_text(errors="replace")[-2000:]
        assert alive(pid), f"the server ended: {written}"
        assert time.monotonic() < latest, f"the server never got ready: {written}"
        time.sleep(0.1)


def launch(kind: str, folder: Path) -> tuple[int, int]:
    """Start the run's one server of *kind* unless somebody has; return its process and port.

    *folder* is one that all test processes of the run share.
    """

    def start() -> tuple[int, int]:
        port = free_ports(3)
        process = serve(controller(), kind, folder / kind, port)
        _launched.append(process)
        return process.pid, port

    pid, port = once(folder / f"{kind}.json", start)
    return pid, port


def shared(kind: str, folder: Path) -> int:
    """Return the port of the run's one server of *kind*, once it answers."""
    pid, port = launch(kind, folder)
    await_ready(pid, port, folder / kind)
    return port


def controller() -> int:
    """Return the process that the whole run ends with: under pytest-xdist, our parent."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
