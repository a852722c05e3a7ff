"""Runs a command until it or another process ends: `keeper.py PID COMMAND...`.

It leads a process group of its own, which is killed as a whole: nothing outlives the tests.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress


def alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    with suppress(OSError), open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


def main(whose: int, command: list[str]) -> int:
    """Return the command's exit status; do not return after the end of *whose*."""
    served = subprocess.Popen(command)
    while served.poll() is None:
        if not alive(whose):
            os.killpg(os.getpgid(0), signal.SIGKILL)
        time.sleep(0.2)
    return served.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
