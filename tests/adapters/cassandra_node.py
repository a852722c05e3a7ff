"""Helpers for tests of the store on a real Cassandra."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.store import CassandraStore

NODETOOL = Path(__file__).resolve().parents[2] / "scripts/servers/cassandra/nodetool"
GOSSAMER = Path(sys.executable).with_name("gossamer")


def settings(port: int, keyspace: str, **others: object) -> CassandraSettings:
    """Return settings for a node of this machine."""
    values_given = {"hosts": ["127.0.0.1"], "port": port, "keyspace": keyspace, "timeout": 60.0}
    return CassandraSettings.model_validate({**values_given, **others})


@contextmanager
def open_store(settings: CassandraSettings) -> Iterator[CassandraStore]:
    """Open a store within a block."""
    with closing(CassandraStore(settings)) as store:
        yield store


def start_apply(settings: CassandraSettings, *words: str) -> "subprocess.Popen[str]":
    """Start `gossamer store apply` with all settings in its environment."""
    values = settings.model_dump(mode="json", exclude_defaults=True)
    values |= {"hosts": json.dumps(settings.hosts), "password": settings.secret()}
    named = {
        f"GOSSAMER_CASSANDRA__{name.upper()}": str(values[name]) for name in values if values[name]
    }
    return subprocess.Popen(
        [GOSSAMER, "store", "apply", *words],
        env={**os.environ, **named},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def apply(settings: CassandraSettings, *words: str) -> tuple[int, str, str]:
    """Run `gossamer store apply`; return its exit status, its output and its errors."""
    process = start_apply(settings, *words)
    out, err = process.communicate()
    return process.returncode, out, err


def nodetool(port: int, *words: str) -> str:
    """Return the output of nodetool for the node."""
    env = {**os.environ, "PORT": str(port)}
    done = subprocess.run([NODETOOL, *words], env=env, capture_output=True, text=True, check=True)
    return str(done.stdout)


class Proxy:
    """A proxy between a client and a node, which can delay the node's responses.

    In the first *garbled* connections, everything after the first two responses is replaced by
    zeros.
    """

    def __init__(self, port: int, garbled: int = 0) -> None:
        self._node, self._garbled = port, garbled
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._request_slots = threading.Semaphore(0)
        self._sockets = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Delay responses from now on."""
        self._open.clear()
        while self._request_slots.acquire(blocking=False):
            pass

    def release_after(self, requests: int) -> None:
        """Let responses through after *requests* more requests."""

        def release() -> None:
            for _ in range(requests):
                self._request_slots.acquire()
            self._open.set()

        threading.Thread(target=release, daemon=True).start()

    def close(self) -> None:
        """Close all connections."""
        self._open.set()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                node = socket.create_connection(("127.0.0.1", self._node))
                self._sockets += [client, node]
                for ends in ((client, node), (node, client)):
                    threading.Thread(
                        target=self._carry, args=(*ends, node, self._garbled > 0), daemon=True
                    ).start()
                self._garbled -= 1

    def _carry(
        self, source: socket.socket, sink: socket.socket, node: socket.socket, garbles: bool
    ) -> None:
        answers = 0
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if source is node:
                    self._open.wait()
                    answers += 1
                    data = bytes(len(data)) if garbles and answers > 2 else data
                else:
                    self._request_slots.release()
                sink.sendall(data)
