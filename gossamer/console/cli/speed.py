"""`gossamer speed`: limits pages and bytes a second of the whole crawl, by weekday and hour."""

import argparse
import re

from gossamer import clock
from gossamer.changes.speeds import plan_speed, speed_lines
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.options import add_place, open_from
from gossamer.console.output import say_each
from gossamer.crawl import speed_of
from gossamer.errors import BadSettings
from gossamer.events import Speed
from gossamer.speed import parse_when

NONE = "none"
SECONDS_PER = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
BYTE_UNITS = {"": 1, "b": 1, "kb": 1000, "mb": 10**6, "gb": 10**9}
BYTE_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_rate = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)(?:/(s|min|h))?")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "pages",
        nargs="?",
        metavar="PAGES",
        help="pages: 20/s, 100/min, 5000/h, 0 (standstill), or none (no limit)",
    )
    command.add_argument(
        "--bytes", metavar="BYTES", help="bytes: 5MB/s, 500kB/s, or none (no limit)"
    )
    command.add_argument(
        "--when",
        default="",
        metavar="TIMES",
        help="set the limit for these times only, UTC: 'mon-fri 08:00-18:00', sat,sun, "
        "22:00-06:00 (default: all other times)",
    )
    add_change(command, may_expire=True)
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Apply the new limit, and list all limits."""
    try:
        parse_when(options.when)
    except ValueError as error:
        raise BadSettings(f"--when {error}") from error
    limit = _limit(options)
    with open_from(options) as crawl:
        now = clock.now()
        if limit:
            carry_out(crawl, plan_speed(crawl, limit, now), options)
            return 0
        say_each(speed_lines(speed_of(crawl.log), now))
    return 0


def _limit(options: argparse.Namespace) -> Speed | None:
    if options.pages is None and options.bytes is None:
        if options.when:
            raise BadSettings("--when needs a limit, too: 20/s, 0 or none")
        return None
    pages = None if options.pages in (None, NONE) else _parse(options.pages, False)
    data = None if options.bytes in (None, NONE) else _parse(options.bytes, True)
    return Speed(options.when, pages, data)


def _parse(text: str, is_bytes: bool) -> float:
    found = _rate.fullmatch(text.lower())
    units = BYTE_UNITS if is_bytes else {"": 1}
    if not found or found[2] not in units:
        examples = "5MB/s, 500kB/s" if is_bytes else "20/s, 100/min, 5000/h"
        raise BadSettings(f"{text} is not a speed: write {examples} or none")
    return float(found[1]) * units[found[2]] / SECONDS_PER[found[3] or ""]
