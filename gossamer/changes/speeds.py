"""Changes of the rate limits, and their words."""

from collections.abc import Iterator, Sequence

import msgspec

from gossamer.changes.plan import Effect, Plan, setting_plan
from gossamer.crawl import speed_of
from gossamer.errors import BadSettings
from gossamer.events import Speed, SpeedSet
from gossamer.inspection.basics.figures import instant, number, size
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.policies import DAY
from gossamer.speed import Speeds, parse_when

WEEK = 7 * DAY


def plan_speed(crawl: OpenCrawl, limit: Speed, now: float) -> Plan:
    """Return the plan that sets *limit* for its times, and keeps the limits of all other times.

    A limit without any number removes the one for the same times.
    """
    return plan_speeds(crawl, replace_limit(speed_of(crawl.log).speeds, check_limit(limit)), now)


def plan_speeds(crawl: OpenCrawl, speeds: Sequence[Speed], now: float) -> Plan:
    """Return the plan that replaces all limits by *speeds*, the first of which has precedence."""
    before = speed_of(crawl.log)
    after = SpeedSet(at=now, speeds=tuple(map(check_limit, speeds)))
    lines = tuple(speed_lines(after, now))
    effect = Effect(text=f"{'; '.join(lines)} (before: {active_speed(before, now)}).", lines=lines)
    return setting_plan(crawl.log, "speed", "", [before], [after], effect)


def check_limit(limit: Speed) -> Speed:
    """Return *limit* with its times in their usual form; raise BadSettings if it is invalid."""
    try:
        parse_when(limit.when)
        msgspec.convert(msgspec.to_builtins(limit), Speed)
    except ValueError as error:
        raise BadSettings(f"the limit for {limit.when or 'all times'}: {error}") from error
    return Speed(" ".join(limit.when.lower().split()), limit.pages, limit.bytes)


def replace_limit(speeds: tuple[Speed, ...], limit: Speed) -> list[Speed]:
    """Return *speeds* with *limit* in place of the one for the same times; the speed for all other
    times comes last."""
    rest = [speed for speed in speeds if parse_when(speed.when) != parse_when(limit.when)]
    is_limit = limit.pages is not None or limit.bytes is not None
    return sorted([*rest, limit] if is_limit else rest, key=lambda speed: not speed.when)


def speed_lines(event: SpeedSet, now: float) -> Iterator[str]:
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
