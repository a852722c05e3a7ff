"""`gossamer usage URL|SITE`: the permitted uses of a page at a time, with the archived evidence."""

import argparse
from collections.abc import Iterator

from gossamer import clock
from gossamer.console.cli.options import add_crawl, open_from, parse_time
from gossamer.console.output import BOLD, GREEN, RED, YELLOW, print_items, print_json, say
from gossamer.inspection.archive.usage import (
    ArchivedFile,
    CategoryUsage,
    CitedStatement,
    UsageAt,
    read_usage,
)
from gossamer.inspection.basics.figures import instant

WORDS = {True: "allowed", False: "disallowed", None: "unknown"}
STYLES = {True: GREEN, False: RED, None: YELLOW}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("target", metavar="URL|SITE")
    command.add_argument(
        "--at",
        type=parse_time,
        metavar="TIME",
        help="what was allowed then, such as 2026-11-22 or 2026-11-22T08:00 in UTC (default: now)",
    )
    command.add_argument("--json", action="store_true", help="one JSON object a line, with files")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Print each URL, its categories, and the archived responses."""
    at = clock.now() if options.at is None else options.at
    with open_from(options) as crawl:
        found = read_usage(crawl, options.target, at)
    for one in found:
        if options.json:
            print_json(one)
            continue
        say(f"{one.url} at {instant(one.at)}", BOLD)
        for name, category in one.categories.items():
            answer = f"{name}: {WORDS[category.allowed]}"
            say(answer, STYLES[category.allowed], "  ", "    ")
            for line in _reasons(category, one):
                say(line, "", "    ", "      ")
        print_items(_evidence(one))
    return 0


def _reasons(category: CategoryUsage, found: UsageAt) -> Iterator[str]:
    if not category.by:
        page = ", and the page itself is not archived" if found.not_archived else ""
        yield f"no archived statement is about it{page}"
    for one in category.by:
        yield f"by {_cite(one)}"
        if one.statement.license and one.statement.license.payment:
            payment = one.statement.license.payment
            yield "payment: " + ", ".join(f"{name} {value}" for name, value in payment.items())


def _cite(one: CitedStatement) -> str:
    statement = one.statement
    return (
        f"{statement.source} as fetched at {instant(one.fetched_at)}: {statement.place}: "
        f"{statement.text}"
    )


def _evidence(found: UsageAt) -> Iterator[str]:
    visit = {True: "allowed", False: "disallowed", None: "not known"}[found.visit_allowed]
    yield f"visit: {visit}: {found.visit_rule}"
    silent = [one for one in found.statements if not one.statement.says]
    yield from (f"also stated, about no category: {_cite(one)}" for one in silent)
    yield from map(_file, found.files)
    if found.not_archived_at is not None:
        yield (
            f"page: fetched {instant(found.not_archived_at)}, but not archived: "
            f"{found.not_archived}"
        )
    elif not any(one.kind == "page" for one in found.files):
        yield "page: not archived until then, so its headers are not known"


def _file(one: ArchivedFile) -> str:
    fault = f"; {one.fault}" if one.fault else ""
    place = f"{one.file} at byte {one.offset}"
    return f"{one.kind}: {one.url}, {one.status}, {instant(one.fetched_at)}, in {place}{fault}"
