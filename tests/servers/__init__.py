"""Real servers for the tests: one Kafka and one Cassandra a run, shared by all test processes.

They are launched (`scripts/servers/…/serve`) before the first test of a run that needs them, and
awaited by each test that uses them. `keeper.py` stops them with the run, however that ends. A test
that kills servers starts its own.
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
"""References to launched processes: they must outlive us, and an unreferenced Popen is a
warning."""
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
OUR_PORTS = range(20_000 + WORKER % 8 * 1500, 20_000 + (WORKER % 8 + 1) * 1500)
"""Ports below the range that the system gives to clients. Each test process has a range of its own,
since nobody listens yet on a port that was just given away."""
SERVER_ENVIRONMENT = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""The environment of servers: they live for minutes, and the optimising compiler of the JVM would
take a third of their CPU."""
START_TIMEOUT = 180.0
"""Seconds for the start of a server on a busy machine, with the download of its libraries."""


class Ports:
    """Ports of a range, given away one after another, from a random one on."""

    def __init__(self, ports: range) -> None:
        self._ports = ports
        self._given = random.randrange(len(ports))

    def next(self, count: int) -> int:
        """Return the first of *count* free ports in a row.

        A port is given away again only after all others of the range.
        """
        while True:
            if self._given + count > len(self._ports):
                self._given = 0
            port = self._ports.start + self._given
            self._given += count
            if all(_free(port + i) for i in range(count)):
                return port


free_ports = Ports(OUR_PORTS).next


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listens(port: int, address: str = "127.0.0.1") -> bool:
    """Return whether somebody accepts connections at the port."""
    with suppress(OSError), socket.create_connection((address, port), 1.0):
        return True
    return False


class Server:
    """A server of one test, which may be killed and restarted on its data."""

    def __init__(self, kind: str, data: Path) -> None:
        self.kind, self.data, self.port = kind, data, free_ports(3)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, ready: Callable[[int], bool] = listens) -> None:
        """Start the server, and wait until it is *ready*."""
        self.launch()
        self.await_ready(ready)

    def launch(self) -> None:
        """Start the server, and do not wait."""
        self.process = serve(os.getpid(), self.kind, self.data, self.port)

    def await_ready(self, ready: Callable[[int], bool] = listens) -> None:
        """Wait until the server is *ready*."""
        assert self.process
        await_ready(self.process.pid, self.port, self.data, ready)

    def kill(self) -> None:
        """Send SIGKILL to the server and its children."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, 9)
            self.process.wait()

    def restart(self) -> None:
        """Kill the server, and start it again on its data."""
        self.kill()
        self.start()


@contextmanager
def running(*servers: Server) -> Iterator[None]:
    """Run servers of one test within a block; they start all at once."""
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
    """Fetch the libraries of a kind of server, unless they exist."""
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
    """Start a server that runs until the process *whose* ends.

    *addresses* are its own and its peers'. *within* is a command that runs another one in another
    place.
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
            env={**os.environ, **SERVER_ENVIRONMENT, **(environment or {})},
            cwd=data,  # Java reports the cause of its end there.
            start_new_session=True,
        )


def await_ready(
    pid: int,
    port: int,
    data: Path,
    ready: Callable[[int], bool] = listens,
    patience: float = START_TIMEOUT,
) -> None:
    """Wait until the server answers; fail with its last output if it ends first."""
    latest = time.monotonic() + patience
    while not ready(port):
        written = (data / "out.log").read_text(errors="replace")[-2000:]
        assert alive(pid), f"the server ended: {written}"
        assert time.monotonic() < latest, f"the server never got ready: {written}"
        time.sleep(0.1)


def launch(kind: str, folder: Path) -> tuple[int, int]:
    """Launch the run's one server of *kind* unless that is done; return its process and port.

    *folder* is shared by all test processes of the run.
    """

    def start() -> tuple[int, int]:
        port = free_ports(3)
        process = serve(controller(), kind, folder / kind, port)
        _launched.append(process)
        return process.pid, port

    pid, port = once(folder / f"{kind}.json", start)
    return pid, port


def shared_port(kind: str, folder: Path) -> int:
    """Return the port of the run's one server of *kind*, once it answers."""
    pid, port = launch(kind, folder)
    await_ready(pid, port, folder / kind)
    return port


def controller() -> int:
    """Return the process that ends with the whole run: our parent under pytest-xdist."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
