"""`gossamer speed`: limits pages and bytes a second of the whole crawl, by weekday and hour."""

import argparse
import re
from collections.abc import Iterator

from console.cli.options import add_crawl, open_from
from console.output import say
from gossamer import clock
from gossamer.crawl import speed_of
from gossamer.errors import BadSettings
from gossamer.events import Speed, SpeedSet
from gossamer.log.codec import encode
from gossamer.policies import DAY
from gossamer.speed import Speeds, parse_when
from inspection.figures import instant, number, size

NONE = "none"
WEEK = 7 * DAY
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
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Apply the new limit, and list all limits."""
    try:
        parse_when(options.when)
    except ValueError as error:
        raise BadSettings(f"--when {error}") from error
    limit = _limit(options)
    with open_from(options) as crawl:
        event = speed_of(crawl.log)
        if limit:
            event = SpeedSet(at=clock.now(), speeds=tuple(_with_limit(event.speeds, limit)))
            crawl.log.append([encode(event)])
    for line in lines(event, clock.now()):
        say(line)
    return 0


def _limit(options: argparse.Namespace) -> Speed | None:
    if options.pages is None and options.bytes is None:
        if options.when:
            raise BadSettings("--when needs a limit, too: 20/s, 0 or none")
        return None
    pages = None if options.pages in (None, NONE) else _parse(options.pages, False)
    data = None if options.bytes in (None, NONE) else _parse(options.bytes, True)
    return Speed(" ".join(options.when.lower().split()), pages, data)


def _parse(text: str, is_bytes: bool) -> float:
    found = _rate.fullmatch(text.lower())
    units = BYTE_UNITS if is_bytes else {"": 1}
    if not found or found[2] not in units:
        examples = "5MB/s, 500kB/s" if is_bytes else "20/s, 100/min, 5000/h"
        raise BadSettings(f"{text} is not a speed: write {examples} or none")
    return float(found[1]) * units[found[2]] / SECONDS_PER[found[3] or ""]


def _with_limit(speeds: tuple[Speed, ...], limit: Speed) -> Iterator[Speed]:
    """Yield *speeds* with *limit* in place of the one for the same times; the speed for all other
    times comes last."""
    rest = [speed for speed in speeds if parse_when(speed.when) != parse_when(limit.when)]
    is_limit = limit.pages is not None or limit.bytes is not None
    yield from (speed for speed in rest if speed.when)
    if limit.when and is_limit:
        yield limit
    yield from (speed for speed in rest if not speed.when)
    if not limit.when and is_limit:
        yield limit


def lines(event: SpeedSet, now: float) -> Iterator[str]:
    """Yield all limits, and the active one."""
    always = "at all other times" if len(event.speeds) > 1 else "always"
    for speed in event.speeds:
        yield f"{speed.when or always}: {speed_text(speed)}"
    yield f"now: {active_speed(event, now)}"


def active_speed(event: SpeedSet, now: float) -> str:
    """Return the active speed in words, and until when it holds."""
    speeds = Speeds(event)
    speed, until = speeds.at(now), speeds.until(now)
    while until < now + WEEK and speeds.at(until) == speed:
        until = speeds.until(until)
    ends = f", until {instant(until)}" if until < now + WEEK else ""
    return f"{speed_text(speed)}{ends}"


def speed_text(speed: Speed) -> str:
    """Return *speed* in words."""
    if speed.pages is None and speed.bytes is None:
        return "no limit"
    if 0 in (speed.pages, speed.bytes):
        return "standstill"
    parts = []
    if speed.pages is not None:
        parts.append(f"{number(speed.pages)} pages/s")
    if speed.bytes is not None:
        parts.append(f"{size(speed.bytes)}/s")
    return ", ".join(parts)
