"""A local fleet as `scripts/fleet` runs it: its folder, and the command `gossamer` with its
settings.

Nothing here or in the tests beside it imports the crawler: they use it as a user does.
"""

import json
import os
import random
import signal
import socket
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.commands import Done, run_command
from tests.synthweb import SynthWeb

from .crawl import CONTACT, GOSSAMER, Fields, environment, run

SCRIPT = (sys.executable, "-P", "-m", "gossamer.console.fleet")
"""The command of scripts/fleet, once the virtual environment exists."""
START_TIMEOUT = 360.0
"""Seconds. `up` has a shorter timeout, after which it reports the missing members."""
PORTS = 60
BELOW_CHANCE = range(12000, 20000 - PORTS, PORTS)
"""Ports that neither the system nor `free_ports` gives away, so that they stay free until they are
used."""


def free_block() -> int:
    """Return the first of `PORTS` ports in a row that nobody listens on."""
    for first in random.sample(BELOW_CHANCE, len(BELOW_CHANCE)):
        if all(is_free(first + i) for i in range(PORTS)):
            return first
    raise AssertionError("no ports")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def of_servers(kafka: str, cassandra: int) -> dict[str, str]:
    """Return settings for topics and tables of one's own on shared servers."""
    name = f"t{uuid.uuid4().hex[:12]}"
    return {
        "GOSSAMER_KAFKA__SERVERS": kafka,
        "GOSSAMER_KAFKA__PREFIX": f"{name}.",
        "GOSSAMER_KAFKA__REPLICATION": "1",
        "GOSSAMER_CASSANDRA__HOSTS": '["127.0.0.1"]',
        "GOSSAMER_CASSANDRA__PORT": str(cassandra),
        "GOSSAMER_CASSANDRA__KEYSPACE": name,
    }


def for_world(web: SynthWeb, delay: float) -> dict[str, str]:
    """Return settings for a crawl of a synthetic web."""
    return {
        "GOSSAMER_FETCHER__CONTACT": CONTACT,
        "GOSSAMER_FETCHER__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        "GOSSAMER_FETCHER__NAMESERVER": web.nameserver,
        "GOSSAMER_FRONTIER__DELAY": str(delay),
        "GOSSAMER_PARSER__WORKERS": "1",
        "GOSSAMER_KAFKA__PARTITIONS": "4",
    }


class ByHand:
    """One local fleet. *settings* are in the environment of every command."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.settings = folder, settings
        self._base = ("--base-port", str(free_block()))

    def __call__(self, word: str, *rest: str) -> Done:
        """Run `scripts/fleet` with these arguments."""
        command = [*SCRIPT, word, "--dir", str(self.folder), *rest]
        return run_command(
            command, environment=environment(**self.settings), patience=START_TIMEOUT
        )

    def up(self, *words: str) -> str:
        """Start the fleet, or its missing members; return the output."""
        fresh = () if (self.folder / "fleet.json").exists() else self._base
        done = self("up", *fresh, *words)
        assert done.code == 0, (done, self.log_ends())
        return done.out

    def down(self) -> str:
        done = self("down")
        assert (done.code, done.err) == (0, ""), done
        return done.out

    def status(self) -> dict[str, Fields]:
        """Return the status of each member by its name, for example `fetcher-1`."""
        found = json.loads(self("status", "--json").out)
        return {f"{member['service']}-{member['instance']}": member for member in found}

    def gossamer(self, *words: str, stdin: str = "") -> Done:
        return run([GOSSAMER, *words], stdin, **self.clients())

    def clients(self) -> dict[str, str]:
        """Return an operator's environment: the settings, and the variables that `up` has
        written."""
        lines = (self.folder / "env").read_text().splitlines()
        exports = (line.removeprefix("export ").partition("=") for line in lines)
        return {**self.settings, **{name: value.strip("'") for name, _, value in exports}}

    def pages(self) -> list[Fields]:
        done = self.gossamer("pages")
        assert (done.code, done.err) == (0, ""), done
        return [json.loads(line) for line in done.out.splitlines()]

    def log_lines(self, member: str) -> list[Fields]:
        """Return the log lines of a member."""
        text = (self.folder / "logs" / f"{member}.log").read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def log_ends(self) -> str:
        logs = sorted((self.folder / "logs").glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in logs)

    def kill(self, *members: str) -> None:
        """Send SIGKILL to these members, or to all."""
        for name, member in self.status().items():
            if member["health"] != "stopped" and (not members or name in members):
                with suppress(ProcessLookupError):
                    os.kill(member["pid"], signal.SIGKILL)


@contextmanager
def by_hand(folder: Path, **settings: str) -> Iterator[ByHand]:
    """Yield a fleet, and kill all of it at the end."""
    local_fleet = ByHand(folder, **settings)
    try:
        yield local_fleet
    finally:
        if (folder / "fleet.json").exists():
            local_fleet.kill()
