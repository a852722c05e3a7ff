"""Failures and refusals of a crawl, grouped, with examples and the appropriate action.

The totals and a few example URLs are in the rows of each partition, in a folder and in a fleet. The
examples are read again as URLs, so that one that was repaired since then is not shown.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import islice, zip_longest
from typing import NamedTuple

from msgspec import Struct

from gossamer.events import Outcome
from gossamer.events.hazards import HAZARDS, Hazard
from gossamer.events.outcomes import FAILURES, OUTCOMES, check_complete
from gossamer.inspection.answers.host_details import host_of_typed
from gossamer.inspection.basics.labels import (
    HAZARD_LABELS,
    LABELS,
    failures,
    is_expected_failure,
    is_failure,
    outcome_text,
)
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.hosts.hosts import Host
from gossamer.inspection.progress.progress import Progress, read_totals
from gossamer.inspection.progress.status import STATUS_TABLES, find_failed_urls, without_released
from gossamer.inspection.progress.workload import Waiting, read_waiting
from gossamer.inspection.urls.visits import LastOutcome, OutcomeFilter, last_outcome
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.partitions import partition_keys
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.frontier.totals.daily import HazardExamplesRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.store import Store
from gossamer.web.url import HostKey, host_key

MAX_EXAMPLES = 5
"""Examples of a failure, of different hosts if possible."""
MAX_CANDIDATES = 60
"""Example URLs of a failure that are read again."""
MAX_SCANNED_URLS = 20_000
"""Rows of a host's URLs that one page of a list reads."""
READ_ROWS = 500


class Action(StrEnum):
    """What an operator can do about a failure."""

    NOTHING = "nothing"
    WAIT = "wait"
    """The crawl tries again by itself."""
    RETRY = "retry"
    """`gossamer retry` tries again at once, after the cause is repaired."""
    SLOW_DOWN = "slow down"
    """`gossamer site --delay` lengthens the courtesy delay."""
    BLOCK = "block"
    """`gossamer block` forbids the host or a part of it."""
    CHANGE_SETTING = "change a setting"


class Remedy(NamedTuple):
    """The appropriate action, and when it is appropriate, as a sentence."""

    action: Action
    text: str


# fmt: off
REMEDIES: dict[Outcome, Remedy] = {
    Outcome.PAGE: Remedy(Action.NOTHING, "The visit succeeded."),
    Outcome.NOT_MODIFIED: Remedy(Action.NOTHING, "The visit succeeded."),
    Outcome.REDIRECT: Remedy(Action.NOTHING, "The target of the redirect is visited."),
    Outcome.BAD_REDIRECT: Remedy(Action.NOTHING,
        "The site must repair its redirects."),
    Outcome.GONE: Remedy(Action.NOTHING,
        "The pages do not exist. Block a part of a host that has only such pages."),
    Outcome.CLIENT_ERROR: Remedy(Action.BLOCK,
        "The server refuses these requests. Block the host if it refuses all of them."),
    Outcome.SIGNATURE_ASKED: Remedy(Action.CHANGE_SETTING,
        "The server admits signed requests. Set fetcher.sign and fetcher.signing_keys."),
    Outcome.SERVER_ERROR: Remedy(Action.RETRY,
        "The server fails. Failed URLs are tried a few times; retry them when it is repaired."),
    Outcome.BUSY: Remedy(Action.SLOW_DOWN,
        "The server asks for fewer requests. The crawl waits; set a longer delay if it repeats."),
    Outcome.DNS_FAILURE: Remedy(Action.RETRY,
        "The name does not exist. Retry the host when its name is repaired."),
    Outcome.DNS_UNANSWERED: Remedy(Action.WAIT,
        "No name server answered. The crawl tries again; check fetcher.nameserver if many hosts "
        "are affected."),
    Outcome.HOST_DOWN: Remedy(Action.RETRY,
        "The host does not accept connections. Retry it when it is up again."),
    Outcome.TLS_FAILURE: Remedy(Action.RETRY,
        "The certificate is not trusted. Accept it for the host with gossamer site --certificate, "
        "for all hosts with fetcher.certificates, or retry when it is renewed."),
    Outcome.SILENT_SERVER: Remedy(Action.SLOW_DOWN,
        "The server is overloaded, or discards the requests. Set a longer delay."),
    Outcome.MALFORMED_HEAD: Remedy(Action.WAIT,
        "The server sends invalid responses. They are tried again a few times."),
    Outcome.CUT_BODY: Remedy(Action.RETRY,
        "Bodies were interrupted or too slow. Retry the URLs at another time."),
    Outcome.BROKEN: Remedy(Action.WAIT,
        "robots.txt is unreadable, so nothing is fetched there. It is read again."),
    Outcome.INTERNAL_ERROR: Remedy(Action.CHANGE_SETTING,
        "The fetcher failed, or fetcher.bodies_limit is used up: see its log."),
    Outcome.PRIVATE_ADDRESS: Remedy(Action.CHANGE_SETTING,
        "Add the network to fetcher.allow_networks if it may be crawled."),
    Outcome.BLACKLISTED: Remedy(Action.NOTHING,
        "The blocklist forbids the address. gossamer unblock lifts a rule."),
    Outcome.ROBOTS_EXCLUDED: Remedy(Action.NOTHING,
        "robots.txt forbids the URLs. Only the site can allow them."),
    Outcome.USAGE_EXCLUDED: Remedy(Action.NOTHING,
        "The site does not allow a use that the crawl is for."),
    Outcome.UNWANTED_TYPE: Remedy(Action.CHANGE_SETTING,
        "Add the type to fetcher.types, or exclude such URLs by the scope."),
    Outcome.CHALLENGED: Remedy(Action.SLOW_DOWN,
        "The server demands a proof. Ask its operator to admit the crawler, or set a longer "
        "delay."),
    Outcome.PAYMENT_REQUIRED: Remedy(Action.BLOCK,
        "The server demands a payment. Block the part of the host that does."),
    Outcome.LICENSE_REQUIRED: Remedy(Action.BLOCK,
        "The server demands a license. Block the part of the host that does."),
    Outcome.UNVISITED: Remedy(Action.WAIT, "The URLs are still queued."),
    Outcome.OTHER: Remedy(Action.CHANGE_SETTING,
        "A newer version of Gossamer wrote the outcome: upgrade this process."),
}
"""Outcome → the appropriate action."""
# fmt: on
check_complete(Outcome, REMEDIES, "REMEDIES")
LABELS_OF_VISITS = frozenset(LABELS[outcome] for outcome in FAILURES)
"""The labels of failed visits."""


