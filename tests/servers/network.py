"""A network of nodes on one machine: each node has a network namespace, and a bridge joins them.

A bridge cuts a node off by dropping its packets: no connection is refused or reset, as with a
broken switch. That requires root. Without root, nodes have loopback addresses, and a node is
stopped instead of cut off: it neither answers nor receives, but it does not run either.
The first is a `Bridge`, the second `Stops`.
"""

import os
import random
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

FIRST = 11
"""The last number of the first node's address."""
DROPS, FORWARDS = "0", "3"
"""States of a port of a bridge."""


class Network(Protocol):
    """The addresses of nodes, and their disconnection."""

    def address(self, number: int) -> str:
        """Return the address of a node."""

    def within(self, number: int) -> Sequence[str]:
        """Return the command that runs another one at that node."""

    def cut(self, number: int, pid: int) -> None:
        """Cut a node off from all others; *pid* leads its processes."""

    def heal(self, number: int, pid: int) -> None:
        """Reconnect a node; do nothing if it is connected."""


class Bridge:
    """Namespaces joined by a bridge."""

    def __init__(self, count: int) -> None:
        self._name = f"gs{random.randrange(1 << 32):08x}"
        self._net = f"10.{random.randrange(64, 128)}.{random.randrange(256)}"
        self._count = count

    def up(self) -> None:
        """Create the bridge and the namespaces."""
        _ip("link", "add", self._name, "type", "bridge")
        _ip("addr", "add", f"{self._net}.1/24", "dev", self._name)
        _ip("link", "set", self._name, "up")
        for number in range(self._count):
            self._join(number)

    def _join(self, number: int) -> None:
        place, port = self._place(number), self._port(number)
        _ip("netns", "add", place)
        _ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", place)
        _ip("link", "set", port, "master", self._name, "up")
        _ip("-n", place, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", place, "link", "set", device, "up")

    def down(self) -> None:
        """Remove the bridge and the namespaces."""
        for number in range(self._count):
            with suppress(subprocess.CalledProcessError):
                _ip("link", "del", self._port(number))
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", self._place(number))
        with suppress(subprocess.CalledProcessError):
            _ip("link", "del", self._name)

    def address(self, number: int) -> str:
        return f"{self._net}.{FIRST + number}"

    def within(self, number: int) -> Sequence[str]:
        return ("ip", "netns", "exec", self._place(number))

    def cut(self, number: int, pid: int) -> None:
        self._set(number, DROPS)

    def heal(self, number: int, pid: int) -> None:
        self._set(number, FORWARDS)

    def _set(self, number: int, state: str) -> None:
        _run("bridge", "link", "set", "dev", self._port(number), "state", state)

    def _place(self, number: int) -> str:
        return f"{self._name}-{number}"

    def _port(self, number: int) -> str:
        return f"{self._name}v{number}"


class Stops:
    """Loopback addresses; a node that is cut off is stopped."""

    def address(self, number: int) -> str:
        return f"127.0.0.{FIRST + number}"

    def within(self, number: int) -> Sequence[str]:
        return ()

    def cut(self, number: int, pid: int) -> None:
        signal_children(pid, signal.SIGSTOP)

    def heal(self, number: int, pid: int) -> None:
        signal_children(pid, signal.SIGCONT)


@contextmanager
def join_nodes(count: int) -> Iterator[Network]:
    """Join *count* nodes within a block, by a bridge where that is permitted."""
    bridge = Bridge(count)
    try:
        bridge.up()
    except (OSError, subprocess.CalledProcessError) as error:
        bridge.down()
        # Root is always permitted, except in some containers.
        print(f"\nno network namespaces here ({error}): a node that is cut off is stopped instead")
        yield Stops()
        return
    try:
        yield bridge
    finally:
        bridge.down()


def signal_children(pid: int, number: int) -> None:
    """Send a signal to the children of a keeper, but not to itself."""
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), number)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
