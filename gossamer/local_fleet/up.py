"""`up` and `down`: start and stop the processes of a fleet, and wait until they are ready."""

import os
import subprocess
import sys
from collections.abc import Sequence

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.local_fleet import plan, processes
from gossamer.local_fleet.record import SERVERS, FleetFolder, Member, Record
from gossamer.local_fleet.status import is_ready
from gossamer.settings import Settings

READY_TIMEOUT = 300.0
"""Seconds until all members are ready: libraries may be fetched, and tables rebuilt."""
SERVICE_STOP_TIMEOUT, SERVER_STOP_TIMEOUT = 35.0, 90.0
"""Seconds for a process to stop; services stop within 30."""
POLL_INTERVAL, PRINT_INTERVAL = 0.2, 2.0
SETUP_COMMANDS = (("topics", "apply"), ("store", "apply"))
SHOWN_LOG_LINES = 5


class Up:
    """One `up`: starts missing members and stops surplus ones."""

    def __init__(self, folder: FleetFolder, record: Record, settings: Settings) -> None:
        self._folder, self._record = folder, record
        if record.servers is None:
            # Recorded now: later the environment of a client may name them as if they were others.
            record.servers = plan.own_servers(settings)
        self._servers = record.servers
        record.partitions = (
            settings.kafka.partitions or record.partitions or plan.DEFAULT_PARTITIONS
        )
        self.clients = plan.clients_environment(record, self._servers, folder)
        contact = {"GOSSAMER_FETCHER__CONTACT": record.contact} if record.contact else {}
        self._environment = {**self.clients, **contact}

    def run(self) -> list[Member]:
        """Start missing members, stop surplus ones, and return all members when they are ready."""
        plan.check_machine(self._servers)
        names = plan.plan_members(self._record, self._servers)
        members = [plan.member_for(self._record, *name) for name in names]
        surplus = [member for member in self._record.members if member not in members]
        stop_members(surplus)
        self._record.members = members
        self._save()
        servers = [member for member in members if member.service in SERVERS]
        self._start(servers)
        self._wait_until_ready(servers)
        self._set_up()
        self._start([member for member in members if member not in servers])
        self._wait_until_ready(members)
        return members

    def _save(self) -> None:
        self._folder.save(self._record)

    def _start(self, members: Sequence[Member]) -> None:
        for member in members:
            if not processes.is_alive(member):
                command = plan.command_of(member, self._folder)
                environment = plan.environment_of(member, self._environment)
                processes.start(member, command, environment, self._folder.log_of(member.name))
                self._save()
                print(f"started {member.name} (process {member.pid})", flush=True)

    def _set_up(self) -> None:
        for words in SETUP_COMMANDS:
            command = [sys.executable, "-P", "-m", "gossamer.console.cli.main", *words]
            environment = {**os.environ, **self._environment}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                text = (done.stderr or done.stdout).strip()
                raise GossamerError(f"gossamer {' '.join(words)} failed: {text}")

    def _wait_until_ready(self, members: Sequence[Member]) -> None:
        deadline, shown, shown_at = clock.steady() + READY_TIMEOUT, "", clock.steady()
        while reasons := self._reasons(members):
            if clock.steady() > deadline:
                raise GossamerError(f"not ready after {READY_TIMEOUT:.0f} s: {reasons}")
            if reasons != shown and clock.steady() - shown_at > PRINT_INTERVAL:
                print(f"waiting for {reasons}", flush=True)
                shown, shown_at = reasons, clock.steady()
            clock.pause(POLL_INTERVAL)

    def _reasons(self, members: Sequence[Member]) -> str:
        """Return why *members* are not ready; "" if all are."""
        waiting = [(member.name, self._not_ready_reason(member)) for member in members]
        return "; ".join(f"{name}: {reason}" for name, reason in waiting if reason)

    def _not_ready_reason(self, member: Member) -> str:
        if not processes.is_alive(member):
            log = self._folder.log_of(member.name)
            last = log.read_text(errors="replace").splitlines()[-SHOWN_LOG_LINES:]
            raise GossamerError(
                f"{member.name} has stopped; its last lines ({log}):\n" + "\n".join(last)
            )
        ready, reason = is_ready(member)
        return "" if ready else reason


def stop_members(members: Sequence[Member]) -> None:
    """Stop *members*: services first, because they need the servers to stop in good order."""
    services = [member for member in members if member.service not in SERVERS]
    servers = [member for member in members if member.service in SERVERS]
    for group, limit in ((services, SERVICE_STOP_TIMEOUT), (servers, SERVER_STOP_TIMEOUT)):
        alive = [member for member in group if processes.is_alive(member)]
        killed = processes.stop(alive, limit)
        for member in alive:
            result = (
                f"killed: it did not stop within {limit:.0f} s" if member in killed else "stopped"
            )
            print(f"{member.name} {result}", flush=True)
        for member in group:
            member.pid = member.started = 0
