"""What several commands share: where the crawl is, and how values are read."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.open_crawl import DATA, OpenCrawl, open_crawl
from gossamer.errors import BadSettings
from gossamer.policies import POLICIES
from gossamer.telemetry import configure_logs
from standalone.folder import Folder

if TYPE_CHECKING:
    from gossamer.settings import Nested, Settings

PREFIX = "GOSSAMER_"
"""Of the variables in the environment that are settings."""
IN_A_FLEET = "optimal"
"""The revisit policy of a fleet for which no other is set."""
REVISITS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "--revisit",
        {"metavar": "POLICY", "help": f"when pages are visited again: {', '.join(POLICIES)}"},
    ),
    ("--budget", {"type": float, "metavar": "N", "help": "at most N visits a day"}),
    (
        "--discovery-share",
        {"type": float, "metavar": "X", "help": "part of the budget for new URLs, 0 to 1"},
    ),
)
"""Options for revisits: how settings of the crawl are given for a run, or from now on."""
CHOICES_OF_PAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "--external-links",
        {
            "choices": ("deep", "home", "combined", "none"),
            "help": "follow links to other sites: what they name, the home page, both, or none",
        },
    ),
    (
        "--relevant",
        {"metavar": "EXPR", "help": "keep pages such as language('pt') and type('text/html')"},
    ),
    (
        "--follow-irrelevant",
        {
            "action": argparse.BooleanOptionalAction,
            "help": "follow the links of pages that are not kept",
        },
    ),
)
"""Options for which pages are kept and where their links lead, likewise."""
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_duration = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


def add_data(command: argparse.ArgumentParser) -> None:
    """Add `--data` to *command*."""
    command.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="DIR",
        help="the crawl's folder (default: gossamer-data)",
    )


def add_config(command: argparse.ArgumentParser) -> None:
    """Add `--config` to *command*."""
    command.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML")


def settings_of(options: argparse.Namespace, overrides: "Nested | None" = None) -> "Settings":
    """Return the settings of a command, and log as they ask."""
    from gossamer.settings import load_settings

    settings = load_settings(options.config, overrides)
    logs = settings.logs
    # What libraries warn of meanwhile is harmless, or becomes an error of ours.
    configure_logs(logs.json_lines, logs.level if "level" in logs.model_fields_set else "error")
    return settings


def add_crawl(command: argparse.ArgumentParser) -> None:
    """Add to *command* where the crawl is: a folder, or a fleet."""
    add_config(command)
    command.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="the crawl's folder (default: the fleet that the settings name with kafka.servers; "
        "if they name none, gossamer-data)",
    )


def open_from(
    options: argparse.Namespace, create: bool = False
) -> AbstractContextManager[OpenCrawl]:
    """Open the crawl that *options* mean."""
    if options.config is None and not any(name.startswith(PREFIX) for name in os.environ):
        # Nothing is set. Importing the settings takes longer than all else of a short command.
        configure_logs(as_json=False, level="error")
        return open_crawl(None, options.data, create)
    return open_crawl(settings_of(options), options.data, create)


def place_from(options: argparse.Namespace) -> "Folder | Settings":
    """Return the folder that *options* mean, or the settings of the fleet that they mean."""
    settings = settings_of(options)
    if settings.kafka.servers and options.data is None:
        return settings
    return Folder(options.data or DATA)


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


def port(text: str) -> int:
    """Read the number of a TCP port."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port from 1 to 65535")
    return int(text)


def whole(text: str) -> int:
    """Read a whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def natural(text: str) -> int:
    """Read a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)
