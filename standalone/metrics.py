"""The metrics of a crawl's processes on one port of this machine, if somebody asks for it.

Each child answers its parent over a pipe with all its metrics as they are. The parent adds a label
that says whose each is and shows them beside one another: nothing is added up, so counters, gauges
and histograms stay what they are, and a child that ends or hangs is merely missing.
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
PATIENCE = 2.0
"""Seconds that a scrape waits for one child."""


def answer_scrapes(parent: Connection) -> None:
    """In a child: send all metrics whenever the parent asks, until the parent is gone."""
    show_counters()
    with suppress(EOFError, OSError):
        while True:
            parent.recv()
            parent.send(list(REGISTRY.collect()))


class Scraped:
    """The other end of a child's pipe; any thread may ask."""

    def __init__(self, child: Connection) -> None:
        self._child, self._lock = child, Lock()
        self._asked = False

    def metrics(self) -> list[Metric]:
        """Return the child's metrics; none if it has ended, or does not answer in time."""
        with self._lock, suppress(EOFError, OSError):
            # What it did not answer in time it answers yet: nothing piles up while it hangs.
            if not self._asked:
                self._child.send(None)
                self._asked = True
            if self._child.poll(PATIENCE):
                self._asked = False
                metrics: list[Metric] = self._child.recv()
                return metrics
        return []


class Process(Protocol):
    """A child, as far as this module knows one."""

    kind: str
    scraped: Scraped


class AllProcesses(Collector):
    """What all processes show, each with its name in the label `process`."""

    def __init__(self, children: Iterable[Process]) -> None:
        self._children = children

    def collect(self) -> Iterator[Metric]:
        """Yield each metric once, with the samples of all who have it."""
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
    """Answer scrapes on *port* meanwhile; raise GossamerError if it is taken. None: no port.

    *children* may still come while it answers.
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
            f"metrics cannot be shown on {ADDRESS}:{port} ({error.strerror}): name another port "
            "with --metrics-port"
        ) from error
    # A client that goes away in the middle is no news, and nothing to print into the live view.
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
