"""Processes with a wrong clock: a few lines of preloaded C change their time of day."""

import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("skew.c")


def ahead_by(seconds: int, folder: Path) -> dict[str, str]:
    """Return the environment of a process whose clock is ahead. *folder* stores the compiled
    library."""
    library = folder / "skew.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(seconds)}
