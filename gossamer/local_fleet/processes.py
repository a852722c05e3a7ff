"""Processes by pid and start time: they outlive this one, and a reused pid is recognised."""

import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer import clock
from gossamer.local_fleet.record import Member

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
POLL_INTERVAL = 0.1


@dataclass(frozen=True)
class Stat:
    """The kernel's statistics of a process."""

    parent: int
    started: int
    cpu: float
    memory: int


def stat_of(pid: int) -> Stat | None:
    """Return the statistics of a process; None if it does not exist or is a zombie."""
    with suppress(OSError):
        text = (PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
        # The name, in parentheses, may contain any character.
        fields = text.rpartition(")")[2].split()
        if fields[0] not in "ZX":
            cpu = (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
            return Stat(int(fields[1]), int(fields[19]), cpu, int(fields[21]) * PAGE_SIZE)
    return None


def is_alive(member: Member) -> bool:
    """Return whether the process that was started as *member* still runs."""
    stat = stat_of(member.pid) if member.pid else None
    return stat is not None and stat.started == member.started


def usage(pids: Iterable[int]) -> dict[int, tuple[float, int]]:
    """Return pid → CPU seconds and bytes of memory of the process and its descendants."""
    found = {int(f.name): stat_of(int(f.name)) for f in PROC.iterdir() if f.name.isdecimal()}
    stats = {pid: stat for pid, stat in found.items() if stat}
    totals = dict.fromkeys(pids, (0.0, 0))
    for pid, stat in stats.items():
        ancestor = pid
        while ancestor not in totals and ancestor in stats:
            ancestor = stats[ancestor].parent
        if ancestor in totals:
            cpu, memory = totals[ancestor]
            totals[ancestor] = cpu + stat.cpu, memory + stat.memory
    return totals


def start(member: Member, command: list[str], environment: dict[str, str], log: Path) -> None:
    """Start *member* in a session of its own: Ctrl-C and the end of this process do not stop it."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
    stat = stat_of(process.pid)
    member.pid, member.started = process.pid, stat.started if stat else 0


def stop(members: Iterable[Member], limit: float) -> list[Member]:
    """Stop *members*, and kill them after *limit* seconds; return the killed ones."""
    alive = [member for member in members if is_alive(member)]
    for member in alive:
        _signal(member, signal.SIGTERM)
        _signal(member, signal.SIGCONT)
    until = clock.steady() + limit
    while alive and clock.steady() < until:
        clock.pause(POLL_INTERVAL)
        alive = [member for member in alive if is_alive(member)]
    for member in alive:
        _signal(member, signal.SIGKILL)
    while any(is_alive(member) for member in alive):
        clock.pause(POLL_INTERVAL)
    return alive


def _signal(member: Member, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(member.pid, number)
