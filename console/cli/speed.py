"""`gossamer speed`: how fast the crawl may go, by weekday and hour, from now on."""

import argparse
import re
from collections.abc import Iterator

from console.cli.options import add_crawl, open_from
from console.figures import instant, number, size
from gossamer import clock
from gossamer.crawl import speed_of
from gossamer.errors import BadSettings
from gossamer.events import Speed, SpeedSet
from gossamer.log.codec import encode
from gossamer.policies import DAY
from gossamer.speed import Speeds, parse_when
from gossamer.terminal import printable

NONE = "none"
LONGEST = 500
"""Characters of a line."""
WEEK = 7 * DAY
PER = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
UNITS = {"": 1, "b": 1, "kb": 1000, "mb": 10**6, "gb": 10**9}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_rate = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)(?:/(s|min|h))?")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "pages",
        nargs="?",
        metavar="PAGES",
        help="visits: 20/s, 100/min, 5000/h, 0 for a standstill, or none for no limit",
    )
    command.add_argument("--bytes", metavar="BYTES", help="bytes: 5MB/s, 500kB/s, or none")
    command.add_argument(
        "--when",
        default="",
        metavar="TIMES",
        help="only then, UTC: 'mon-fri 08:00-18:00', sat,sun, 22:00-06:00 (default: at all other "
        "times)",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Say how fast the crawl may go; before, set what is given."""
    try:
        parse_when(options.when)
    except ValueError as error:
        raise BadSettings(f"--when {error}") from error
    given = _given(options)
    with open_from(options) as crawl:
        event = speed_of(crawl.log)
        if given:
            event = SpeedSet(at=clock.now(), speeds=tuple(_with(event.speeds, given)))
            crawl.log.append([encode(event)])
    print("\n".join(printable(line, LONGEST) for line in lines(event, clock.now())))
    return 0


def _given(options: argparse.Namespace) -> Speed | None:
    if options.pages is None and options.bytes is None:
        if options.when:
            raise BadSettings("--when says only when: how fast, too, such as 20/s, or none")
        return None
    pages = None if options.pages in (None, NONE) else _parsed(options.pages, False)
    data = None if options.bytes in (None, NONE) else _parsed(options.bytes, True)
    return Speed(" ".join(options.when.lower().split()), pages, data)


def _parsed(text: str, is_bytes: bool) -> float:
    found = _rate.fullmatch(text.lower())
    units = UNITS if is_bytes else {"": 1}
    if not found or found[2] not in units:
        examples = "5MB/s, 500kB/s" if is_bytes else "20/s, 100/min, 5000/h"
        raise BadSettings(f"{text}: write {examples} or none")
    return float(found[1]) * units[found[2]] / PER[found[3] or ""]


def _with(speeds: tuple[Speed, ...], given: Speed) -> Iterator[Speed]:
    """Yield *speeds* with what is *given* in its place; what holds always comes last."""
    others = [speed for speed in speeds if parse_when(speed.when) != parse_when(given.when)]
    limited = given.pages is not None or given.bytes is not None
    always = [speed for speed in others if not speed.when]
    timed = [speed for speed in others if speed.when]
    yield from timed
    if given.when and limited:
        yield given
    yield from always
    if not given.when and limited:
        yield given


def lines(event: SpeedSet, now: float) -> Iterator[str]:
    """Yield what is set, and what is in force."""
    always = "at all other times" if len(event.speeds) > 1 else "always"
    for speed in event.speeds:
        yield f"{speed.when or always}: {spelled(speed)}"
    yield f"now: {in_force(event, now)}"


def in_force(event: SpeedSet, now: float) -> str:
    """Return the speed in force, and until when."""
    speeds = Speeds(event)
    speed, until = speeds.at(now), speeds.until(now)
    while until < now + WEEK and speeds.at(until) == speed:
        until = speeds.until(until)
    ends = f", until {instant(until)}" if until < now + WEEK else ""
    return f"{spelled(speed)}{ends}"


def spelled(speed: Speed) -> str:
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
