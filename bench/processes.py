"""The CPU time and the memory of processes, from /proc."""

import os
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
COMPILERS = ("C1 Compiler", "C2 Compiler")


def cpu(pids: Iterable[int]) -> float:
    """Return the CPU seconds of running processes, and of their ended children."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / TICKS
    return total


def memory(pids: Iterable[int]) -> float:
    """Return the memory of running processes that no other process shares, in bytes."""
    total = 0.0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        sizes = (line.split() for line in text.splitlines() if line.startswith("Private_"))
        total += sum(1024.0 * int(size) for _, size, _ in sizes)
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


def compiler_cpu(pids: Iterable[int]) -> float:
    """Return the CPU seconds of the threads of Java's compilers.

    Their number must be fixed: `-XX:-UseDynamicNumberOfCompilerThreads`.
    """
    total = 0.0
    for pid in pids:
        for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
            try:
                name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            if name.startswith(COMPILERS):
                total += sum(map(int, rest.split()[11:13])) / TICKS
    return total
