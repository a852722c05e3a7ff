"""`gossamer retry`: retries hosts that back off after a failure, and URLs that failed, now.

The requests go to the log. The frontier of each host carries them out: see
`services.frontier.admission`.
"""

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from math import inf

from console.cli.options import add_crawl, open_from
from console.output import GREEN, YELLOW, say
from gossamer import clock
from gossamer.crawl import canonical_of_typed
from gossamer.errors import BadSettings
from gossamer.events import Outcome, RetryRequested
from gossamer.events.outcomes import FAILURES
from gossamer.log.codec import encode
from gossamer.web.url import BadUrl, host_key, site_of
from inspection.crawl import OpenCrawl
from inspection.figures import instant, plural
from inspection.hosts import read_host
from inspection.labels import outcome_label
from inspection.visits import (
    LastOutcome,
    OutcomeFilter,
    matching_urls,
    parse_outcome,
    read_last_outcome,
)

MAX_BATCH_URLS = 400
"""URLs of an event, and events that are appended at once."""
FAILURE_NAMES = ", ".join(str(outcome).replace("_", "-") for outcome in FAILURES)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "targets",
        nargs="*",
        metavar="HOST|URL",
        help="a host (www.example.org, http://localhost:8000), or a URL with its path",
    )
    command.add_argument(
        "--outcome",
        type=_failure,
        metavar="OUTCOME",
        help="all URLs with this last outcome: a status code (404, 429, 5xx) or one of "
        f"{FAILURE_NAMES}; reads the whole table of URLs",
    )
    add_crawl(command)


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
            return _retry_outcome(crawl, options.outcome)
        return _retry_targets(crawl, options.targets)


def _retry_targets(crawl: OpenCrawl, targets: list[str]) -> int:
    requests = list[RetryRequested]()
    for text in targets:
        for key, url in _hosts_or_url(text, crawl):
            message, event = _retry_url(url, crawl) if url else _retry_host(key, crawl)
            say(f"{url or key}: {message}", GREEN if event else YELLOW)
            requests += [event] if event else []
    crawl.log.append([encode(event) for event in requests])
    if requests:
        _say_when(crawl)
    return 0 if requests else 1


def _hosts_or_url(text: str, crawl: OpenCrawl) -> list[tuple[str, str]]:
    """Return the hosts, each with "", or the host with its URL, that *text* names."""
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
    return [(key, "") for key in keys if read_host(crawl, key)] or [(keys[0], "")]


def _retry_host(key: str, crawl: OpenCrawl) -> tuple[str, RetryRequested | None]:
    host = read_host(crawl, key)
    if host is None:
        return "no URL of this host was admitted; gossamer seed adds one", None
    was_returned = host.backoff_cause == Outcome.UNVISITED
    if not host.backoff_reason or was_returned or host.ready_at <= clock.now():
        return f"does not back off (it is {host.condition}); nothing to retry", None
    until = f"until {instant(host.ready_at)} ({host.backoff_reason})"
    if host.backoff_cause == Outcome.BUSY:
        return f"sent Retry-After: it is not visited {until}", None
    return f"backed off {until}; it is retried now", _event(crawl, key)


def _retry_url(url: str, crawl: OpenCrawl) -> tuple[str, RetryRequested | None]:
    last = read_last_outcome(crawl, url)
    if last is None:
        return "was never visited; gossamer why URL explains, gossamer seed adds it", None
    label = outcome_label(last.outcome, last.status)
    if last.outcome not in FAILURES:
        return f"its last outcome, {label}, is not a failure; gossamer refetch fetches it", None
    return f"{label} at {instant(last.at)}; it is queued again", _event(
        crawl, host_key(url), (url,)
    )


def _retry_outcome(crawl: OpenCrawl, chosen: OutcomeFilter) -> int:
    count = 0
    events = _events(crawl, matching_urls(crawl, chosen, FAILURES, inf))
    while batch := list(islice(events, MAX_BATCH_URLS)):
        crawl.log.append([encode(event) for event in batch])
        count += sum(len(event.urls) for event in batch)
    if not count:
        say(f"No URL has the last outcome {chosen.text}: nothing to retry.", YELLOW)
        return 1
    say(f"{plural(count, 'URL')} with the last outcome {chosen.text} to be retried.")
    _say_when(crawl)
    return 0


def _events(crawl: OpenCrawl, failed: Iterable[LastOutcome]) -> Iterator[RetryRequested]:
    for key, found in groupby(failed, key=lambda last: last.host):
        while urls := tuple(last.url for last in islice(found, MAX_BATCH_URLS)):
            yield _event(crawl, key, urls)


def _event(crawl: OpenCrawl, key: str, urls: tuple[str, ...] = ()) -> RetryRequested:
    site = site_of(f"{key}/")
    return RetryRequested(crawl=crawl.id, at=clock.now(), site=site, host=key, urls=urls)


def _say_when(crawl: OpenCrawl) -> None:
    if crawl.fleet:
        say("The frontier visits them as soon as delays and Retry-After allow.")
    else:
        say("The running crawl visits them, or the next gossamer crawl.")
