"""`gossamer fetch`: requests visits to URLs before all others, and prints what they bring.

The frontier of each host queues the URLs first, and keeps the delay of the host.
"""

import argparse
from collections.abc import Sequence

from gossamer import clock
from gossamer.changes.commit import commit
from gossamer.changes.plan import Effect
from gossamer.changes.retries import plan_fetch
from gossamer.console.cli.changing import add_change, carry_out, request_of
from gossamer.console.cli.options import add_crawl, open_from, seconds
from gossamer.console.cli.show import print_text
from gossamer.console.output import BOLD, GREEN, RED, YELLOW, print_error, print_json, say
from gossamer.errors import BadSettings
from gossamer.inspection.answers.fetched import (
    Before,
    Fetched,
    has_ended,
    is_complete,
    note_before,
    read_fetched,
)
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form

DEFAULT_WAIT = 30.0
POLL_INTERVAL = 0.2
"""Seconds between two readings of the rows of the URLs."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("urls", nargs="+", metavar="URL")
    command.add_argument(
        "--wait",
        nargs="?",
        type=seconds,
        const=DEFAULT_WAIT,
        metavar="TIME",
        help="wait for the documents, at most TIME (default: 30s), and print them",
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="print only the main texts")
    form.add_argument("--json", action="store_true", help="print one JSON object for each URL")
    add_change(command)
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Request the visits; return 1 if a URL is refused, or, with `--wait`, was not fetched."""
    if (options.text or options.json) and options.wait is None:
        raise BadSettings("--text and --json print documents, which come with --wait")
    with open_from(options) as crawl:
        before = note_before(
            crawl, [*dict.fromkeys(crawl_form(crawl, text).url for text in options.urls)]
        )
        effect = _request(crawl, options)
        if options.wait is None or options.dry_run:
            return int(not effect.count)
        refused = {line.partition(": ")[0] for line in effect.refused}
        before = [one for one in before if one.url not in refused]
        if before and crawl.is_running() is False:
            say(f"No crawl runs in {crawl.name}: gossamer crawl fetches them first.", YELLOW)
            return 1
        found = wait_for(crawl, before, options.wait)
        for one in found:
            _print(one, options)
    return int(bool(refused) or not all(one.is_fetched for one in found))


def _request(crawl: OpenCrawl, options: argparse.Namespace) -> Effect:
    plan = plan_fetch(crawl, options.urls, clock.now())
    if (options.text or options.json) and not options.dry_run:
        # Standard output is for the documents.
        effect = commit(crawl.log, plan, request_of(options), clock.now()).effect
        for line in effect.refused:
            print_error("gossamer", line)
        return effect
    effect = carry_out(crawl, plan, options)
    if effect.count:
        say(effect.text)
    return effect


def wait_for(crawl: OpenCrawl, before: Sequence[Before], wait: float) -> list[Fetched]:
    """Return what the requests for the URLs *before* have brought, after *wait* seconds at most."""
    until, found = clock.steady() + wait, dict[str, Fetched]()
    while True:
        is_last = clock.steady() >= until
        for one in before:
            is_awaited = one.url not in found or not is_complete(found[one.url])
            if is_awaited and (is_last or has_ended(crawl, one)):
                found[one.url] = read_fetched(crawl, one)
        if is_last or (len(found) == len(before) and all(map(is_complete, found.values()))):
            return [found[one.url] for one in before]
        clock.pause(min(POLL_INTERVAL, max(0.0, until - clock.steady())))


def _print(found: Fetched, options: argparse.Namespace) -> None:
    if options.json:
        print_json(found)
        return
    if not options.text:
        say(found.url, BOLD)
        style = GREEN if found.is_fetched else RED if found.has_ended else YELLOW
        say(found.answer, style)
    if found.document:
        print_text(found.document)
    elif not options.text and (fault := found.fault or _missing_text(found)):
        say(fault, YELLOW)


def _missing_text(found: Fetched) -> str:
    """Return why there is no document yet, or what to do next; "" for a failure."""
    if not found.has_ended:
        return "The request stays in force: gossamer why URL shows when it is fulfilled."
    if found.redirects_to and not found.is_fetched:
        return "gossamer fetch fetches the target of the redirect, too."
    return (
        "Its page is not archived yet: gossamer show URL prints it then."
        if found.is_fetched
        else ""
    )
