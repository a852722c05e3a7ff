"""Commands as a person runs them: to their end, with their output."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .waiting import HANG_TIMEOUT


@dataclass(frozen=True)
class Done:
    """The exit status and the output of a command."""

    code: int
    out: str
    err: str


def clean_environment(**more: str) -> dict[str, str]:
    """Return our environment without settings of Gossamer, plus *more*."""
    own = {name: it for name, it in os.environ.items() if not name.startswith("GOSSAMER_")}
    return {**own, **more}


def run_command(
    command: Sequence[str],
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    patience: float = HANG_TIMEOUT,
    folder: Path | None = None,
) -> Done:
    """Run a command to its end, with any exit status, by default in a clean environment.

    Raise AssertionError with its output if it has not ended after *patience* seconds.
    """
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=patience,
            env=clean_environment() if environment is None else environment,
            cwd=folder,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        printed = b"".join(it for it in (error.stdout, error.stderr) if it).decode()
        raise AssertionError(f"{command} has not ended after {patience} s:\n{printed}") from None
    return Done(done.returncode, done.stdout, done.stderr)
