"""Options that several commands share: the place of the crawl, and the values of options."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from gossamer.console.output import print_error
from gossamer.crawl import (
    decode_list,
    read_seed_list,
    read_seeds,
)
from gossamer.errors import BadSettings
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import DEFAULT_FOLDER, OpenCrawl, open_crawl
from gossamer.policies import duration_of
from gossamer.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from gossamer.settings import Nested, Settings

SETTINGS_PREFIX = "GOSSAMER_"
"""The prefix of environment variables that are settings."""


def names(text: str) -> tuple[str, ...]:
    """Read a list of names, separated by commas; "" is an empty list."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def non_negative(text: str) -> int:
    """Read a whole number ≥ 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number ≥ 0")
    return int(text)


LISTED_SEEDS = 20
"""Invalid lines of a list of seeds that a command names."""
LISTED_ITEMS = 50
"""Items that a command lists by default."""


def add_data(command: argparse.ArgumentParser) -> None:
    """Add `--data` to *command*."""
    command.add_argument(
        "--data",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="the crawl's folder (default: gossamer-data)",
    )


def folder_of(options: argparse.Namespace) -> Folder:
    """Return the folder that *options* name, or the default one."""
    return Folder(options.data or DEFAULT_FOLDER)


def add_config(command: argparse.ArgumentParser) -> None:
    """Add `--config` to *command*."""
    command.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML")


def settings_of(options: argparse.Namespace, overrides: "Nested | None" = None) -> "Settings":
    """Return the settings of a command, and configure its logs."""
    from gossamer.settings import load_settings

    settings = load_settings(options.config, overrides)
    data = getattr(options, "data", None)
    is_fleet = data is None and bool(settings.kafka.servers)
    if not is_fleet and (profile := Folder(data or DEFAULT_FOLDER).profile()):
        settings = load_settings(options.config, overrides, profile)
    logs = settings.logs
    # Warnings of libraries are harmless, or become an error of this command.
    configure_logs(logs.json_lines, logs.level if "level" in logs.model_fields_set else "error")
    return settings


def add_crawl(command: argparse.ArgumentParser) -> None:
    """Add the options for a crawl and its place to *command*, which concerns one crawl."""
    add_place(command)
    command.add_argument(
        "--crawl", metavar="ID", help="the crawl, if the folder or fleet has several"
    )


def add_place(command: argparse.ArgumentParser) -> None:
    """Add the options for a folder or a fleet to *command*, which concerns all its crawls."""
    add_config(command)
    command.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="the crawl's folder (default: the fleet of kafka.servers, if that is set, or else "
        "gossamer-data)",
    )


def add_listing(command: argparse.ArgumentParser, items: str) -> None:
    """Add the options of a command that lists *items*."""
    command.add_argument(
        "--limit",
        type=positive,
        default=LISTED_ITEMS,
        metavar="N",
        help=f"at most N {items} (default: {LISTED_ITEMS})",
    )
    command.add_argument("--json", action="store_true", help="one JSON object a line")


def add_output(command: argparse.ArgumentParser) -> None:
    """Add the option for the file that a command writes."""
    command.add_argument(
        "--output", metavar="FILE", help="write to FILE instead of standard output"
    )


@contextmanager
def open_output(options: argparse.Namespace) -> Iterator[BinaryIO]:
    """Yield the file of `--output`, or standard output; raise BadSettings if it cannot be
    written."""
    if options.output is None:
        yield sys.stdout.buffer
        return
    try:
        with open(options.output, "wb") as file:
            yield file
    except OSError as error:
        raise BadSettings(f"--output {options.output} cannot be written: {error}") from error


def add_search(command: argparse.ArgumentParser, columns: type[StrEnum], usual: StrEnum) -> None:
    """Add the options that choose and sort the items of a list by one of *columns*."""
    command.add_argument(
        "--search", default="", metavar="TEXT", help="only those whose names contain TEXT"
    )
    command.add_argument(
        "--sort",
        choices=[column.value for column in columns],
        default=usual.value,
        help=f"the column that sorts the list, large values first (default: {usual})",
    )
    command.add_argument("--ascending", action="store_true", help="small values come first")


def open_from(
    options: argparse.Namespace, create: bool = False
) -> AbstractContextManager[OpenCrawl]:
    """Open the crawl that *options* name. With *create*, a missing folder is created, or, for a dry
    run, an empty one in its place that is deleted at the end."""
    folder, named, settings = folder_of(options), getattr(options, "crawl", None), None
    is_given = any(name.startswith(SETTINGS_PREFIX) for name in os.environ)
    if options.config is None and not is_given and not folder.profile():
        # No setting is given: importing the settings takes longer than the rest of a short command.
        configure_logs(as_json=False, level="error")
    else:
        settings = settings_of(options)
    is_fleet = options.data is None and settings is not None and bool(settings.kafka.servers)
    if create and options.dry_run and not (is_fleet or folder.database.exists()):
        return _open_empty(settings, folder, named)
    return open_crawl(settings, options.data, create, named)


@contextmanager
def _open_empty(
    settings: "Settings | None", missing: Folder, named: str | None
) -> Iterator[OpenCrawl]:
    """Open an empty folder under the name of a *missing* one, and delete it at the end."""
    with TemporaryDirectory() as path, open_crawl(settings, Path(path), True, named) as crawl:
        yield replace(crawl, name=str(missing.path))


def place_from(options: argparse.Namespace) -> "Folder | Settings":
    """Return the folder, or the settings of the fleet, that *options* name."""
    settings = settings_of(options)
    if settings.kafka.servers and options.data is None:
        return settings
    return folder_of(options)


def lines_of(arguments: Sequence[str], file: str | None, option: str) -> list[str]:
    """Return *arguments* and the lines of *file*, if one is named; - is standard input."""
    lines = list(arguments)
    try:
        if file == "-":
            lines += decode_list(sys.stdin.buffer.read()).splitlines()
        elif file:
            lines += decode_list(Path(file).read_bytes()).splitlines()
    except OSError as error:
        raise BadSettings(f"{option} {file} cannot be read: {error}") from error
    return lines


def add_strict_seeds(command: argparse.ArgumentParser) -> None:
    """Add the option that refuses a list of seeds with an invalid line."""
    command.add_argument(
        "--strict-seeds",
        action="store_true",
        help="refuse a list of seeds in which a line is not a URL, instead of skipping the line",
    )


def seeds_of(options: argparse.Namespace, file: str | None, option: str) -> tuple[str, ...]:
    """Return the seeds of the arguments and of *file*, which *option* names: a list, a sitemap, a
    WACZ file, a zone of the DNS or the folder of a crawl (`gossamer.console.seed_files`).

    Invalid lines of the file are reported and skipped. Raise BadSettings for an invalid argument,
    and for a file with invalid lines if `--strict-seeds` is given or no seed is left.
    """
    arguments = read_seeds(options.seeds)
    source = "standard input" if file == "-" else str(file)
    listed = read_seed_list(_seed_lines(file, option), f"{source}, line")
    seeds = tuple(dict.fromkeys((*arguments, *listed.seeds)))
    report_invalid_seeds(listed.invalid, options.strict_seeds or not seeds)
    return seeds


def _seed_lines(file: str | None, option: str) -> Sequence[str]:
    if not file:
        return ()
    # It imports the readers of the files, which most commands do not need.
    from gossamer.console.seed_files import read_seed_lines, split_seed_lines

    try:
        if file == "-":
            return split_seed_lines(sys.stdin.buffer.read())
        return read_seed_lines(Path(file))
    except OSError as error:
        raise BadSettings(f"{option} {file} cannot be read: {error}") from error


def report_invalid_seeds(invalid: Sequence[str], is_refused: bool) -> None:
    """Print the messages *invalid* of skipped seeds on stderr, or raise BadSettings with them."""
    shown = [*invalid[:LISTED_SEEDS]]
    if (more := len(invalid) - LISTED_SEEDS) > 0:
        shown.append(f"and {more:,} more lines")
    if invalid and is_refused:
        raise BadSettings("\n".join(shown))
    if invalid:
        skipped = f"{plural(len(invalid), 'line')} skipped: --strict-seeds refuses such a list"
        print_error("gossamer", "\n".join((*shown, skipped)))


def seconds(text: str) -> float:
    """Read `90`, `90s`, `15m`, `2h` or `1d` as seconds."""
    try:
        return duration_of(f"{text}s" if text[-1:].isdecimal() else text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration: write 90, 90s, 15m, 2h or 1d"
        ) from None


def add_port(command: argparse.ArgumentParser, default: int) -> None:
    """Add the option for the port of a server on loopback."""
    command.add_argument(
        "--port",
        type=port,
        default=default,
        metavar="N",
        help=f"serve at 127.0.0.1:N (default: {default})",
    )


def port(text: str) -> int:
    """Read a TCP port."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 1 to 65535")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number ≥ 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number ≥ 1")
    return int(text)


def parse_time(text: str) -> float:
    """Return the epoch seconds of an ISO 8601 time, in UTC unless it has an offset."""
    try:
        found = datetime.fromisoformat(text.strip().removesuffix(" UTC"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time: write 2026-11-22 or 2026-11-22T08:00:00"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
