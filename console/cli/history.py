"""`gossamer history URL`: the visits to a URL, and how much the page had changed."""

import argparse
from collections.abc import Iterator

import msgspec

from console.cli.options import add_crawl, open_from, positive
from console.figures import instant
from console.labels import outcome_label, plain_reason
from console.open_crawl import OpenCrawl
from console.output import RED, YELLOW, say
from console.url_forms import crawl_form
from gossamer.events import Verdict
from gossamer.events.outcomes import FAILURES
from gossamer.terminal import json_line
from services.frontier.rows import HistoryRow

READ_ROWS = 100
"""Rows that are read at once."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("url", metavar="URL")
    command.add_argument("--limit", type=positive, metavar="N", help="only the newest N visits")
    command.add_argument("--json", action="store_true", help="one JSON object a line")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """List the visits, newest first. Return 1 if the list is empty."""
    with open_from(options) as crawl:
        url, count = crawl_form(crawl, options.url).url, 0
        for row in visits(crawl, url):
            if count == options.limit:
                break
            count += 1
            if options.json:
                print(json_line(msgspec.json.encode(row)))
            else:
                say(_line(row), RED if row.outcome in FAILURES else "")
    if not count and not options.json:
        say(f"{url} was never visited: gossamer why {url} explains", YELLOW)
    return 0 if count else 1


def visits(crawl: OpenCrawl, url: str) -> Iterator[HistoryRow]:
    """Yield the visits to *url*, newest first."""
    table, before = crawl.store().table(HistoryRow), None
    while rows := table.scan((crawl.id, url), before, READ_ROWS):
        yield from rows
        before = rows[-1].at


def _line(row: HistoryRow) -> str:
    label, reason = outcome_label(row.outcome, row.status), plain_reason(row.reason)
    return "  ".join(filter(None, (instant(row.at), label, _finding(row), reason)))


def _finding(row: HistoryRow) -> str:
    if row.verdict == Verdict.CHANGED:
        return f"changed by {max(1, round(100 * (row.change or 0.0)))} %"
    if row.redirects_to:
        return f"redirects to {row.redirects_to}"
    verdict = row.verdict.replace("_", "-")
    return f"{verdict} of {row.duplicate_of}" if row.duplicate_of else verdict
