"""`gossamer audit`: who changed what, when and why."""

import argparse
from collections.abc import Iterable, Iterator
from typing import get_args

from gossamer.changes.plan import Action
from gossamer.console.cli.options import add_crawl, add_listing, open_from, parse_time
from gossamer.console.output import BOLD, print_json, say
from gossamer.events import ChangeRecorded
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.audit import (
    ChangeFilter,
    iterate_changes,
    search_changes,
    setting_lines,
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "subject",
        nargs="?",
        default="",
        metavar="TEXT",
        help="only changes of a host, site, rule, URL or crawl whose name contains TEXT",
    )
    command.add_argument(
        "--actor", default="", metavar="NAME", help="only changes by NAME: ann@laptop, or ann"
    )
    command.add_argument(
        "--action",
        default="",
        choices=get_args(Action),
        metavar="KIND",
        help=f"only changes of this kind: {', '.join(get_args(Action))}",
    )
    command.add_argument(
        "--since",
        type=parse_time,
        default=0.0,
        metavar="TIME",
        help="only changes since TIME, such as 2026-11-22 or 2026-11-22T08:00 in UTC",
    )
    command.add_argument(
        "--follow", action="store_true", help="continue with new changes until Ctrl-C"
    )
    add_listing(command, "changes, the newest ones")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Print the chosen changes, the newest last; return 1 if there is none."""
    chosen = ChangeFilter(
        actor=options.actor,
        action=options.action,
        subject=options.subject,
        crawl=options.crawl or "",
        since=options.since,
    )
    with open_from(options) as crawl:
        page = search_changes(crawl, chosen, options.limit)
        _print(reversed(page.items), options.json)
        if options.follow:
            newest = page.items[0].id if page.items else ""
            changes = iterate_changes(crawl.log, chosen, follow=True)
            _print((change for change in changes if change.id > newest), options.json)
    if not page.items and not options.json:
        say("No change is recorded." if chosen == ChangeFilter() else "No change matches.")
    elif page.next and not options.json:
        say(f"Older changes are not shown: --limit, now {options.limit}, shows more.")
    return 0 if page.items else 1


def _print(changes: Iterable[ChangeRecorded], as_json: bool) -> None:
    for change in changes:
        if as_json:
            print_json(change)
            continue
        first, *more = lines(change)
        say(first, BOLD)
        for line in more:
            say(f"  {line}")


def lines(change: ChangeRecorded) -> Iterator[str]:
    """Yield *change* in words."""
    yield f"{instant(change.at)}  {change.actor}  {change.action} {change.subject}".rstrip()
    if change.reason:
        yield f"reason: {change.reason}"
    if change.expires_at is not None:
        yield f"until {instant(change.expires_at)}"
    if change.effect:
        yield change.effect
    yield from setting_lines(change)
    if change.source != "command line":
        role = f" as {change.role}" if change.role else ""
        address = f", from {change.address}" if change.address else ""
        yield f"by {change.source}{role}{address}"
