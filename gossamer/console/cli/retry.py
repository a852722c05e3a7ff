"""`gossamer retry`: retries hosts that back off after a failure, and URLs that failed, now.

The requests go to the log. The frontier of each host carries them out: see
`gossamer.services.frontier.steps.admission`.
"""

import argparse
from collections.abc import Callable

from gossamer import clock
from gossamer.changes.retries import describe_retry, plan_retry, plan_retry_of
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.options import add_crawl, open_from
from gossamer.console.output import YELLOW, say
from gossamer.errors import BadSettings
from gossamer.events.outcomes import FAILURES
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.urls.visits import OutcomeFilter, parse_outcome

FAILURE_NAMES = ", ".join(str(outcome).replace("_", "-") for outcome in FAILURES)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "targets",
        nargs="*",
        metavar="HOST|URL",
        help="a host (www.example.org, http://localhost:8000), or a URL with its path",
    )
    add_outcome(command, _failure, FAILURE_NAMES)
    add_change(command)
    add_crawl(command)


def add_outcome(
    command: argparse.ArgumentParser, read: Callable[[str], OutcomeFilter], names: str
) -> None:
    """Add the option that chooses URLs by their last outcome: a status code, or one of *names*."""
    command.add_argument(
        "--outcome",
        type=read,
        metavar="OUTCOME",
        help="all URLs with this last outcome: a status code (404, 429, 5xx) or one of "
        f"{names}; reads the whole table of URLs",
    )


def outcome(text: str) -> OutcomeFilter:
    """Read a status code, a class of status codes, or the name of an outcome."""
    try:
        return parse_outcome(text)
    except BadSettings as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _failure(text: str) -> OutcomeFilter:
    """Read an outcome that is a failure."""
    chosen = outcome(text)
    if chosen.outcome is not None and chosen.outcome not in FAILURES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a failure: give a status code (404, 429, 5xx) or one of "
            f"{FAILURE_NAMES}; gossamer refetch fetches other URLs again"
        )
    return chosen


def run(options: argparse.Namespace) -> int:
    """Request the retries; return 1 if there is nothing to retry."""
    if bool(options.targets) == bool(options.outcome):
        raise BadSettings("name hosts or URLs, or choose URLs with --outcome")
    with open_from(options) as crawl:
        if options.outcome:
            return _retry_outcome(crawl, options)
        effect = carry_out(crawl, plan_retry(crawl, options.targets, clock.now()), options)
    if effect.count:
        say(effect.text)
    return 0 if effect.count else 1


def _retry_outcome(crawl: OpenCrawl, options: argparse.Namespace) -> int:
    chosen: OutcomeFilter = options.outcome
    count = carry_out(crawl, plan_retry_of(crawl, chosen, clock.now()), options).count
    if not count:
        say(f"No URL has the last outcome {chosen.text}: nothing to retry.", YELLOW)
        return 1
    say(f"{plural(count, 'URL')} with the last outcome {chosen.text} to be retried.")
    say(describe_retry(crawl))
    return 0
