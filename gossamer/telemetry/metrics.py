"""The register of metrics: every one has a sentence, and one that has none cannot be counted.

Names carry their unit (`_seconds`, `_bytes`, `_ratio`), counters end in `_total`. A process that
shows its metrics calls `show_counters`: a counter is shown from the start, at 0; a gauge or a
histogram once its process has a value for it, so that nobody takes the 0 of a process that measures
nothing for a measurement.

prometheus_client is imported with the first metric. A command that only reads has none.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from gossamer import clock

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram


@dataclass(frozen=True)
class About:
    """What an operator reads of a metric, its labels, and the buckets if it is a histogram."""

    sentence: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


NETWORK = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""From a neighbour's answer (10 ms) to the limit of a visit (60 s unless configured)."""
LOOKUP = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""From a name server's cache next door to two tries of five seconds."""
CPU = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""From a page without text to two tries of ten seconds, the limit of a page."""
STORAGE = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)
"""From a few rows in SQLite (0.5 ms) to the timeout of an append (30 s)."""

COUNTERS: dict[str, About] = {
    "gossamer_dead_letters_total": About(
        "Records that could not be read or processed, by the service that met them.", ("service",)
    ),
    "gossamer_hazards_total": About(
        "How often each hazard of the Web was met, by its name in the catalogue.", ("hazard",)
    ),
    "gossamer_outcomes_total": About("Visits that ended, by how they ended.", ("outcome",)),
    "gossamer_received_bytes_total": About("Bytes of bodies received, as sent by the servers."),
    "gossamer_verdicts_total": About("Pages judged, by verdict.", ("verdict",)),
    "gossamer_documents_gone_total": About(
        "Documents that are gone from `pages`, by the reason.", ("reason",)
    ),
    "gossamer_urls_admitted_total": About("URLs that the URL-seen test had never met."),
    "gossamer_long_links_total": About("Links of more than 200 characters: growing URLs begin so."),
    "gossamer_urls_refused_total": About(
        "Admitted URLs that the frontier does not queue, by the rule that says so.", ("rule",)
    ),
    "gossamer_orders_total": About("Hosts checked out to a fetcher."),
    "gossamer_orders_moved_total": About(
        "Those of them that went to another partition than their site's, which had too many."
    ),
    "gossamer_leases_expired_total": About(
        "Orders that no fetcher answered in time: fetchers that died."
    ),
    "gossamer_revisits_total": About(
        "Visits ordered to pages that were visited before, by what decided when.", ("basis",)
    ),
    "gossamer_lying_validators_total": About(
        "Hosts whose ETag or Last-Modified was found to lie, and is not sent back any more."
    ),
    "gossamer_archived_bytes_total": About("Bytes written to WARC files."),
    "gossamer_not_archived_total": About("Pages that ask not to be archived, and are not."),
    "gossamer_parser_replaced_total": About("Parser processes that died or were stopped."),
}
GAUGES: dict[str, About] = {
    "gossamer_hosts_loaded": About("Hosts that the frontier holds in memory."),
    "gossamer_hosts": About(
        "Hosts of this frontier's partitions, loaded or not, by condition.", ("condition",)
    ),
    "gossamer_urls_queued": About(
        "URLs that wait in the host queues of this frontier's partitions."
    ),
    "gossamer_oldest_order_seconds": About(
        "Age of the oldest order that this frontier made and no fetcher has answered to its last "
        "visit; 0 if there is none. It stays below the lease."
    ),
    "gossamer_revisit_policy": About("Always 1; the label says by which policy.", ("policy",)),
    "gossamer_revisit_budget": About(
        "Visits a day to pages of this frontier's partitions that were visited before: their share "
        "of the crawl's budget; 0: as many as politeness allows."
    ),
    "gossamer_revisits_planned": About(
        "Pages of this frontier's partitions to which another visit is planned."
    ),
    "gossamer_new_urls_waiting": About(
        "URLs of this frontier's partitions that were never visited, and wait for the budget."
    ),
    "gossamer_revisits_late_seconds": About(
        "For how long the oldest planned visit has been due, and waits for the budget or for its "
        "turn; 0 if none is due."
    ),
    "gossamer_expected_freshness_ratio": About(
        "The share of the pages to which another visit is planned, by weight, whose copy is "
        "expected to be as the page is; of this frontier's partitions."
    ),
    "gossamer_expected_age_seconds": About(
        "For how long their copies are expected to have been out of date, on the average."
    ),
    "gossamer_visit_price_seconds": About(
        "The freshness of a page of weight 1 that a visit must bring to be made within the budget, "
        "by the policy `optimal`."
    ),
    "gossamer_fetches_open": About("Orders under way in the fetcher."),
    "gossamer_smallest_gap_ratio": About(
        "The smallest gap between two requests of this fetcher to one host, divided by that host's "
        "delay, since the process started. The gap is from the end of one request to the start of "
        "the next, 0 if they overlapped. Below 1 a host was asked too soon, and the log says which."
    ),
    "gossamer_clock_skew_seconds": About(
        "By how much this fetcher's clock is ahead of the frontiers' at most, by the youngest of "
        "the last 20 orders; the time that an order waits counts in. Below zero it is behind, by "
        "at least so much."
    ),
    "gossamer_fetcher_hindered": About(
        "Whether something on this side keeps the fetcher from its work (1), by its kind; the log "
        "says what.",
        ("kind",),
    ),
    "gossamer_partitions": About("Partitions that this instance was given by its group."),
    "gossamer_consumer_lag": About(
        "Records of each topic that the service's group, all instances together, has not moved "
        "past; embedded, the group that is furthest behind. Missing if the brokers do not say.",
        ("topic",),
    ),
    "gossamer_ready": About("Whether the process does its work (1) or waits (0)."),
    "gossamer_build_info": About(
        "Always 1; the labels say what runs here.", ("version", "service", "instance")
    ),
}
HISTOGRAMS: dict[str, About] = {
    "gossamer_fetch_seconds": About(
        "Requests to the Web, each from before it is connected to the last byte read or the "
        "failure; without the lookup of the name.",
        buckets=NETWORK,
    ),
    "gossamer_dns_seconds": About(
        "Lookups that name servers were asked for, whatever they answered; what the resolver "
        "remembers is not counted.",
        buckets=LOOKUP,
    ),
    "gossamer_parse_seconds": About(
        "Pages read by a parser process, as its parent sees it: with the way there and back, and a "
        "second try; without waiting for a free process.",
        buckets=CPU,
    ),
    "gossamer_store_flush_seconds": About(
        "Flushes of the store that had something to write; on SQLite without the commit, which "
        "they share with the log.",
        buckets=STORAGE,
    ),
    "gossamer_log_append_seconds": About(
        "Appends of at least one message to the log, until it is durable; on SQLite without the "
        "commit when it is part of a step. Under Faust, those of one record.",
        buckets=STORAGE,
    ),
    "gossamer_step_phase_seconds": About(
        "Phases of a step of a service's loop: read (rows that the records need), handle, wake "
        "(what is due without a record), settle (state outside the store made durable), advance "
        "(store flushed, answers appended, offsets committed).",
        ("service", "phase"),
        STORAGE,
    ),
    "gossamer_step_seconds": About(
        "Steps of a service's loop that moved something: records handled, store flushed, answers "
        "appended, offsets committed; without waiting for records. Under Faust, one record from "
        "its arrival until all of that is acknowledged.",
        ("service",),
        STORAGE,
    ),
}

M = TypeVar("M", "Counter", "Gauge", "Histogram")

_counters: "dict[str, Counter]" = {}
_gauges: "dict[str, Gauge]" = {}
_histograms: "dict[str, Histogram]" = {}
_making = threading.Lock()


def show_counters() -> None:
    """Have all counters shown, at 0 until something is counted."""
    for name in COUNTERS:
        _unlabelled_counter(name)


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Add *amount* to a registered counter; KeyError if the name is not registered."""
    _counter(name, tuple(labels.items())).inc(amount)


