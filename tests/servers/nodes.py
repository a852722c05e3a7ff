"""Three brokers and three Cassandra nodes, each of which can be cut off, stopped, slowed or
killed."""

import json
import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.servers import Server, await_ready, fetch, free_ports, listens, serve
from tests.servers.network import Network, join_nodes, signal_children

KINDS = ("kafka", "cassandra")
COUNT = 3
"""The number of nodes of each kind; two of them are a quorum."""
STOPPED, RUNNING = 0.4, 0.1
"""Seconds for which a slow node is stopped, and runs, in turn."""
START_TIMEOUT = 900.0
"""Seconds. A node that has lost its disk during its work starts slowly."""


class Node(Server):
    """One of several servers of a kind."""

    def __init__(
        self, kind: str, data: Path, port: int, network: Network, number: int, peers: Iterable[int]
    ) -> None:
        self.kind, self.data, self.port = kind, data, port
        self.process: subprocess.Popen[bytes] | None = None
        self._network, self._number = network, number
        self.address = network.address(number)
        self._peers = [network.address(peer) for peer in peers if peer != number]
        self._environment: Mapping[str, str] = {}
        self._slow: threading.Thread | None = None
        self._quick = threading.Event()

    @property
    def name(self) -> str:
        """Return the node's name for people."""
        return self.data.name

    def launch(self) -> None:
        """Start the node, and do not wait."""
        self.process = serve(
            os.getpid(),
            self.kind,
            self.data,
            self.port,
            self.address,
            *self._peers,
            within=self._network.within(self._number),
            environment=self._environment,
        )

    def await_node(self) -> None:
        """Wait until the node accepts clients."""
        assert self.process
        await_ready(
            self.process.pid,
            self.port,
            self.data,
            lambda port: listens(port, self.address),
            START_TIMEOUT,
        )

    def restart(self, **environment: str) -> None:
        """Kill the node, and start it again on its data, in another environment."""
        self.kill()
        self._environment = environment
        self.launch()
        self.await_node()

    def cut(self) -> None:
        """Cut the node off from all others."""
        assert self.process
        self._network.cut(self._number, self.process.pid)

    def heal(self) -> None:
        """Reconnect the node."""
        assert self.process
        self._network.heal(self._number, self.process.pid)

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Continue the node."""
        self._signal(signal.SIGCONT)

    def slow_down(self) -> None:
        """Let the node run a fifth of the time only."""

        def turns() -> None:
            while not self._quick.wait(RUNNING):
                self.stop()
                self._quick.wait(STOPPED)
                self.go_on()

        self._quick.clear()
        self._slow = threading.Thread(target=turns, daemon=True)
        self._slow.start()

    def speed_up(self) -> None:
        """Let the node run all the time again."""
        self._quick.set()
        if self._slow:
            self._slow.join()

    def _signal(self, number: int) -> None:
        assert self.process
        signal_children(self.process.pid, number)


class Nodes:
    """The brokers and the Cassandra nodes, and the settings of a fleet on them."""

    def __init__(self, folder: Path, network: Network, kinds: Sequence[str]) -> None:
        numbers = {kind: range(COUNT * i, COUNT * (i + 1)) for i, kind in enumerate(kinds)}
        ports = {kind: free_ports(3) for kind in kinds}
        self.of = {
            kind: [
                Node(kind, folder / f"{kind}-{n % COUNT + 1}", ports[kind], network, n, own)
                for n in own
            ]
            for kind, own in numbers.items()
        }

    @property
    def all(self) -> list[Node]:
        """Return the nodes of both kinds."""
        return [node for nodes in self.of.values() for node in nodes]

    @property
    def brokers(self) -> str:
        """Return the brokers' addresses for clients."""
        return ",".join(f"{node.address}:{node.port}" for node in self.of["kafka"])

    def settings(self) -> dict[str, str]:
        """Return settings for a fleet on these nodes, with three copies of everything."""
        cassandra = self.of["cassandra"]
        return {
            "GOSSAMER_KAFKA__SERVERS": self.brokers,
            "GOSSAMER_KAFKA__REPLICATION": str(COUNT),
            "GOSSAMER_CASSANDRA__HOSTS": json.dumps([node.address for node in cassandra]),
            "GOSSAMER_CASSANDRA__PORT": str(cassandra[0].port),
            "GOSSAMER_CASSANDRA__REPLICATION": str(COUNT),
            "GOSSAMER_CASSANDRA__CONSISTENCY": "LOCAL_QUORUM",
            "GOSSAMER_CASSANDRA__KEYSPACE": f"t{uuid.uuid4().hex[:12]}",
        }


@contextmanager
def three_of_each(folder: Path, *kinds: str) -> Iterator[Nodes]:
    """Start three nodes of each kind within a block."""
    for kind in kinds:
        fetch(kind)  # Fetched before the start: a namespace has no way to the Internet.
    with join_nodes(len(kinds) * COUNT) as network, ExitStack() as stack:
        nodes = Nodes(folder, network, kinds)
        for node in nodes.all:
            node.launch()
            stack.callback(node.kill)
        for node in nodes.all:
            node.await_node()
        yield nodes
