"""How the members of a fleet are, by their probes and metrics."""

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from local_fleet.plan import LOOPBACK
from local_fleet.processes import is_alive, usage
from local_fleet.record import SERVERS, Member

TIMEOUT = 5.0
"""Seconds to answer in: longer than a scrape waits for brokers."""
SILENT = "it does not answer"


class Standing(msgspec.Struct):
    """How one member is."""

    service: str
    instance: str
    pid: int
    port: int
    health: str
    """ok, stuck or gone."""
    ready: bool
    reason: str = ""
    """Why it is not ready, or what is to be known although it is."""
    partitions: int | None = None
    lag: dict[str, int] = msgspec.field(default_factory=dict)
    memory: int = 0
    """Of it and its children, in bytes."""
    cpu: float = 0.0
    """Of it and its children, in seconds."""


def standings(members: Sequence[Member]) -> list[Standing]:
    """Return how *members* are."""
    used = usage(member.pid for member in members if is_alive(member))
    with ThreadPoolExecutor(max(1, len(members))) as threads:
        found = list(threads.map(_standing, members))
    for standing in found:
        standing.cpu, standing.memory = used.get(standing.pid, (0.0, 0))
    return found


def is_ready(member: Member) -> tuple[bool, str]:
    """Return whether *member* does its work; and why not, or what else is to be known."""
    if member.service in SERVERS:
        return (True, "") if _listens(member.port) else (False, "it does not listen yet")
    status, text = _ask(member, "/readyz")
    said = text.strip()
    return status == 200, said.removeprefix("ready").removeprefix("; ") if status == 200 else said


def _standing(member: Member) -> Standing:
    standing = Standing(member.service, member.instance, member.pid, member.port, "gone", False)
    if not is_alive(member):
        standing.reason = "it has ended: scripts/fleet up starts it again"
        return standing
    standing.ready, standing.reason = is_ready(member)
    if member.service in SERVERS:
        standing.health = "ok" if standing.ready else "stuck"
        return standing
    standing.health = "ok" if _ask(member, "/healthz")[0] == 200 else "stuck"
    _measure(standing, _ask(member, "/metrics")[1] if standing.health == "ok" else "")
    return standing


def _measure(standing: Standing, metrics: str) -> None:
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name == "gossamer_consumer_lag":
                standing.lag[sample.labels["topic"]] = int(sample.value)
            elif sample.name == "gossamer_partitions":
                standing.partitions = int(sample.value)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection((LOOPBACK, port), TIMEOUT):
        return True
    return False


def _ask(member: Member, path: str) -> tuple[int, str]:
    connection = HTTPConnection(LOOPBACK, member.port, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, HTTPException):
        return 0, SILENT
    finally:
        connection.close()
