"""The register of all metrics. A metric without an entry cannot be used.

Names contain their unit (`_seconds`, `_bytes`, `_ratio`), and names of counters end in `_total`.
The label `crawl` has one value for each defined crawl, and at most 200 crawls are not removed.
Metrics about records that any program may write, such as dead letters, do not have it: a seed may
name any crawl. Metrics about hosts, leases and fetchers, which all crawls share, do not have it
either. The gauges of a removed crawl disappear, and its counters end with the process.

A process that serves metrics calls `show_counters`, so that counters without labels are shown from
the start. A gauge or a histogram is shown once its process has a value for it, because the 0 of a
process that measures nothing would look like a measurement.

prometheus_client is imported with the first metric, so commands that use no metric do not load it.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from gossamer import clock

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram


@dataclass(frozen=True)
class Metric:
    """The help text of a metric, its labels, and the buckets of a histogram."""

    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


NETWORK = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Buckets from a nearby server's response (10 ms) to the default limit of a visit (60 s)."""
LOOKUP = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Buckets from a nearby name server's cached answer (1 ms) to two attempts of five seconds."""
CPU = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Buckets from a page without text (1 ms) to more than two attempts at the limit of ten seconds."""
STORAGE = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)
"""Buckets from a few rows in SQLite (0.5 ms) to the timeout of an append (30 s)."""

COUNTERS: dict[str, Metric] = {
    "gossamer_dead_letters_total": Metric(
        "Records that could not be read or processed, by the service that reported them.",
        ("service",),
    ),
    "gossamer_hazards_total": Metric(
        "Hazards of the Web that were met, by the name of the hazard.",
        ("hazard",),
    ),
    "gossamer_outcomes_total": Metric(
        "Completed visits, by outcome and crawl, and by whether the page is a capture that another "
        "crawl has made, so that no request was needed (`shared`: true or false).",
        ("outcome", "crawl", "shared"),
    ),
    "gossamer_received_bytes_total": Metric(
        "Bytes of response bodies that the fetcher received, as sent by the servers, by crawl.",
        ("crawl",),
    ),
    "gossamer_verdicts_total": Metric(
        "Verdicts on visited pages, by verdict and crawl.",
        ("verdict", "crawl"),
    ),
    "gossamer_documents_gone_total": Metric(
        "Documents that are gone from `pages`, by reason and crawl.",
        ("reason", "crawl"),
    ),
    "gossamer_urls_admitted_total": Metric(
        "URLs that passed the URL-seen test for the first time, by crawl.",
        ("crawl",),
    ),
    "gossamer_requisites_admitted_total": Metric(
        "Requisites that passed the URL-seen test, each once in `archive.requisites_period`, by "
        "crawl.",
        ("crawl",),
    ),
    "gossamer_urls_promoted_total": Metric(
        "Waiting URLs that were queued again because a later link gave them a better rank, by "
        "crawl.",
        ("crawl",),
    ),
    "gossamer_long_links_total": Metric(
        "Links of more than 200 characters, which are an early sign of ever-growing URLs."
    ),
    "gossamer_urls_refused_total": Metric(
        "Admitted URLs that the frontier refused to queue, by the rule that refused them, and by "
        "crawl.",
        ("rule", "crawl"),
    ),
    "gossamer_orders_total": Metric(
        "Hosts that were checked out to a fetcher, by the crawl of the order.", ("crawl",)
    ),
    "gossamer_signed_requests_total": Metric("Requests that were signed (Web Bot Auth)."),
    "gossamer_signing_hosts_total": Metric(
        "Hosts that asked for signatures, by the new state of their trial.", ("state",)
    ),
    "gossamer_orders_moved_total": Metric(
        "Orders that were sent to another partition because the partition of their site was "
        "overloaded."
    ),
    "gossamer_leases_expired_total": Metric(
        "Orders whose lease expired without an answer, usually because a fetcher crashed."
    ),
    "gossamer_revisits_total": Metric(
        "Visits that were ordered to pages visited before, by the basis of their plan and by "
        "crawl.",
        ("basis", "crawl"),
    ),
    "gossamer_distrusted_validators_total": Metric(
        "Hosts whose ETag or Last-Modified is not sent, because it proved wrong or was refused."
    ),
    "gossamer_archived_bytes_total": Metric("Bytes written to WARC files, by crawl.", ("crawl",)),
    "gossamer_archive_rewritten_files_total": Metric(
        "WARC files that were rewritten or removed: `erased` for `gossamer forget`, `shortened` or "
        "`dropped` by `archive.keep_versions`, `archive.keep_age` and `archive.keep_size`.",
        ("reason",),
    ),
    "gossamer_archive_freed_bytes_total": Metric(
        "Bytes on the disk that were freed by `archive.keep_versions`, `archive.keep_age` and "
        "`archive.keep_size`."
    ),
    "gossamer_archive_uploads_total": Metric(
        "Attempts to upload a WARC file, by volume and result: `stored` or `failed`.",
        ("volume", "result"),
    ),
    "gossamer_not_archived_total": Metric(
        "Pages that were not archived because they ask not to be, because they are walls, or "
        "because the site does not allow a use that the crawl is for, by crawl.",
        ("crawl",),
    ),
    "gossamer_walls_total": Metric(
        "Responses that were walls in place of pages, by what they demand and by their product.",
        ("kind", "product"),
    ),
    "gossamer_parser_replaced_total": Metric(
        "Parser processes that crashed or were stopped, and were replaced."
    ),
}
GAUGES: dict[str, Metric] = {
    "gossamer_hosts_loaded": Metric(
        "Hosts in the frontier's memory, by the crawl in whose part of the memory they are.",
        ("crawl",),
    ),
    "gossamer_hosts": Metric(
        "Hosts of this frontier's partitions, loaded or not, by condition.",
        ("condition",),
    ),
    "gossamer_urls_queued": Metric(
        "URLs in the host queues of this frontier's partitions, by crawl.", ("crawl",)
    ),
    "gossamer_oldest_order_seconds": Metric(
        "Age of the oldest order of this frontier that has not been answered completely, in "
        "seconds. 0 means no such order. It stays below the lease."
    ),
    "gossamer_revisit_policy": Metric(
        "Always 1. The labels are the crawl and its revisit policy.",
        ("policy", "crawl"),
    ),
    "gossamer_revisit_budget": Metric(
        "Maximum number of revisits a day in this frontier's partitions, as their part of the "
        "crawl's budget, by crawl. 0 means that only politeness limits them.",
        ("crawl",),
    ),
    "gossamer_revisits_planned": Metric(
        "Pages of this frontier's partitions with a planned visit, by crawl.", ("crawl",)
    ),
    "gossamer_new_urls_waiting": Metric(
        "URLs of this frontier's partitions that were never visited and wait for the budget, by "
        "crawl.",
        ("crawl",),
    ),
    "gossamer_revisits_late_seconds": Metric(
        "Seconds for which the oldest due revisit has waited for the budget or for politeness, by "
        "crawl. 0 if none is due.",
        ("crawl",),
    ),
    "gossamer_expected_freshness_ratio": Metric(
        "Expected share of this frontier's pages with a planned visit whose copy is up to date, "
        "by weight and crawl.",
        ("crawl",),
    ),
    "gossamer_expected_age_seconds": Metric(
        "Expected mean age of the copies of this frontier's pages with a planned visit, in "
        "seconds, by crawl. Age is the time for which a copy has been out of date.",
        ("crawl",),
    ),
    "gossamer_visit_price_seconds": Metric(
        "Minimum freshness, in seconds for a page of weight 1, that a visit must yield to be made "
        "within the budget of its crawl, by the policy `optimal`.",
        ("crawl",),
    ),
    "gossamer_fetches_open": Metric("Orders in flight in the fetcher."),
    "gossamer_smallest_gap_ratio": Metric(
        "Smallest gap between two requests of this fetcher to one host since the process started, "
        "divided by the host's delay. The gap is from the end of one request to the start of the "
        "next, and 0 for concurrent requests. A value below 1 means that a host was visited too "
        "soon, and the log names it."
    ),
    "gossamer_clock_skew_seconds": Metric(
        "Upper bound of the seconds by which this fetcher's clock is ahead of the frontiers' "
        "clocks, from the youngest of the last 20 orders. It includes the waiting time of the "
        "order. A negative value means that the clock is behind by at least this much."
    ),
    "gossamer_archive_buffer_bytes": Metric(
        "Bytes of WARC files in the folder of this archive that are not in a volume yet, including "
        "open ones. The archive pauses at `archive.buffer`. 0 without volumes."
    ),
    "gossamer_archive_paused": Metric(
        "Whether the archive is paused (1) because its buffer or its disk is full, or not (0)."
    ),
    "gossamer_fetcher_local_limitation": Metric(
        "Whether a local limitation stops the fetcher (1) or not (0), by kind. The log states the "
        "limitation.",
        ("kind",),
    ),
    "gossamer_partitions": Metric("Partitions that the consumer group assigned to this instance."),
    "gossamer_restoring_partitions": Metric(
        "Partitions of this dedup whose records wait until its URL-seen table is complete."
    ),
    "gossamer_restoring_seconds": Metric(
        "Estimated seconds until this dedup has read the changelogs of the partitions that wait. 0 "
        "before the first records are read."
    ),
    "gossamer_consumer_lag": Metric(
        "Lag of the service's consumer group, over all instances, by topic. In an embedded crawl "
        "it is the largest lag of any group. It is missing if the brokers do not report it.",
        ("topic",),
    ),
    "gossamer_ready": Metric("Whether the process is ready (1) or waits (0)."),
    "gossamer_build_info": Metric(
        "Always 1. The labels are the version, the service and the instance.",
        ("version", "service", "instance"),
    ),
}
HISTOGRAMS: dict[str, Metric] = {
    "gossamer_fetch_seconds": Metric(
        "Duration of requests to the Web, from the start of the connection to the last byte or "
        "the failure, without the DNS lookup.",
        buckets=NETWORK,
    ),
    "gossamer_dns_seconds": Metric(
        "Duration of DNS lookups at name servers, successful or not, without cached answers.",
        buckets=LOOKUP,
    ),
    "gossamer_parse_seconds": Metric(
        "Duration of parsing a page in a parser process, including the transfer and a second "
        "attempt, without waiting for a free process.",
        buckets=CPU,
    ),
    "gossamer_store_flush_seconds": Metric(
        "Duration of store flushes with at least one write. On SQLite this excludes the commit, "
        "which store and log share.",
        buckets=STORAGE,
    ),
    "gossamer_log_append_seconds": Metric(
        "Duration of appends of at least one message to the log, until they are durable. On "
        "SQLite this excludes the commit of a step. With Faust it is the append of one record.",
        buckets=STORAGE,
    ),
    "gossamer_step_phase_seconds": Metric(
        "Duration of the phases of a service's step: read (rows that the records need), handle "
        "(the records), wake (due work without a record), settle (make state outside the store "
        "durable), advance (flush the store, append the messages, commit the offsets).",
        ("service", "phase"),
        STORAGE,
    ),
    "gossamer_step_seconds": Metric(
        "Duration of the steps of a service's loop that handled a record, flushed the store, "
        "appended a message or committed an offset, without waiting for records. With Faust it is "
        "the time from a record's arrival until all of that is acknowledged.",
        ("service",),
        STORAGE,
    ),
}

M = TypeVar("M", "Counter", "Gauge", "Histogram")
V = TypeVar("V")
L = TypeVar("L", bound=str | tuple[str, ...])
"""The values of a metric's labels, in the order of the register; a string if it has one label."""

