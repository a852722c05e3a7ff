"""`gossamer refetch`: requests new visits to URLs now, whatever their plans and last outcomes.

The requests go to the log. The frontier of each host queues them and keeps the host's delay.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from console.cli.options import add_crawl, open_from, seconds
from console.cli.retry import outcome
from console.output import YELLOW, say
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.events import Outcome, RefetchRequested
from gossamer.log.codec import encode
from gossamer.web.url import site_of
from inspection.crawl import OpenCrawl
from inspection.figures import plural
from inspection.url_forms import crawl_form
from inspection.visits import OUTCOME_NAMES, LastOutcome, matching_urls, read_last_outcome

MAX_BATCH_URLS = 400
"""URLs of an event, and events that are appended at once."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument("urls", nargs="*", metavar="URL", help="a URL that was visited before")
    command.add_argument(
        "--outcome",
        type=outcome,
        metavar="OUTCOME",
        help="all URLs with this last outcome: a status code (404, 429, 5xx) or one of "
        f"{OUTCOME_NAMES}; reads the whole table of URLs",
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
            return 0 if _request(crawl, _read_visited(crawl, options.urls)) else 1
        before = clock.now() - (options.older_than or 0.0)
        chosen = matching_urls(crawl, options.outcome, set(Outcome), before)
        count = _request(crawl, (last for last in chosen if last.was_visited))
        if not count:
            say("No visited URL matches: nothing to fetch again.", YELLOW)
        return 0 if count else 1


def _read_visited(crawl: OpenCrawl, urls: list[str]) -> Iterator[LastOutcome]:
    """Yield the last outcomes of *urls*; print which ones were never visited."""
    for url in [crawl_form(crawl, text).url for text in urls]:
        last = read_last_outcome(crawl, url)
        if last and last.was_visited:
            yield last
        else:
            say(f"{url} was never visited: gossamer seed adds it", YELLOW)


def _request(crawl: OpenCrawl, chosen: Iterable[LastOutcome]) -> int:
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


def _events(crawl: OpenCrawl, chosen: Iterable[LastOutcome]) -> Iterator[RefetchRequested]:
    for key, found in groupby(chosen, key=lambda last: last.host):
        while urls := tuple(last.url for last in islice(found, MAX_BATCH_URLS)):
            site = site_of(f"{key}/")
            yield RefetchRequested(crawl=crawl.id, at=clock.now(), site=site, host=key, urls=urls)
