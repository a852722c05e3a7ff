"""What should run, as which command, in which environment."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

from gossamer.errors import GossamerError
from gossamer.settings import Settings
from local_fleet.record import SERVERS, SERVICES, FleetFolder, Member, Record

LOOPBACK = "127.0.0.1"
SCRIPTS = Path(__file__).resolve().parents[1] / "scripts" / "servers"
OFFSETS = {"kafka": 0, "cassandra": 10}
"""Where the ports of servers begin, beyond the base; each takes up to three."""
FIRST_SERVICE = 20
PARTITIONS = 12
"""Of each topic of a new fleet without the setting: one broker with 48 of each is slow to start."""


def own_servers(settings: Settings) -> list[str]:
    """Return the servers that the fleet has to bring along: those that *settings* do not name."""
    named = (settings.kafka.servers, settings.cassandra.hosts)
    return [server for server, at in zip(SERVERS, named, strict=True) if not at]


def wanted(record: Record, servers: list[str]) -> list[tuple[str, str]]:
    """Return service and instance of all that should run."""
    services = [(s, str(i + 1)) for s in SERVICES for i in range(record.counts[s])]
    return [*((server, "1") for server in servers), *services]


def member_for(record: Record, service: str, instance: str) -> Member:
    """Return the member of that name, known already or new, with a port of its own."""
    for member in record.members:
        if (member.service, member.instance) == (service, instance):
            return member
    if service in SERVERS:
        port = record.base_port + OFFSETS[service]
    else:
        taken = {member.port for member in record.members}
        port = record.base_port + FIRST_SERVICE
        while port in taken:
            port += 1
    record.members.append(member := Member(service, instance, port))
    return member


def command_of(member: Member, folder: FleetFolder) -> list[str]:
    """Return the command that runs *member*."""
    if member.service in SERVERS:
        serve = SCRIPTS / member.service / "serve"
        return [str(serve), str(folder.path / member.service), str(member.port)]
    # -P: no module out of the folder that somebody happens to be in.
    return [sys.executable, "-P", "-m", f"services.{member.service}"]


def clients_environment(record: Record, servers: list[str], folder: FleetFolder) -> dict[str, str]:
    """Return the environment variables that a command needs to reach the fleet.

    It does not depend on the settings, because the environment of a later `up` may have it already.
    """
    found = {
        "GOSSAMER_ARCHIVE__FOLDER": str(folder.path / "warc"),
        "GOSSAMER_DEDUP__FOLDER": str(folder.path / "dedup"),
    }
    if "kafka" in servers:
        found["GOSSAMER_KAFKA__SERVERS"] = f"{LOOPBACK}:{record.base_port + OFFSETS['kafka']}"
        # There is one broker.
        found["GOSSAMER_KAFKA__REPLICATION"] = "1"
        found["GOSSAMER_KAFKA__PARTITIONS"] = str(record.partitions)
    if "cassandra" in servers:
        found["GOSSAMER_CASSANDRA__HOSTS"] = json.dumps([LOOPBACK])
        found["GOSSAMER_CASSANDRA__PORT"] = str(record.base_port + OFFSETS["cassandra"])
    if record.config:
        found["GOSSAMER_CONFIG"] = record.config
    return found


def environment_of(member: Member, clients: dict[str, str]) -> dict[str, str]:
    """Return the environment of a service: ours, and what makes it this one."""
    own = {
        "GOSSAMER_SERVICE__INSTANCE": member.instance,
        "GOSSAMER_SERVICE__ADDRESS": LOOPBACK,
        "GOSSAMER_SERVICE__PORT": str(member.port),
    }
    return {**os.environ, **clients, **own}


def exports(clients: dict[str, str]) -> str:
    """Return *clients* as a shell reads them."""
    return "".join(f"export {name}={shlex.quote(it)}\n" for name, it in clients.items())


def check_machine(servers: list[str]) -> None:
    """Raise GossamerError if *servers* cannot be run here."""
    libraries = os.environ.get("GOSSAMER_SERVERS")
    at = Path(libraries) if libraries else Path.home() / ".cache" / "gossamer-servers"
    fetched = all((at / server / ".complete").exists() for server in servers)
    needed = {"java": "Java 17 or later"} if servers else {}
    if not fetched:
        needed["mvn"] = "Maven, which fetches their libraries once"
    missing = [what for program, what in needed.items() if not shutil.which(program)]
    if missing:
        raise GossamerError(
            f"{' and '.join(servers)} need {' and '.join(missing)} (on Debian: apt install "
            "openjdk-17-jre-headless maven); or name servers that run already, with "
            """GOSSAMER_KAFKA__SERVERS=HOST:PORT and GOSSAMER_CASSANDRA__HOSTS='["HOST"]'"""
        )
