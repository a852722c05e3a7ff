"""`up` and `down`: bring about what should run, and wait until it does."""

import os
import subprocess
import sys
from collections.abc import Sequence

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.settings import Settings
from local_fleet import plan, processes
from local_fleet.record import SERVERS, FleetFolder, Member, Record
from local_fleet.status import is_ready

READY_WITHIN = 300.0
"""Seconds for members to get ready: libraries may have to be fetched, tables to be rebuilt."""
SERVICE_END, SERVER_END = 35.0, 90.0
"""Seconds to end in; a service promises 30."""
LOOK, SHOW_EVERY = 0.2, 2.0
APPLY = (("topics", "apply"), ("store", "apply"))
LAST_LINES = 5


class Up:
    """One `up`: members that should run, do."""

    def __init__(self, folder: FleetFolder, record: Record, settings: Settings) -> None:
        self._folder, self._record = folder, record
        if record.servers is None:
            # Later the settings may name these themselves: whoever speaks to them has them so.
            record.servers = plan.own_servers(settings)
        self._servers = record.servers
        record.partitions = settings.kafka.partitions or record.partitions or plan.PARTITIONS
        self.clients = plan.clients_environment(record, self._servers, folder)
        contact = {"GOSSAMER_FETCHER__CONTACT": record.contact} if record.contact else {}
        self._environment = {**self.clients, **contact}

    def run(self) -> list[Member]:
        """Start what is missing, stop what is too many; return all when they are ready."""
        plan.check_machine(self._servers)
        names = plan.wanted(self._record, self._servers)
        members = [plan.member_for(self._record, *name) for name in names]
        surplus = [member for member in self._record.members if member not in members]
        halt(surplus)
        self._record.members = members
        self._save()
        servers = [member for member in members if member.service in SERVERS]
        self._start(servers)
        self._await(servers)
        self._apply()
        self._start([member for member in members if member not in servers])
        self._await(members)
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

    def _apply(self) -> None:
        for words in APPLY:
            command = [sys.executable, "-P", "-m", "console.cli.main", *words]
            environment = {**os.environ, **self._environment}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                text = (done.stderr or done.stdout).strip()
                raise GossamerError(f"gossamer {' '.join(words)} failed: {text}")

    def _await(self, members: Sequence[Member]) -> None:
        deadline, shown, shown_at = clock.steady() + READY_WITHIN, "", clock.steady()
        while waited := [(member, why) for member in members if (why := self._why_not(member))]:
            words = "; ".join(f"{member.name}: {why}" for member, why in waited)
            if clock.steady() > deadline:
                raise GossamerError(f"not ready after {READY_WITHIN:.0f} s: {words}")
            if words != shown and clock.steady() - shown_at > SHOW_EVERY:
                print(f"waiting for {words}", flush=True)
                shown, shown_at = words, clock.steady()
            clock.pause(LOOK)

    def _why_not(self, member: Member) -> str:
        if not processes.is_alive(member):
            log = self._folder.log_of(member.name)
            last = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise GossamerError(
                f"{member.name} has ended; its last lines ({log}):\n" + "\n".join(last)
            )
        ready, why = is_ready(member)
        return "" if ready else why


def halt(members: Sequence[Member]) -> None:
    """Stop *members*: services first, because they still need the servers to end in order."""
    services = [member for member in members if member.service not in SERVERS]
    servers = [member for member in members if member.service in SERVERS]
    for some, limit in ((services, SERVICE_END), (servers, SERVER_END)):
        alive = [member for member in some if processes.is_alive(member)]
        killed = processes.stop(alive, limit)
        for member in alive:
            how = f"killed, since it did not end within {limit:.0f} s"
            print(f"{member.name} {how if member in killed else 'stopped'}", flush=True)
        for member in some:
            member.pid = member.started = 0
