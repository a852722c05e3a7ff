"""`gossamer history URL`: the visits to a URL, and what had changed at each."""

import argparse
from collections.abc import Iterator

import msgspec

from console.cli.options import add_crawl, natural, open_from
from console.figures import instant
from console.open_crawl import OpenCrawl
from console.spelling import known
from gossamer.events import Verdict
from gossamer.terminal import json_line, printable
from services.frontier.rows import HistoryRow

LONGEST = 5000
"""Characters of a line: longer than two URLs can be."""
PAGE = 100


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument("url", metavar="URL")
    command.add_argument("--most", type=natural, metavar="N", help="the newest N alone")
    command.add_argument("--json", action="store_true", help="a visit a line, as JSON")
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """List them, the newest first."""
    with open_from(options) as crawl:
        url, count = known(crawl, options.url).url, 0
        for row in visits(crawl, url):
            if count == options.most:
                break
            count += 1
            print(json_line(msgspec.json.encode(row)) if options.json else _line(row))
    if not count and not options.json:
        print(printable(f"{url} was not visited: gossamer why {url}", LONGEST))
    return 0 if count else 1


def visits(crawl: OpenCrawl, url: str) -> Iterator[HistoryRow]:
    """Yield the visits to *url*, the newest first."""
    table, before = crawl.store().table(HistoryRow), None
    while rows := table.scan((crawl.id, url), before, PAGE):
        yield from rows
        before = rows[-1].at


def _line(row: HistoryRow) -> str:
    parts = [instant(row.at), f"{row.outcome} {row.status or ''}".strip(), _said(row), row.reason]
    return printable("  ".join(part for part in parts if part), LONGEST)


def _said(row: HistoryRow) -> str:
    if row.verdict == Verdict.CHANGED:
        return f"changed by {max(1, round(100 * (row.change or 0.0)))} %"
    if row.redirects_to:
        return f"redirects to {row.redirects_to}"
    return f"{row.verdict} of {row.duplicate_of}" if row.duplicate_of else row.verdict
