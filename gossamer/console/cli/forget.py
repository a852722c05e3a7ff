"""`gossamer forget`: erases everything about a URL, a host or a site, as its owner may demand."""

import argparse

from gossamer import clock
from gossamer.console.cli.changing import add_change, is_confirmed, request_of, user_name
from gossamer.console.cli.options import add_place, open_from
from gossamer.console.output import BOLD, YELLOW, say, say_each
from gossamer.errors import BadSettings
from gossamer.events import ErasureRequested
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.erasures import read_erasures
from gossamer.procedures.erase import erase, make_request


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "target",
        nargs="?",
        metavar="URL|HOST|SITE",
        help="a URL with its path, a host by its scheme (https://www.example.org), or a site with "
        "all of its hosts (example.org)",
    )
    command.add_argument("--forever", action="store_true", help="also add it to the blocklist")
    command.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    command.add_argument("--list", action="store_true", help="list earlier erasures")
    add_change(command)
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Erase the target, or list earlier erasures."""
    if options.list == bool(options.target):
        raise BadSettings("name a URL, a host or a site, or use --list")
    with open_from(options) as crawl:
        if options.list:
            return _list(crawl)
        event = make_request(crawl, options.target, user_name(), clock.now())
        if not (options.yes or options.dry_run or is_confirmed(_question(event))):
            say("Nothing was erased.", YELLOW)
            return 1
        if options.dry_run:
            say("Dry run: nothing is changed. Without --dry-run:", BOLD)
        request = request_of(options)
        effect = erase(crawl, event, request, options.forever, options.dry_run).effect
    say(f"{effect.text} gossamer forget --list shows when it is done.")
    say_each(effect.lines)
    return 0


def _question(event: ErasureRequested) -> str:
    kind = "the URL" if event.url else "the host" if event.host else "the site"
    return f"Erase everything about {kind} {event.target}?"


def _list(crawl: OpenCrawl) -> int:
    found = read_erasures(crawl)
    if not found:
        say("No erasures so far. A request is listed when the first service handles it.")
    for one in found:
        erased = ", ".join(f"{name} {count}" for name, count in sorted(one.rows.items()))
        waiting = ", ".join(one.waiting_for)
        state = f"being erased by {waiting}" if waiting else "erased"
        say(
            f"{instant(one.at)}  {one.target}  {state}, requested by {one.requested_by}: "
            f"{erased or 'no rows yet'}"
        )
    return 0
