"""`gossamer refetch`: requests new visits to URLs now, whatever their plans and last outcomes.

The requests go to the log. The frontier of each host queues them and keeps the host's delay.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from console.cli.options import add_crawl, open_from, seconds
from console.figures import plural
from console.open_crawl import OpenCrawl
from console.outcome_filter import NAMES, matching_urls, parse_outcome
from console.output import YELLOW, say
from console.url_forms import crawl_form
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.events import Outcome, RefetchRequested
from gossamer.log.codec import encode
from gossamer.web.url import host_key, site_of
from services.frontier.rows import UrlRow

MAX_BATCH_URLS = 1000
"""URLs of an event, and events that are appended at once."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("urls", nargs="*", metavar="URL", help="a URL that was visited before")
    command.add_argument(
        "--outcome",
        type=parse_outcome,
        metavar="OUTCOME",
        help="all URLs with this last outcome: a status code (404, 429, 5xx) or one of "
        f"{NAMES}; reads the whole table of URLs",
    )
    command.add_argument(
        "--older-than",
        type=seconds,
        metavar="TIME",
        help="all URLs whose last visit is older: 7d, 12h; alone or with --outcome",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Request the visits. Return 1 if no URL matches."""
    has_filter = options.outcome is not None or options.older_than is not None
    if bool(options.urls) == has_filter:
        raise BadSettings("name URLs, or choose them with --outcome and --older-than")
    with open_from(options) as crawl:
        if options.urls:
            return 0 if _request(crawl, _visited_rows(crawl, options.urls)) else 1
        before = clock.now() - (options.older_than or 0.0)
        chosen = matching_urls(crawl, options.outcome, set(Outcome), before)
        count = _request(crawl, filter(_was_visited, chosen))
        if not count:
            say("No visited URL matches: nothing to fetch again.", YELLOW)
        return 0 if count else 1


def _visited_rows(crawl: OpenCrawl, urls: list[str]) -> Iterator[UrlRow]:
    """Yield the rows of *urls*; print which ones were never visited."""
    for url in [crawl_form(crawl, text).url for text in urls]:
        row = crawl.store().table(UrlRow).get((crawl.id, host_key(url)), url)
        if row and _was_visited(row):
            yield row
        else:
            say(f"{url} was never visited: gossamer seed adds it", YELLOW)


def _was_visited(row: UrlRow) -> bool:
    return bool(row.earlier or row.attempt)


def _request(crawl: OpenCrawl, chosen: Iterable[UrlRow]) -> int:
    count, requests = 0, _events(crawl, chosen)
    while batch := list(islice(requests, MAX_BATCH_URLS)):
        crawl.log.append([encode(event) for event in batch])
        count += sum(len(event.urls) for event in batch)
    if count:
        by = (
            "as soon as the delays of their hosts allow"
            if crawl.fleet
            else "by the running crawl, or by the next gossamer crawl"
        )
        say(f"{plural(count, 'URL')} to be fetched again, {by}.")
    return count


def _events(crawl: OpenCrawl, chosen: Iterable[UrlRow]) -> Iterator[RefetchRequested]:
    for key, rows in groupby(chosen, key=lambda row: row.host):
        while urls := tuple(row.url for row in islice(rows, MAX_BATCH_URLS)):
            site = site_of(f"{key}/")
            yield RefetchRequested(crawl=crawl.id, at=clock.now(), site=site, host=key, urls=urls)