class FailureExample(Struct, frozen=True, kw_only=True):
    """A URL with a failure, or a refused one."""

    url: str
    host: HostKey
    """The host key."""
    at: float | None
    """When it failed or was refused, in epoch seconds; null if that is not stored."""
    status: int
    """The status code of the response; 0 without one."""
    text: str
    """The failure in words, with its reason."""


class FailureGroup(Struct, frozen=True, kw_only=True):
    """A kind of failure of visits, or a reason for which URLs were refused."""

    label: str
    """The failure in words."""
    names: tuple[str, ...]
    """The outcomes and hazards that are counted."""
    count: int
    share: float
    """Its share of all visits, or, for a refusal, of all admitted and refused URLs; from 0 to 1."""
    is_refusal: bool
    """Whether URLs were refused without a request; false for failed visits and flawed pages."""
    text: str
    """What it means, as a sentence."""
    action: Action
    remedy: str
    """When the action is appropriate, as a sentence."""
    settings: tuple[str, ...]
    """The settings that define or limit it."""
    outcome: str
    """The outcome for `gossamer retry --outcome`; "" if no visit failed, or it has no name."""
    examples: tuple[FailureExample, ...]


def read_failure_groups(crawl: OpenCrawl) -> tuple[FailureGroup, ...]:
    """Return the failures and refusals of *crawl*, the most frequent first."""
    with crawl.view(*STATUS_TABLES, HazardExamplesRow) as store:
        progress = read_totals(crawl.log, store, crawl.id)
        counted = failures(progress.outcomes, without_released(progress))
        backing_off, partitions = progress.conditions[Condition.BACKING_OFF], crawl.log.partitions
        waiting = read_waiting(store, backing_off, 0, partitions) if backing_off else Waiting()
        known = _candidates(crawl, store)
        # In a fleet the search would read from all nodes.
        labels = () if crawl.fleet else counted.keys()
        searched = find_failed_urls(store, crawl.id, labels, MAX_EXAMPLES)
        examples = {
            label: _examples(
                crawl,
                store,
                label,
                (*known.get(label, ()), *searched.get(label, ())),
                waiting.hosts,
            )
            for label in counted
        }
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(make_group(label, count, progress, examples[label]) for label, count in ordered)


def make_group(
    label: str, count: int, progress: Progress, examples: tuple[FailureExample, ...] = ()
) -> FailureGroup:
    """Return the group of the failures called *label*, of which there are *count*."""
    outcomes = [
        outcome for outcome in FAILURES if LABELS[outcome] == label and progress.outcomes[outcome]
    ]
    hazards = [
        hazard
        for hazard in Hazard
        if HAZARD_LABELS[hazard].label == label and progress.hazards[hazard]
    ]
    visits = sum(progress.outcomes[outcome] for outcome in Outcome)
    decided = progress.admitted + sum(progress.refused.values())
    is_refusal = not outcomes and any(progress.refused[hazard] for hazard in hazards)
    whole = decided if is_refusal else visits
    settings = tuple(dict.fromkeys(name for one in hazards for name in HAZARDS[one].settings))
    text = OUTCOMES[outcomes[0]].text if outcomes else HAZARDS[hazards[0]].text if hazards else ""
    remedy = REMEDIES[outcomes[0]] if outcomes else _remedy_of_refusal(hazards, settings)
    return FailureGroup(
        label=label,
        names=(*map(str, outcomes), *(str(one) for one in hazards if str(one) not in outcomes)),
        count=count,
        share=min(1.0, count / whole) if whole else 0.0,
        is_refusal=is_refusal,
        text=text,
        action=remedy.action,
        remedy=remedy.text,
        settings=settings,
        outcome="" if outcomes in ([], [Outcome.OTHER]) else str(outcomes[0]).replace("_", "-"),
        examples=examples,
    )


