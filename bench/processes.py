"""The CPU that processes and their children have used, as /proc says."""

import os
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pids: Iterable[int]) -> float:
    """Return the CPU seconds of processes that are alive, and of their children that are not."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / TICKS
    return total


def family(pid: int) -> list[int]:
    """Return *pid* and all its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        found += [each for child in children for each in family(int(child))]
    return found