@lru_cache(maxsize=4096)
def _counter(name: str, labels: tuple[tuple[str, str], ...]) -> "Counter":
    # Counted at each request: prometheus_client looks a label up under a lock.
    return _labelled(_unlabelled_counter(name), dict(labels))


def _unlabelled_counter(name: str) -> "Counter":
    about = COUNTERS[name]
    if name not in _counters:
        from prometheus_client import Counter

        with _making:  # Twice would be an error of prometheus_client's.
            if name not in _counters:
                _counters[name] = Counter(name, about.sentence, about.labels)
    return _counters[name]


def gauge(name: str, value: float, **labels: str) -> None:
    """Set a registered gauge; KeyError if the name is not registered."""
    _labelled(_gauge(name), labels).set(value)


def gauges(name: str, label: str, values: Mapping[str, float]) -> None:
    """Set a registered gauge for each value of *label*; values that are not named disappear."""
    _gauge(name).clear()
    for value, number in values.items():
        gauge(name, number, **{label: value})


def gauge_age(name: str, since: float | None) -> None:
    """Show in a registered gauge how long *since* is ago whenever somebody looks; None shows 0."""
    _gauge(name).set_function(lambda: 0.0 if since is None else max(0.0, clock.now() - since))


def observe(name: str, value: float, **labels: str) -> None:
    """Add *value* to a registered histogram; KeyError if the name is not registered."""
    _labelled(_histogram(name), labels).observe(value)


def _labelled(metric: M, labels: dict[str, str]) -> M:
    return metric.labels(**labels) if labels else metric


def _gauge(name: str) -> "Gauge":
    about = GAUGES[name]
    if name not in _gauges:
        from prometheus_client import Gauge

        with _making:
            if name not in _gauges:
                _gauges[name] = Gauge(name, about.sentence, about.labels)
    return _gauges[name]


def _histogram(name: str) -> "Histogram":
    about = HISTOGRAMS[name]
    if name not in _histograms:
        from prometheus_client import Histogram

        with _making:
            if name not in _histograms:
                made = Histogram(name, about.sentence, about.labels, buckets=about.buckets)
                _histograms[name] = made
    return _histograms[name]
