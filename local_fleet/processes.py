"""Processes by pid: they outlive us, and are not confused with whoever gets their pid later."""

import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer import clock
from local_fleet.record import Member

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
LOOK = 0.1


@dataclass(frozen=True)
class Stat:
    """What the kernel says of a process."""

    parent: int
    started: int
    cpu: float
    memory: int


def stat_of(pid: int) -> Stat | None:
    """Return how a process stands; None if there is none, or only its remains."""
    with suppress(OSError):
        text = (PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
        # The name, in parentheses, may hold anything.
        fields = text.rpartition(")")[2].split()
        if fields[0] not in "ZX":
            cpu = (int(fields[11]) + int(fields[12])) / TICKS
            return Stat(int(fields[1]), int(fields[19]), cpu, int(fields[21]) * PAGE)
    return None


def is_alive(member: Member) -> bool:
    """Return whether the process that we started as *member* is still there."""
    stat = stat_of(member.pid) if member.pid else None
    return stat is not None and stat.started == member.started


def usage(pids: Iterable[int]) -> dict[int, tuple[float, int]]:
    """Return for each of *pids* the CPU seconds and the bytes of it and its descendants."""
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
    """Start *member*, in a session of its own, so that Ctrl-C and our end do not reach it."""
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
    """Stop *members*, by SIGKILL after *limit* seconds; return those that had to be killed."""
    left = [member for member in members if is_alive(member)]
    for member in left:
        _signal(member, signal.SIGTERM)
        _signal(member, signal.SIGCONT)
    until = clock.steady() + limit
    while left and clock.steady() < until:
        clock.pause(LOOK)
        left = [member for member in left if is_alive(member)]
    for member in left:
        _signal(member, signal.SIGKILL)
    while any(is_alive(member) for member in left):
        clock.pause(LOOK)
    return left


def _signal(member: Member, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(member.pid, number)
