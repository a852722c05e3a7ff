"""Logs and metrics.

Every metric is registered here with a sentence; one that is not raises where it is counted, so
that no name exists that an operator cannot look up.
"""

import logging
import sys

import structlog
from prometheus_client import Counter, Gauge

COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "gossamer_dead_letters_total": (
        "Records that could not be read or processed, by the service that met them.",
        ("service",),
    ),
    "gossamer_hazards_total": (
        "How often each hazard of the Web was met, by its name in the catalogue.",
        ("hazard",),
    ),
    "gossamer_outcomes_total": ("Visits that ended, by how they ended.", ("outcome",)),
    "gossamer_received_bytes_total": ("Bytes of bodies received, as sent by the servers.", ()),
    "gossamer_verdicts_total": ("Pages judged, by verdict.", ("verdict",)),
    "gossamer_urls_admitted_total": ("URLs that the URL-seen test had never met.", ()),
    "gossamer_urls_refused_total": (
        "Admitted URLs that the frontier does not queue, by the rule that says so.",
        ("rule",),
    ),
    "gossamer_orders_total": ("Hosts checked out to a fetcher.", ()),
    "gossamer_leases_expired_total": ("Orders that no fetcher answered in time.", ()),
    "gossamer_archived_bytes_total": ("Bytes written to WARC files.", ()),
    "gossamer_parser_replaced_total": ("Parser processes that died or were stopped.", ()),
}
GAUGES: dict[str, str] = {
    "gossamer_hosts_loaded": "Hosts that the frontier holds in memory.",
    "gossamer_fetches_open": "Orders under way in the fetcher.",
}

_counters = {name: Counter(name, text, labels) for name, (text, labels) in COUNTERS.items()}
_gauges = {name: Gauge(name, text) for name, text in GAUGES.items()}


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Add *amount* to a registered counter; KeyError if the name is not registered."""
    counter = _counters[name]
    (counter.labels(**labels) if labels else counter).inc(amount)


def gauge(name: str, value: float) -> None:
    """Set a registered gauge; KeyError if the name is not registered."""
    _gauges[name].set(value)


def configure_logs(as_json: bool, level: str = "info") -> None:
    """Send logs to standard error, as JSON lines or for a person to read."""
    render: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            # The default shows every local variable too: whole pages of the Web.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if as_json:
        processors.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*processors, render],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
