"""What several commands share: the data folder, and how values are read."""

import argparse
import re
from pathlib import Path

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_duration = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def add_data(command: argparse.ArgumentParser) -> None:
    """Let *command* be told where the data is."""
    command.add_argument(
        "--data",
        type=Path,
        default=Path("gossamer-data"),
        metavar="DIR",
        help="the crawl's folder (default: gossamer-data)",
    )


def seconds(text: str) -> float:
    """Read `90`, `90s`, `15m`, `2h` or `1d` as seconds."""
    found = _duration.fullmatch(text.strip().lower())
    if found is None or found[2] not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration such as 90, 90s, 15m, 2h, 1d")
    return float(found[1]) * UNITS[found[2]]


def natural(text: str) -> int:
    """Read a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)
