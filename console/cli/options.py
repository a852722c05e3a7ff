"""What several commands share: where the crawl is, and how values are read."""

import argparse
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from console.place import DATA, Place, open_place
from gossamer.config import Settings, load_settings
from gossamer.errors import BadSettings
from gossamer.telemetry import configure_logs

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_duration = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def add_data(command: argparse.ArgumentParser) -> None:
    """Let *command* be told where the data is."""
    command.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="DIR",
        help="the crawl's folder (default: gossamer-data)",
    )


def add_config(command: argparse.ArgumentParser) -> None:
    """Let *command* be told its settings."""
    command.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML")


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings that a command goes by, and log as they say."""
    settings = load_settings(options.config)
    said = settings.logs
    # What libraries warn of meanwhile comes to nothing, or comes back as an error.
    configure_logs(said.json_lines, said.level if "level" in said.model_fields_set else "error")
    return settings


def add_place(command: argparse.ArgumentParser) -> None:
    """Let *command* be told where the crawl is: a folder, or a fleet."""
    add_config(command)
    command.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="the crawl's folder (default: the fleet that the settings name with kafka.servers; "
        "if they name none, gossamer-data)",
    )


def place_of(options: argparse.Namespace, create: bool = False) -> AbstractContextManager[Place]:
    """Open the place that *options* mean."""
    return open_place(settings_of(options), options.data, create)


def lines_of(given: Sequence[str], file: str | None, option: str) -> list[str]:
    """Return what was *given* and the lines of *file*, if there is one; - is standard input."""
    lines = list(given)
    try:
        if file == "-":
            lines += sys.stdin.read().splitlines()
        elif file:
            lines += Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise BadSettings(f"{option} {file} cannot be read: {error}") from error
    return lines


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
