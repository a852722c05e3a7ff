"""Requests to visit hosts and URLs now: urgent visits, retries after failures, and refetches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from math import inf
from typing import NamedTuple

from gossamer.bounds import exclusion_of
from gossamer.changes.plan import Effect, Plan
from gossamer.crawl import (
    blocklist_of,
    canonical_of_typed,
    check_not_removed,
    why_idle,
    without_scheme,
)
from gossamer.errors import BadSettings
from gossamer.events import (
    Discovery,
    Event,
    FetchRequested,
    Outcome,
    RefetchRequested,
    RetryRequested,
)
from gossamer.events.outcomes import FAILURES
from gossamer.inspection.basics.figures import first_few, instant, plural
from gossamer.inspection.basics.labels import outcome_label
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.inspection.hosts.hosts import read_host
from gossamer.inspection.urls.visits import OutcomeFilter, matching_urls, read_last_outcome
from gossamer.web.url import host_key, site_of

MAX_EVENT_URLS = 400
"""URLs of an event."""


class Answer(NamedTuple):
    """The effect of a request on one target: a sentence, and the event if there is any effect."""

    text: str
    event: Event | None = None


def plan_fetch(crawl: OpenCrawl, urls: Sequence[str], now: float) -> Plan:
    """Return the plan that visits the typed *urls* before all others, known or not.

    URLs that the blocklist or the scope forbids are refused. Raise BadSettings if a URL is invalid,
    or if the crawl is not defined, was removed, or is paused.
    """
    definition = crawl.definition()
    check_not_removed(definition)
    if definition is None:
        raise BadSettings(f"the crawl {crawl.id} is not defined: gossamer seed defines it")
    if definition.paused:
        raise BadSettings(
            f"crawl {crawl.id} is paused: gossamer crawls resume {crawl.id} lets it go on"
        )
    blocklist = blocklist_of(crawl.log)
    wanted, refused = list[str](), list[str]()
    for form in {form.url: form for form in (crawl_form(crawl, text) for text in urls)}.values():
        exclusion = exclusion_of(definition, blocklist, Discovery(form.url))
        reason = exclusion.reason if exclusion else form.exclusion
        (refused if reason else wanted).append(f"{form.url}: {reason}" if reason else form.url)
    wanted.sort(key=host_key)
    return Plan(
        action="fetch",
        subject=first_few(wanted),
        crawl=crawl.id,
        requests=tuple(_batch_requests(crawl, FetchRequested, wanted, now)),
        effect=Effect(
            text=f"{plural(len(wanted), 'URL')} to be fetched before all others, "
            f"{describe_fetch(crawl)}.",
            refused=tuple(refused),
            count=len(wanted),
        ),
    )


def plan_retry(crawl: OpenCrawl, targets: Sequence[str], now: float) -> Plan:
    """Return the plan that retries *targets*, typed hosts that back off and URLs that failed.

    Raise BadSettings if one is invalid.
    """
    answers = [
        (url or key, _retry_url(url, crawl, now) if url else _retry_host(key, crawl, now))
        for text in targets
        for key, url in _hosts_or_url(text, crawl)
    ]
    changed = [name for name, answer in answers if answer.event]
    return Plan(
        action="retry",
        subject=first_few(changed),
        crawl=crawl.id,
        requests=tuple(answer.event for _, answer in answers if answer.event),
        effect=Effect(
            text=describe_retry(crawl) if changed else "Nothing is retried.",
            lines=tuple(f"{name}: {answer.text}" for name, answer in answers if answer.event),
            refused=tuple(f"{name}: {answer.text}" for name, answer in answers if not answer.event),
            count=len(changed),
        ),
    )


def plan_retry_of(crawl: OpenCrawl, chosen: OutcomeFilter, now: float) -> Plan:
    """Return the plan that retries all URLs whose last outcome is *chosen*, a failure.

    The whole table of URLs is read while the plan is committed or counted.
    """
    found = matching_urls(crawl, chosen, FAILURES, inf)
    return Plan(
        action="retry",
        subject=f"outcome {chosen.text}",
        crawl=crawl.id,
        requests=_batch_requests(crawl, RetryRequested, (last.url for last in found), now),
        effect=Effect(text=f"URLs with the last outcome {chosen.text} are retried."),
    )


def plan_refetch(crawl: OpenCrawl, urls: Sequence[str], now: float) -> Plan:
    """Return the plan that visits the typed *urls* again now. Raise BadSettings if one is
    invalid."""
    forms = dict.fromkeys(crawl_form(crawl, text).url for text in urls)
    found = {url: read_last_outcome(crawl, url) for url in forms}
    visited = [url for url, last in found.items() if last and last.was_visited]
    return Plan(
        action="refetch",
        subject=first_few(visited),
        crawl=crawl.id,
        requests=tuple(_batch_requests(crawl, _refetch_of(crawl), visited, now)),
        effect=Effect(
            text=f"{plural(len(visited), 'URL')} to be fetched again, {describe_fetch(crawl)}.",
            refused=tuple(
                f"{url} was never visited: gossamer seed adds it"
                for url in found
                if url not in visited
            ),
            count=len(visited),
        ),
    )


def plan_refetch_of(
    crawl: OpenCrawl, chosen: OutcomeFilter | None, older_than: float, now: float
) -> Plan:
    """Return the plan that visits all visited URLs again whose last outcome is *chosen*, or any,
    and whose last visit was *older_than* seconds ago or earlier.

    The whole table of URLs is read while the plan is committed or counted.
    """
    found = matching_urls(crawl, chosen, set(Outcome), now - older_than)
    visited = (last.url for last in found if last.was_visited)
    by = [f"outcome {chosen.text}"] if chosen else []
    by += [f"visited until {instant(now - older_than)}"] if older_than else []
    return Plan(
        action="refetch",
        subject=", ".join(by),
        crawl=crawl.id,
        requests=_batch_requests(crawl, _refetch_of(crawl), visited, now),
        effect=Effect(
            text=f"URLs ({', '.join(by) or 'all'}) are fetched again, {describe_fetch(crawl)}."
        ),
    )


def describe_fetch(crawl: OpenCrawl) -> str:
    """Return when requested visits are made, in words."""
    if idle := why_idle(crawl.definition(), 0, crawl.are_all_paused):
        return f"but not while {idle}"
    if crawl.fleet:
        return "as soon as the delays of their hosts allow"
    return "by the running crawl, or by the next gossamer crawl"


def describe_retry(crawl: OpenCrawl) -> str:
    """Return when requested retries are made, as a sentence."""
    if idle := why_idle(crawl.definition(), 0, crawl.are_all_paused):
        return f"Nothing is visited while {idle}."
    if crawl.fleet:
        return "The frontier visits them as soon as delays and Retry-After allow."
    return "The running crawl visits them, or the next gossamer crawl."


def _hosts_or_url(text: str, crawl: OpenCrawl) -> list[tuple[str, str]]:
    """Return the hosts, each with "", or the host with its URL, that *text* names."""
    url, rest = canonical_of_typed(text), without_scheme(text)
    if "/" in rest:
        return [(host_key(url), url)]
    keys = [host_key(url)]
    if rest == text:
        keys.append(host_key(canonical_of_typed(f"http://{text}")))
    return [(key, "") for key in keys if read_host(crawl, key)] or [(keys[0], "")]


def _retry_host(key: str, crawl: OpenCrawl, now: float) -> Answer:
    host = read_host(crawl, key)
    if host is None:
        return Answer("no URL of this host was admitted; gossamer seed adds one")
    was_returned = host.backoff_cause == Outcome.UNVISITED
    if not host.backoff_reason or was_returned or host.ready_at <= now:
        return Answer(f"does not back off (it is {host.condition}); nothing to retry")
    until = f"until {instant(host.ready_at)} ({host.backoff_reason})"
    if host.backoff_cause == Outcome.BUSY:
        return Answer(f"sent Retry-After: it is not visited {until}")
    event = _request(crawl, RetryRequested, key, (), now)
    return Answer(f"backed off {until}; it is retried now", event)


def _retry_url(url: str, crawl: OpenCrawl, now: float) -> Answer:
    last = read_last_outcome(crawl, url)
    if last is None:
        return Answer("was never visited; gossamer why URL explains, gossamer seed adds it")
    label = outcome_label(last.outcome, last.status)
    if last.outcome not in FAILURES:
        return Answer(f"its last outcome, {label}, is not a failure; gossamer refetch fetches it")
    event = _request(crawl, RetryRequested, host_key(url), (url,), now)
    return Answer(f"{label} at {instant(last.at)}; it is queued again", event)


Request = Callable[..., RetryRequested | RefetchRequested | FetchRequested]


def _batch_requests(
    crawl: OpenCrawl, kind: Request, urls: Iterable[str], now: float
) -> Iterator[Event]:
    """Yield requests for *urls*, which are grouped by host, each for MAX_EVENT_URLS at most."""
    for key, of_host in groupby(urls, key=host_key):
        while group := tuple(islice(of_host, MAX_EVENT_URLS)):
            yield _request(crawl, kind, key, group, now)


def _refetch_of(crawl: OpenCrawl) -> Request:
    """Return the request for visits again. Rules of the crawl may have changed and need whole
    pages, which a 304 has not."""
    definition = crawl.definition()
    return partial(RefetchRequested, whole=bool(definition and definition.rules))


def _request(crawl: OpenCrawl, kind: Request, key: str, urls: tuple[str, ...], now: float) -> Event:
    return kind(crawl=crawl.id, at=now, site=site_of(f"{key}/"), host=key, urls=urls)
