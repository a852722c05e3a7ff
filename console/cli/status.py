"""`gossamer status`: how a crawl stands, read from its store and its log.

Whether the processes of a fleet are well is another question: `scripts/fleet status`, or what they
answer at `/readyz`.
"""

import argparse
from collections.abc import Iterator

import msgspec

from console.cli.options import add_crawl, open_from
from console.cli.report import totals
from console.cli.speed import in_force
from console.figures import counts, duration, instant, number, plural
from console.standing import Standing, read_standing
from gossamer import clock
from gossamer.events import CrawlDefined, Party
from gossamer.terminal import json_line, printable
from gossamer.web.url_steps import ALL_STEPS

LONGEST = 5000
"""Characters of a line: a scope may be long."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    add_crawl(command)
    command.add_argument("--json", action="store_true", help="all of it, for programs")


def run(options: argparse.Namespace) -> int:
    """Say how the crawl stands; that it stands still is no failure."""
    with open_from(options) as crawl:
        standing = read_standing(crawl)
    if options.json:
        encoded = msgspec.json.encode(standing.for_programs())
        print(json_line(msgspec.json.format(encoded)))
    else:
        print("\n".join(printable(line, LONGEST) for line in lines(standing, clock.now())))
    return 0


def lines(standing: Standing, now: float) -> Iterator[str]:
    """Yield how the crawl stands a line at a time, in the order in which a person asks."""
    progress = standing.progress
    yield f"{standing.crawl}:"
    if standing.definition:
        yield from _definition(standing.definition)
    yield from _held_back(standing, now)
    yield f"  urls        {progress.admitted:,} admitted, {progress.queued:,} queued"
    if progress.due_count:
        yield f"  waiting     {progress.due_count:,} for a later time; {_due(standing.due_at, now)}"
    duplicates, near = progress.verdicts["duplicate"], progress.verdicts["near_duplicate"]
    yield f"  pages       {progress.pages:,}, {duplicates:,} of them duplicates, {near:,} nearly"
    yield from totals(progress, standing.waiting)
    for group, topics in progress.lags.items():
        if any(topics.values()):
            yield f"  lag     {group}: {counts(topics)}"
    if not any(progress.lag.values()):
        yield "  lag     none"
    if progress.dead_letters:
        letters = plural(progress.dead_letters, "dead letter")
        yield f"  lost        {letters}: gossamer dead-letters list says why"


def _definition(crawl: CrawlDefined) -> Iterator[str]:
    yield f"  crawl       {crawl.crawl}, as defined {instant(crawl.at)}"
    yield f"  scope       {crawl.scope}"
    pages = f", {crawl.max_pages:,} pages beyond {crawl.pages_before:,}" if crawl.max_pages else ""
    budget = f", {number(crawl.budget)} visits a day" if crawl.budget else ""
    yield f"  revisit     {crawl.revisit}{budget}"
    yield f"  limits      {plural(crawl.max_depth, 'link')} deep{pages}"
    if crawl.relevant:
        follow = "followed" if crawl.follow_irrelevant else "not followed"
        yield f"  relevant    {crawl.relevant}; links of other pages are {follow}"
    if crawl.external_links != "deep":
        yield f"  external    links to other sites: {crawl.external_links}"
    for name, party in sorted(crawl.parties.items()):
        yield f"  party       {name}: {spelled(party)}"
    if left_out := [name for name in ALL_STEPS if name not in crawl.url_steps]:
        yield f"  spelling    without {', '.join(left_out)}"


def spelled(party: Party) -> str:
    """Return the limits of *party* in words."""
    depth = "" if party.max_depth is None else f"{plural(party.max_depth, 'link')} deep"
    external = party.external_links and f"links to other sites: {party.external_links}"
    return ", ".join(filter(None, (party.scope, depth, external))) or "the limits of the crawl"


def _held_back(standing: Standing, now: float) -> Iterator[str]:
    if standing.speed.speeds:
        yield f"  speed       {in_force(standing.speed, now)}"
    different = {"site": standing.sites, "host": standing.hosts}
    if said := " and ".join(plural(count, what) for what, count in different.items() if count):
        yield f"  different   {said}: gossamer site lists them"
    if standing.blocked:
        rules = plural(standing.blocked, "rule")
        yield f"  blocklist   {rules}: gossamer blocked lists them"
    if standing.idle:
        go_on = "" if standing.fleet or not standing.definition else ": gossamer crawl goes on"
        yield f"  idle        {standing.idle}{go_on}"


def _due(at: float | None, now: float) -> str:
    if at is None:
        return "none is due within the hour"
    if at > now:
        return f"the first is due at {instant(at)}"
    return f"the oldest has been due for {duration(now - at)}, since {instant(at)}"
