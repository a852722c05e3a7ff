"""`gossamer refetch`: requests new visits to URLs now, whatever their plans and last outcomes.

The requests go to the log. The frontier of each host queues them and keeps the host's delay.
"""

import argparse

from gossamer import clock
from gossamer.changes.retries import describe_fetch, plan_refetch, plan_refetch_of
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.options import add_crawl, open_from, seconds
from gossamer.console.cli.retry import add_outcome, outcome
from gossamer.console.output import YELLOW, say
from gossamer.errors import BadSettings
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.urls.visits import OUTCOME_NAMES


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("urls", nargs="*", metavar="URL", help="a URL that was visited before")
    add_outcome(command, outcome, OUTCOME_NAMES)
    command.add_argument(
        "--older-than",
        type=seconds,
        metavar="TIME",
        help="all URLs whose last visit is older: 7d, 12h; alone or with --outcome",
    )
    add_change(command)
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Request the visits. Return 1 if no URL matches."""
    has_filter = options.outcome is not None or options.older_than is not None
    if bool(options.urls) == has_filter:
        raise BadSettings("name URLs, or choose them with --outcome and --older-than")
    with open_from(options) as crawl:
        now, older_than = clock.now(), options.older_than or 0.0
        if options.urls:
            plan = plan_refetch(crawl, options.urls, now)
        else:
            plan = plan_refetch_of(crawl, options.outcome, older_than, now)
        count = carry_out(crawl, plan, options).count
    if count:
        say(f"{plural(count, 'URL')} to be fetched again, {describe_fetch(crawl)}.")
    elif not options.urls:
        say("No visited URL matches: nothing to fetch again.", YELLOW)
    return 0 if count else 1
