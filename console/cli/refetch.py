"""`gossamer refetch`: has URLs visited again now, however they fared and whenever they are due.

It only asks, on the log; the frontier that has the host queues them, and the host's delay is kept.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from console.cli.options import add_crawl, open_from, seconds
from console.figures import plural
from console.open_crawl import OpenCrawl
from console.spelling import known
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.events import Outcome, RefetchRequested
from gossamer.log.codec import encode
from gossamer.terminal import printable
from gossamer.web.url import host_key, site_of
from services.frontier.rows import UrlRow

MOST = 1000
"""URLs of an event, and events that are appended at once."""
LONGEST = 5000
"""Characters of a line: longer than two URLs can be."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument("urls", nargs="*", metavar="URL", help="a URL that was visited before")
    command.add_argument(
        "--where",
        metavar="outcome=OUTCOME",
        help="all URLs whose last outcome is this; reads the whole table of URLs",
    )
    command.add_argument(
        "--older-than",
        type=seconds,
        metavar="TIME",
        help="all URLs whose last visit is so long ago: 7d, 12h; alone or with --where",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Ask, and say what comes of it."""
    some = options.where is not None or options.older_than is not None
    if bool(options.urls) == some:
        raise BadSettings("name URLs, or which ones with --where and --older-than")
    outcome = _outcome(options.where) if options.where is not None else None
    with open_from(options) as crawl:
        if options.urls:
            return 0 if _ask(crawl, _named(crawl, options.urls)) else 1
        before = clock.now() - (options.older_than or 0.0)
        count = _ask(crawl, _chosen(crawl, outcome, before))
        if not count:
            print("Of all that were visited, no URL is like that.")
        return 0 if count else 1


def _outcome(text: str) -> Outcome:
    name, _, value = text.partition("=")
    if name != "outcome" or value not in set(Outcome):
        raise BadSettings(f"--where {text}: outcome=NAME, and NAME is one of {', '.join(Outcome)}")
    return Outcome(value)


def _named(crawl: OpenCrawl, urls: list[str]) -> Iterator[UrlRow]:
    """Yield the rows of *urls*; say of those that were never visited that they were not."""
    for url in [known(crawl, text).url for text in urls]:
        row = crawl.store().table(UrlRow).get((crawl.id, host_key(url)), url)
        if row and _was_visited(row):
            yield row
        else:
            print(printable(f"{url} was not visited: gossamer seed asks for it", LONGEST))


def _chosen(crawl: OpenCrawl, outcome: Outcome | None, before: float) -> Iterator[UrlRow]:
    for row in crawl.store().table(UrlRow).everything():
        is_meant = row.crawl == crawl.id and outcome in (None, row.outcome)
        if is_meant and _was_visited(row) and row.at <= before:
            yield row


def _was_visited(row: UrlRow) -> bool:
    return bool(row.earlier or row.attempt)


def _ask(crawl: OpenCrawl, chosen: Iterable[UrlRow]) -> int:
    count, asked = 0, _events(crawl, chosen)
    while batch := list(islice(asked, MOST)):
        crawl.log.append([encode(event) for event in batch])
        count += sum(len(event.urls) for event in batch)
    if count:
        print(f"{plural(count, 'URL')} to be visited again, as the delays of their hosts allow.")
        if not crawl.fleet:
            print("That is done by the crawl that runs on it, or by the next gossamer crawl.")
    return count


def _events(crawl: OpenCrawl, chosen: Iterable[UrlRow]) -> Iterator[RefetchRequested]:
    for key, rows in groupby(chosen, key=lambda row: row.host):
        while urls := tuple(row.url for row in islice(rows, MOST)):
            site = site_of(f"{key}/")
            yield RefetchRequested(crawl=crawl.id, at=clock.now(), site=site, host=key, urls=urls)
