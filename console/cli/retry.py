"""`gossamer retry`: has hosts that were in trouble, and URLs that failed, tried again now.

It only asks, on the log; the frontier that has the host does it. See `services.frontier.admission`.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from console.cli.options import add_crawl, open_from
from console.figures import instant, plural
from console.open_crawl import OpenCrawl
from gossamer import clock
from gossamer.crawl import canonical_of_typed
from gossamer.errors import BadSettings
from gossamer.events import Outcome, RetryRequested
from gossamer.events.outcomes import FAILURES
from gossamer.log.codec import encode
from gossamer.store import Store
from gossamer.terminal import printable
from gossamer.web.url import BadUrl, host_key, site_of
from services.frontier.rows import HostRow, UrlRow

MOST = 1000
"""URLs of an event, and events that are appended at once."""
LONGEST = 500
"""Characters of a line."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "what",
        nargs="*",
        metavar="HOST|URL",
        help="a host (www.example.org, http://localhost:8000), or a URL with its path",
    )
    command.add_argument(
        "--outcome",
        choices=[str(outcome) for outcome in FAILURES],
        metavar="OUTCOME",
        help=f"all URLs whose last outcome is this: {', '.join(FAILURES)}; reads the whole table "
        "of URLs",
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Ask, and say what comes of it."""
    if bool(options.what) == bool(options.outcome):
        raise BadSettings("name hosts or URLs, or an outcome with --outcome")
    with open_from(options) as crawl:
        if options.outcome:
            return _by_outcome(crawl, Outcome(options.outcome))
        return _by_name(crawl, options.what)


def _by_name(crawl: OpenCrawl, what: list[str]) -> int:
    store, asked = crawl.store(), list[RetryRequested]()
    for text in what:
        for key, url in _meant(text, store):
            comes_of_it, event = _of_url(url, crawl) if url else _of_host(key, crawl)
            print(printable(f"{url or key}: {comes_of_it}", LONGEST))
            asked += [event] if event else []
    crawl.log.append([encode(event) for event in asked])
    _say_when(crawl, bool(asked))
    return 0 if asked else 1


def _meant(text: str, store: Store) -> list[tuple[str, str]]:
    """Return the hosts, or the host and the URL, that a person means by *text*."""
    try:
        url = canonical_of_typed(text)
        keys = (
            [host_key(url)]
            if "://" in text
            else [host_key(url), host_key(canonical_of_typed(f"http://{text}"))]
        )
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    if "/" in text.partition("://")[2 if "://" in text else 0]:
        return [(keys[0], url)]
    hosts = store.table(HostRow)
    return [(key, "") for key in keys if hosts.get(site_of(url), key)] or [(keys[0], "")]


def _of_host(key: str, crawl: OpenCrawl) -> tuple[str, RetryRequested | None]:
    row = crawl.store().table(HostRow).get(site_of(f"{key}/"), key)
    if row is None:
        return "no URL of it was ever admitted: gossamer seed asks for one", None
    until = f"until {instant(row.ready_at)} ({row.backoff_reason})"
    lacks_room = row.backoff_cause == Outcome.UNVISITED
    if not row.backoff_reason or lacks_room or row.ready_at <= clock.now():
        return f"is {row.condition}, and in no trouble", None
    if row.backoff_cause == Outcome.BUSY:
        return f"asked to be left alone {until}, and is", None
    return f"was to be left alone {until}: is tried now", _asked(crawl, key)


def _of_url(url: str, crawl: OpenCrawl) -> tuple[str, RetryRequested | None]:
    row = crawl.store().table(UrlRow).get((crawl.id, host_key(url)), url)
    if row is None:
        return "has no outcome: gossamer why says more, gossamer seed asks for it", None
    if row.outcome not in FAILURES:
        return f"its last outcome is {row.outcome}, which is no failure of a visit", None
    event = _asked(crawl, host_key(url), (url,))
    return f"{row.outcome} at {instant(row.at)}: is queued again", event


def _by_outcome(crawl: OpenCrawl, outcome: Outcome) -> int:
    rows = crawl.store().table(UrlRow).everything()
    failed = (row for row in rows if (row.crawl, row.outcome) == (crawl.id, outcome))
    count = 0
    events = _events(crawl, failed)
    while batch := list(islice(events, MOST)):
        crawl.log.append([encode(event) for event in batch])
        count += sum(len(event.urls) for event in batch)
    print(f"{plural(count, 'URL')} with the outcome {outcome}.")
    _say_when(crawl, bool(count))
    return 0 if count else 1


def _events(crawl: OpenCrawl, failed: Iterable[UrlRow]) -> Iterator[RetryRequested]:
    for key, rows in groupby(failed, key=lambda row: row.host):
        while urls := tuple(row.url for row in islice(rows, MOST)):
            yield _asked(crawl, key, urls)


def _asked(crawl: OpenCrawl, key: str, urls: tuple[str, ...] = ()) -> RetryRequested:
    site = site_of(f"{key}/")
    return RetryRequested(crawl=crawl.id, at=clock.now(), site=site, host=key, urls=urls)


def _say_when(crawl: OpenCrawl, asked: bool) -> None:
    if asked and crawl.fleet:
        print("The frontier sees to it, as its hosts' delays and Retry-After allow.")
    elif asked:
        print("That is done by the crawl that runs on it, or by the next gossamer crawl.")
