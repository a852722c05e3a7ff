"""One endpoint for several real processes, also if one is killed or hangs."""

import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.errors import GossamerError
from gossamer.standalone import metrics
from gossamer.standalone.metrics import ADDRESS, ChildMetrics, answer_scrapes, serve_metrics
from gossamer.telemetry import count, observe, set_gauge

spawn = get_context("spawn")
Samples = dict[tuple[str, str], float]


def work(scraped: Connection, amount: int) -> None:
    """Count, and answer scrapes, in a process of its own."""
    count("gossamer_received_bytes_total", amount, crawl="default")
    set_gauge("gossamer_fetches_open", amount)
    for _ in range(amount):
        observe("gossamer_fetch_seconds", 0.02)
    answer_scrapes(scraped)


@dataclass
class Child:
    """A process that has counted to *amount*."""

    kind: str
    amount: int

    def __post_init__(self) -> None:
        ours, theirs = spawn.Pipe()
        self.scraped = ChildMetrics(ours)
        self.process: BaseProcess = spawn.Process(
            target=work, args=(theirs, self.amount), daemon=True
        )
        self.process.start()
        theirs.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        found: int = probe.getsockname()[1]
        return found


def scrape(port: int) -> Samples:
    """Return (name, process) → sample."""
    connection = HTTPConnection(ADDRESS, port, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.labels.get("le", "+Inf") == "+Inf":
                at = sample.name, sample.labels["process"]
                assert at not in found or len(sample.labels) > 1, at
                found[at] = sample.value
    return found


@pytest.fixture
def children() -> Iterator[list[Child]]:
    """Two children; the second has the larger count."""
    started = [Child("one", 3), Child("two", 5)]
    yield started
    for child in started:
        child.kill()


@pytest.fixture
def endpoint(children: list[Child], monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a parent that waits until the children have started."""
    monkeypatch.setattr(metrics, "CHILD_TIMEOUT", 60.0)
    with serve_metrics(port := free_port(), children):
        yield port


def assert_counted(samples: Samples, process: str, amount: int) -> None:
    assert samples["gossamer_received_bytes_total", process] == amount
    assert samples["gossamer_fetches_open", process] == amount
    assert samples["gossamer_fetch_seconds_count", process] == amount
    assert samples["gossamer_fetch_seconds_bucket", process] == amount
    assert samples["gossamer_fetch_seconds_sum", process] == pytest.approx(amount * 0.02)


@pytest.mark.slow
def test_endpoint_has_the_metrics_of_each_process(endpoint: int) -> None:
    for _ in range(2):
        samples = scrape(endpoint)
        assert_counted(samples, "one", 3)
        assert_counted(samples, "two", 5)
        assert ("gossamer_leases_expired_total", "parent") in samples
        assert samples["process_start_time_seconds", "one"] > 0


@pytest.mark.slow
def test_killed_process_is_missing_and_its_successor_present(
    endpoint: int, children: list[Child]
) -> None:
    assert_counted(scrape(endpoint), "two", 5)
    children[1].kill()
    samples = scrape(endpoint)
    assert_counted(samples, "one", 3)
    assert not [name for name, process in samples if process == "two"]
    children[1] = Child("two", 2)
    samples = scrape(endpoint)
    assert_counted(samples, "one", 3)
    assert_counted(samples, "two", 2)


@pytest.mark.slow
def test_hanging_process_does_not_block_a_scrape(
    endpoint: int, children: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_counted(scrape(endpoint), "two", 5)
    pid = children[1].process.pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    monkeypatch.setattr(metrics, "CHILD_TIMEOUT", 0.05)
    for _ in range(3):
        assert not [name for name, process in scrape(endpoint) if process == "two"]
    monkeypatch.setattr(metrics, "CHILD_TIMEOUT", 60.0)
    os.kill(pid, signal.SIGCONT)
    for _ in range(2):
        samples = scrape(endpoint)
        assert_counted(samples, "one", 3)
        assert_counted(samples, "two", 5)


def test_no_port_is_opened_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(metrics, "start_http_server")
    with serve_metrics(None, ()):
        pass


@pytest.mark.slow
def test_used_port_is_reported_and_a_closed_one_is_free() -> None:
    port = free_port()
    with (
        serve_metrics(port, ()),
        pytest.raises(GossamerError, match=rf"{ADDRESS}:{port} .*--metrics-port"),
        serve_metrics(port, ()),
    ):
        pass
    with serve_metrics(port, ()):
        assert ("gossamer_leases_expired_total", "parent") in scrape(port)
