"""The status of the members of a fleet, from their health checks and metrics."""

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from gossamer.local_fleet.plan import LOOPBACK
from gossamer.local_fleet.processes import is_alive, usage
from gossamer.local_fleet.record import SERVERS, Member

TIMEOUT = 5.0
"""Seconds for one request: more than a scrape waits for brokers."""
NO_ANSWER = "it does not answer"


class MemberStatus(msgspec.Struct):
    """The status of one member."""

    service: str
    instance: str
    pid: int
    port: int
    health: str
    """ok, stuck or stopped."""
    ready: bool
    reason: str = ""
    """Why it is not ready, or a note although it is ready."""
    partitions: int | None = None
    lag: dict[str, int] = msgspec.field(default_factory=dict)
    memory: int = 0
    """Memory of the process and its children, in bytes."""
    cpu: float = 0.0
    """CPU time of the process and its children, in seconds."""


def read_statuses(members: Sequence[Member]) -> list[MemberStatus]:
    """Return the status of each of *members*."""
    used = usage(member.pid for member in members if is_alive(member))
    with ThreadPoolExecutor(max(1, len(members))) as threads:
        statuses = list(threads.map(_read_status, members))
    for status in statuses:
        status.cpu, status.memory = used.get(status.pid, (0.0, 0))
    return statuses


def is_ready(member: Member) -> tuple[bool, str]:
    """Return whether *member* is ready, and the reason if not, or a note."""
    if member.service in SERVERS:
        return (True, "") if _listens(member.port) else (False, "it does not listen yet")
    code, text = _request(member, "/readyz")
    message = text.strip()
    if code != HTTPStatus.OK:
        return False, message
    return True, message.removeprefix("ready").removeprefix("; ")


def _read_status(member: Member) -> MemberStatus:
    status = MemberStatus(
        member.service, member.instance, member.pid, member.port, "stopped", False
    )
    if not is_alive(member):
        status.reason = "it has stopped: scripts/fleet up starts it again"
        return status
    status.ready, status.reason = is_ready(member)
    if member.service in SERVERS:
        status.health = "ok" if status.ready else "stuck"
        return status
    status.health = "ok" if _request(member, "/healthz")[0] == HTTPStatus.OK else "stuck"
    _add_metrics(status, _request(member, "/metrics")[1] if status.health == "ok" else "")
    return status


def _add_metrics(status: MemberStatus, metrics: str) -> None:
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name == "gossamer_consumer_lag":
                status.lag[sample.labels["topic"]] = int(sample.value)
            elif sample.name == "gossamer_partitions":
                status.partitions = int(sample.value)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection((LOOPBACK, port), TIMEOUT):
        return True
    return False


def _request(member: Member, path: str) -> tuple[int, str]:
    connection = HTTPConnection(LOOPBACK, member.port, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, HTTPException):
        return 0, NO_ANSWER
    finally:
        connection.close()
