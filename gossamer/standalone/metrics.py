"""The metrics of all processes of a crawl on one port of this machine, if requested.

Each child sends its metrics to the parent over a pipe. The parent adds the label `process` and
serves them side by side. Nothing is summed, so counters, gauges and histograms keep their meaning,
and the metrics of a child that has ended or hangs are missing.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Protocol

from prometheus_client import REGISTRY, CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gossamer.errors import GossamerError
from gossamer.telemetry import show_counters

ADDRESS = "127.0.0.1"
CHILD_TIMEOUT = 2.0
"""Seconds for which a scrape waits for one child."""


def answer_scrapes(parent: Connection) -> None:
    """In a child: send all metrics at each request of the parent, until the parent exits."""
    show_counters()
    with suppress(EOFError, OSError):
        while True:
            parent.recv()
            parent.send(list(REGISTRY.collect()))


class ChildMetrics:
    """The parent's end of the pipe to a child; any thread may read from it."""

    def __init__(self, child: Connection) -> None:
        self._child, self._lock = child, Lock()
        self._is_requested = False

    def metrics(self) -> list[Metric]:
        """Return the child's metrics; empty if it has ended or does not answer in time."""
        with self._lock, suppress(EOFError, OSError):
            # A late answer is read by the next scrape, so requests do not pile up while it hangs.
            if not self._is_requested:
                self._child.send(None)
                self._is_requested = True
            if self._child.poll(CHILD_TIMEOUT):
                self._is_requested = False
                metrics: list[Metric] = self._child.recv()
                return metrics
        return []


class Process(Protocol):
    """The part of a child process that this module uses."""

    kind: str
    scraped: ChildMetrics


class AllProcesses(Collector):
    """The metrics of all processes, with the name of each in the label `process`."""

    def __init__(self, children: Iterable[Process]) -> None:
        self._children = children

    def collect(self) -> Iterator[Metric]:
        """Yield each metric once, with the samples of all processes."""
        merged: dict[str, Metric] = {}
        for process, metrics in self._by_process():
            for metric in metrics:
                empty = Metric(metric.name, metric.documentation, metric.type)
                merged.setdefault(metric.name, empty).samples += [
                    sample._replace(labels={**sample.labels, "process": process})
                    for sample in metric.samples
                ]
        yield from merged.values()

    def _by_process(self) -> Iterator[tuple[str, Iterable[Metric]]]:
        yield "parent", REGISTRY.collect()
        for child in list(self._children):
            yield child.kind, child.scraped.metrics()


@contextmanager
def serve_metrics(port: int | None, children: Iterable[Process]) -> Iterator[None]:
    """Serve metrics on *port* during the block, unless it is None; raise GossamerError if the port
    is in use.

    *children* may be added during the block.
    """
    if port is None:
        yield
        return
    show_counters()
    registry = CollectorRegistry()
    registry.register(AllProcesses(children))
    try:
        server, thread = start_http_server(port, ADDRESS, registry)
    except OSError as error:
        raise GossamerError(
            f"metrics cannot be served on {ADDRESS}:{port} ({error.strerror}): name another port "
            "with --metrics-port"
        ) from error
    # A client that disconnects is not an error to print into the live view.
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
