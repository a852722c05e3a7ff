"""The processes of a fleet: which ones, with which commands, ports and environment."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

from gossamer.errors import GossamerError
from gossamer.local_fleet.record import SERVERS, SERVICES, FleetFolder, Member, Record
from gossamer.settings import Settings

LOOPBACK = "127.0.0.1"
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "servers"
SERVER_PORT_OFFSETS = {"kafka": 0, "cassandra": 10}
"""Server → its first port, relative to the base port; each has up to three."""
SERVICE_PORT_OFFSET = 20
DEFAULT_PARTITIONS = 12
"""Partitions of each topic without the setting: one broker with 48 of each starts slowly."""


def own_servers(settings: Settings) -> list[str]:
    """Return the servers that the fleet starts: the ones that *settings* do not name."""
    named = (settings.kafka.servers, settings.cassandra.hosts)
    return [server for server, at in zip(SERVERS, named, strict=True) if not at]


def plan_members(record: Record, servers: list[str]) -> list[tuple[str, str]]:
    """Return service and instance of each process that should run."""
    services = [(s, str(i + 1)) for s in SERVICES for i in range(record.counts[s])]
    return [*((server, "1") for server in servers), *services]


def member_for(record: Record, service: str, instance: str) -> Member:
    """Return the recorded member, or a new one with a free port."""
    for member in record.members:
        if (member.service, member.instance) == (service, instance):
            return member
    if service in SERVERS:
        port = record.base_port + SERVER_PORT_OFFSETS[service]
    else:
        taken = {member.port for member in record.members}
        port = record.base_port + SERVICE_PORT_OFFSET
        while port in taken:
            port += 1
    record.members.append(member := Member(service, instance, port))
    return member


def command_of(member: Member, folder: FleetFolder) -> list[str]:
    """Return the command that runs *member*."""
    if member.service in SERVERS:
        serve = SCRIPTS / member.service / "serve"
        return [str(serve), str(folder.path / member.service), str(member.port)]
    # -P: import no module from the current folder.
    return [sys.executable, "-P", "-m", f"gossamer.services.{member.service}"]


def clients_environment(record: Record, servers: list[str], folder: FleetFolder) -> dict[str, str]:
    """Return the environment variables with which a command reaches the fleet.

    They do not depend on the settings, because the environment of a later `up` may contain them.
    """
    variables = {
        "GOSSAMER_ARCHIVE__FOLDER": str(folder.path / "warc"),
        "GOSSAMER_DEDUP__FOLDER": str(folder.path / "dedup"),
    }
    if "kafka" in servers:
        variables["GOSSAMER_KAFKA__SERVERS"] = (
            f"{LOOPBACK}:{record.base_port + SERVER_PORT_OFFSETS['kafka']}"
        )
        # The fleet has one broker.
        variables["GOSSAMER_KAFKA__REPLICATION"] = "1"
        variables["GOSSAMER_KAFKA__PARTITIONS"] = str(record.partitions)
    if "cassandra" in servers:
        variables["GOSSAMER_CASSANDRA__HOSTS"] = json.dumps([LOOPBACK])
        variables["GOSSAMER_CASSANDRA__PORT"] = str(
            record.base_port + SERVER_PORT_OFFSETS["cassandra"]
        )
    if record.config:
        variables["GOSSAMER_CONFIG"] = record.config
    return variables


def environment_of(member: Member, clients: dict[str, str]) -> dict[str, str]:
    """Return the environment of a service: that of this process, with its instance and port."""
    instance = {
        "GOSSAMER_SERVICE__INSTANCE": member.instance,
        "GOSSAMER_SERVICE__ADDRESS": LOOPBACK,
        "GOSSAMER_SERVICE__PORT": str(member.port),
    }
    return {**os.environ, **clients, **instance}


def exports(clients: dict[str, str]) -> str:
    """Return *clients* as `export` lines for a shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in clients.items())


def check_machine(servers: list[str]) -> None:
    """Raise GossamerError if this machine lacks a program that *servers* need."""
    configured = os.environ.get("GOSSAMER_SERVERS")
    libraries = Path(configured) if configured else Path.home() / ".cache" / "gossamer-servers"
    are_fetched = all((libraries / server / ".complete").exists() for server in servers)
    needed = {"java": "Java 17 or later"} if servers else {}
    if not are_fetched:
        needed["mvn"] = "Maven, which fetches their libraries once"
    missing = [text for program, text in needed.items() if not shutil.which(program)]
    if missing:
        raise GossamerError(
            f"{' and '.join(servers)} need {' and '.join(missing)} (on Debian: apt install "
            "openjdk-17-jre-headless maven); or name running servers with "
            """GOSSAMER_KAFKA__SERVERS=HOST:PORT and GOSSAMER_CASSANDRA__HOSTS='["HOST"]'"""
        )