def _remedy_of_refusal(hazards: Iterable[Hazard], settings: tuple[str, ...]) -> Remedy:
    """Return the remedy of the outcome that one of *hazards* is named after, or else *settings*."""
    for hazard in hazards:
        if (outcome := Outcome(hazard.value)) is not Outcome.OTHER:
            return REMEDIES[outcome]
    if not settings:
        return Remedy(Action.NOTHING, "Gossamer handles it.")
    names = " or ".join(settings)
    return Remedy(Action.CHANGE_SETTING, f"It depends on {names}.")


def _candidates(crawl: OpenCrawl, store: Store) -> Mapping[str, list[str]]:
    """Return label → URLs that had the failure, those of different partitions first."""
    keys = partition_keys(crawl.log.partitions)
    lists: dict[str, list[list[str]]] = {}
    for row in store.table(TallyRow).get_all([(key, crawl.id) for key in keys]):
        for outcome, url in (*row.failed_urls.items(), *((o, u) for u, o in row.latest)):
            if label := LABELS.get(outcome):
                lists.setdefault(label, []).append([url])
    for example in store.table(HazardExamplesRow).scan_all([(crawl.id, key) for key in keys]):
        if label := LABELS.get(example.hazard):
            lists.setdefault(label, []).append([one.url for one in example.urls])
    return {
        label: [url for urls in zip_longest(*of_label) for url in urls if url]
        for label, of_label in lists.items()
    }


def _examples(
    crawl: OpenCrawl, store: Store, label: str, urls: Iterable[str], hosts: Iterable[Host]
) -> tuple[FailureExample, ...]:
    """Return a few of *urls* whose last outcome is still called *label*, of different hosts if
    possible, and then *hosts* that back off because of it."""
    chosen = [*dict.fromkeys(urls)][:MAX_CANDIDATES]
    keys = [((crawl.id, host_key(url)), url) for url in chosen]
    rows = {row.url: row for row in store.table(UrlRow).get_all(keys)}
    of_hosts: dict[str, list[FailureExample]] = {}
    for url in chosen:
        row = rows.get(url)
        if label in LABELS_OF_VISITS and (row is None or LABELS.get(row.outcome) != label):
            continue  # The URL was visited again or erased after it had become an example.
        example = _example_of(url, row)
        of_hosts.setdefault(example.host, []).append(example)
    for host in hosts:
        if LABELS.get(host.backoff_cause or "") == label and host.host not in of_hosts:
            of_hosts[host.host] = [
                FailureExample(url="", host=host.host, at=None, status=0, text=host.backoff_reason)
            ]
    mixed = (one for group in zip_longest(*of_hosts.values()) for one in group if one)
    return tuple(islice(mixed, MAX_EXAMPLES))


def _example_of(url: str, row: UrlRow | None) -> FailureExample:
    if row is None:
        return FailureExample(url=url, host=host_key(url), at=None, status=0, text="")
    text = outcome_text(row.outcome, row.status, row.reason)
    return view_of(FailureExample, row, text=text)


def read_outcomes(
    crawl: OpenCrawl,
    text: str,
    chosen: OutcomeFilter | None = None,
    after: str | None = None,
    limit: int = 100,
) -> Page[LastOutcome]:
    """Return the URLs of the host that *text* names, by their last outcome, in the order of their
    URLs.

    *chosen*: only these outcomes; None: only failures. *after*: the cursor of the page before. A
    page reads at most `MAX_SCANNED_URLS` URLs; it is partial if it ends there. Raise BadSettings if
    *text* is not a host or a URL.
    """
    table, key = crawl.store().table(UrlRow), (crawl.id, host_of_typed(crawl, text))
    found, scanned = list[LastOutcome](), 0
    while scanned < MAX_SCANNED_URLS:
        rows = table.scan(key, after, READ_ROWS)
        for row in rows:
            after, scanned = row.url, scanned + 1
            if is_expected_failure(row.outcome, row.origin.purpose):
                continue
            if chosen.matches(row.outcome, row.status) if chosen else is_failure(row.outcome):
                found.append(last_outcome(row))
            if len(found) == limit:
                return Page(tuple(found), after)
        if len(rows) < READ_ROWS:
            return Page(tuple(found))
    return Page(tuple(found), after, is_partial=True)