_counters: "dict[str, Counter]" = {}
_gauges: "dict[str, Gauge]" = {}
_histograms: "dict[str, Histogram]" = {}
_shown: dict[str, dict[Any, Any]] = {}
"""Gauge → its values by labels, if they are set together."""
_creation_lock = threading.Lock()


def show_counters() -> None:
    """Create all counters, so that they are shown from 0."""
    for name in COUNTERS:
        _unlabelled_counter(name)


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Add *amount* to a registered counter. Raise KeyError for an unregistered name."""
    _counter(name, tuple(labels.items())).inc(amount)


@lru_cache(maxsize=4096)
def _counter(name: str, labels: tuple[tuple[str, str], ...]) -> "Counter":
    # Cached because prometheus_client looks labels up under a lock, which is slow for each request.
    return _with_labels(_unlabelled_counter(name), dict(labels))


def _unlabelled_counter(name: str) -> "Counter":
    return _find_or_create(_counters, "Counter", name, COUNTERS[name])


def set_gauge(name: str, value: float, **labels: str) -> None:
    """Set a registered gauge. Raise KeyError for an unregistered name."""
    _with_labels(_gauge(name), labels).set(value)


def set_gauges(name: str, values: Mapping[L, float]) -> None:
    """Set a registered gauge with labels to *values*, and remove all others. Raise KeyError for an
    unregistered name."""
    _show_all(name, values, lambda gauge, value: gauge.set(value))


def set_age_gauge(name: str, since: float | None) -> None:
    """Set a registered gauge to the age of *since*, computed at each scrape; 0 for None."""
    _set_age(_gauge(name), since)


def set_age_gauges(name: str, since: Mapping[L, float | None]) -> None:
    """Set a registered gauge with labels as `set_age_gauge` does, and remove all other values."""
    _show_all(name, since, _set_age)


def _set_age(gauge: "Gauge", since: float | None) -> None:
    gauge.set_function(lambda: 0.0 if since is None else max(0.0, clock.now() - since))


def _show_all(name: str, values: Mapping[L, V], show: "Callable[[Gauge, V], None]") -> None:
    """Call *show* for the *values* of a gauge that have changed, and remove labels without a value.
    A frontier does this in each step, for up to 200 crawls."""
    gauge, before = _gauge(name), _shown.get(name, {})
    for labels in before.keys() - values.keys():
        gauge.remove(*_as_tuple(labels))
    for labels, value in values.items():
        if labels not in before or before[labels] != value:
            show(gauge.labels(*_as_tuple(labels)), value)
    _shown[name] = dict(values)


def _as_tuple(labels: str | tuple[str, ...]) -> tuple[str, ...]:
    return (labels,) if isinstance(labels, str) else labels


def observe(name: str, value: float, **labels: str) -> None:
    """Add *value* to a registered histogram. Raise KeyError for an unregistered name."""
    _histogram(name, tuple(labels.items())).observe(value)


def _with_labels(collector: M, labels: dict[str, str]) -> M:
    return collector.labels(**labels) if labels else collector


def _gauge(name: str) -> "Gauge":
    return _find_or_create(_gauges, "Gauge", name, GAUGES[name])


@lru_cache(maxsize=4096)
def _histogram(name: str, labels: tuple[tuple[str, str], ...]) -> "Histogram":
    # Cached for the reason of `_counter`.
    histogram = _find_or_create(_histograms, "Histogram", name, HISTOGRAMS[name])
    return _with_labels(histogram, dict(labels))


def _find_or_create(created: dict[str, M], kind: str, name: str, metric: Metric) -> M:
    """Return the collector *name* of *created*; *kind* is its class in prometheus_client."""
    if name not in created:
        import prometheus_client

        buckets = {"buckets": metric.buckets} if metric.buckets else {}
        with _creation_lock:  # prometheus_client refuses a second metric of the name.
            if name not in created:
                create = getattr(prometheus_client, kind)
                created[name] = create(name, metric.help, metric.labels, **buckets)
    return created[name]
