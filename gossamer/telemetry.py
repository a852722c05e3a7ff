"""Logs and metrics.

Every metric is registered here with a sentence; one that is not raises where it is counted, so
that no name exists that an operator cannot look up.
"""

import logging
import re
import sys
from collections.abc import Mapping
from contextlib import suppress

import structlog
from prometheus_client import Counter, Gauge

from gossamer import clock

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
GAUGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "gossamer_hosts_loaded": ("Hosts that the frontier holds in memory.", ()),
    "gossamer_fetches_open": ("Orders under way in the fetcher.", ()),
    "gossamer_partitions": ("Partitions that this instance was given by its group.", ()),
    "gossamer_consumer_lag": (
        "Records that the service's group has not moved past, by topic; none if unknown.",
        ("topic",),
    ),
    "gossamer_ready": ("Whether the process does its work (1) or waits (0).", ()),
    "gossamer_build_info": (
        "Always 1; the labels say what runs here.",
        ("version", "service", "instance"),
    ),
}

_counters = {name: Counter(name, text, labels) for name, (text, labels) in COUNTERS.items()}
_gauges = {name: Gauge(name, text, labels) for name, (text, labels) in GAUGES.items()}


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Add *amount* to a registered counter; KeyError if the name is not registered."""
    counter = _counters[name]
    (counter.labels(**labels) if labels else counter).inc(amount)


def gauge(name: str, value: float, **labels: str) -> None:
    """Set a registered gauge; KeyError if the name is not registered."""
    found = _gauges[name]
    (found.labels(**labels) if labels else found).set(value)


def gauges(name: str, label: str, values: Mapping[str, float]) -> None:
    """Set all there is of a registered gauge with one *label*: what is not named is no more."""
    _gauges[name].clear()
    for value, number in values.items():
        gauge(name, number, **{label: value})


def configure_logs(as_json: bool, level: str = "info", **always: str) -> None:
    """Send logs to standard error, as JSON lines or for a person to read, with *always* in each.

    What libraries warn of goes the same way.
    """
    structlog.configure(
        processors=[
            lambda logger, method, event: {**always, **event},
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_AS_JSON if as_json else [_for_a_person()]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=lambda *_: _Lines(sys.stderr),
    )
    root = logging.getLogger()
    others = [handler for handler in root.handlers if not isinstance(handler, _FromLibraries)]
    root.handlers = [*others, _FromLibraries()]


REPEATED = 10.0
"""Seconds for which a library's words are not repeated."""
MOST = 1000
_NUMBER = re.compile(r"\d+")
_AS_JSON = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _for_a_person() -> structlog.types.Processor:
    return structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(),
        # The default shows every local variable too: whole pages of the Web.
        exception_formatter=structlog.dev.plain_traceback,
    )


class _Lines(structlog.WriteLogger):
    """Writes a line at once, for several processes share a stream.

    That nobody takes what is said is no reason to stop working, or to say that work failed.
    """

    def msg(self, message: str) -> None:
        """Write it if that can be done."""
        with suppress(OSError, ValueError):
            super().msg(message)

    debug = info = warning = error = critical = msg


class _FromLibraries(logging.Handler):
    """Passes on what was said with the standard library's logging.

    A client that has lost its server says so many times a second: what differs in numbers only is
    passed on once in a while.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said_at: dict[tuple[str, str], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Say it with ours."""
        text, now = record.getMessage(), clock.steady()
        like = record.name, _NUMBER.sub("", text)
        if now - self._said_at.get(like, float("-inf")) < REPEATED:
            return
        if len(self._said_at) > MOST:
            self._said_at.clear()
        self._said_at[like] = now
        said = {"logger": record.name, "exc_info": record.exc_info or None}
        structlog.get_logger().log(record.levelno, text, **said)
