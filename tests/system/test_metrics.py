"""The metrics of an embedded crawl agree with the requests at its servers."""

import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.servers import free_ports
from tests.support.waiting import HANG_TIMEOUT, until
from tests.synthweb import SynthWeb, World, measure
from tests.synthweb.record import Request

from .assertions import CLOCKS, page_answers
from .crawl import Crawl

WORLD = World.plain(seed=4, hosts=4, pages=12)
"""Each host has waiting pages for half a minute."""

DELAY = 3.0
"""Between two rounds of requests, all records are consumed."""


Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(port: int) -> Samples:
    """Return all samples as Prometheus reads them; none while nobody listens."""
    connection = HTTPConnection("127.0.0.1", port, timeout=HANG_TIMEOUT)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    except ConnectionError:
        return {}
    finally:
        connection.close()
    families = text_string_to_metric_families(text)
    samples = [sample for family in families for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples), "no sample is there twice"
    return found


class Watched:
    """A running crawl at a time without requests."""

    def __init__(self, web: SynthWeb, port: int) -> None:
        self._web, self._port = web, port
        self._samples: Samples = {}
        self.requests: list[Request] = []
        """The requests that the server had received at that time."""

    def value(self, name: str, **labels: str) -> float:
        """Return the value at that time; -1 if there was none."""
        return self._samples.get((f"gossamer_{name}", frozenset(labels.items())), -1.0)

    def agrees(self) -> bool:
        """Scrape again; return whether the counts of requests, lookups and pages agree with the
        server.

        Values that services tally once a second are up to date: URLs wait, and there is no lag.
        """
        before, self.requests = self._server_counts(), self._web.requests()
        self._samples = scrape(self._port)
        counted = (
            self.value("fetch_seconds_count", process="fetcher"),
            self.value("dns_seconds_count", process="fetcher"),
            self.value("parse_seconds_count", process="parser"),
        )
        tallied = (
            self.value("smallest_gap_ratio", process="fetcher") >= 0,
            self.value("urls_queued", process="processors", crawl="default") > 0,
            self.value("consumer_lag", process="parent", topic="pages.fetched") >= 0,
        )
        return counted == before == self._server_counts() and all(tallied)

    def _server_counts(self) -> tuple[int, int, int]:
        return len(self._web.requests()), len(self._web.lookups()), len(page_answers(self._web))


@pytest.mark.slow
def test_metrics_of_a_running_crawl_agree_with_the_servers(tmp_path: Path) -> None:
    with SynthWeb(WORLD) as web:
        crawl, port = Crawl(web, tmp_path / "data", DELAY), free_ports(1)
        with crawl.start("--metrics-port", str(port)) as under_way:
            watched = Watched(web, port)
            until(watched.agrees, "the figures of the servers")
            gaps = measure.shortest_gaps(watched.requests).values()
            shortest = min(gap.start_to_start for gap in gaps)
            ratio = watched.value("smallest_gap_ratio", process="fetcher")
            assert 1.0 <= ratio <= (shortest + CLOCKS) / DELAY
            hosts = [
                watched.value("hosts", process="processors", condition=condition)
                for condition in ("idle", "ready", "delayed", "checked out", "backing off")
            ]
            assert sum(hosts) >= len(gaps) and min(hosts) >= 0
            for service, process in (("frontier", "processors"), ("fetcher", "fetcher")):
                assert watched.value("step_seconds_count", service=service, process=process) > 0
            under_way.interrupt()
            assert under_way.wait().code == 130
        assert not scrape(port), "the port is closed"


@pytest.mark.long
def test_used_metrics_port_is_refused_before_any_file_is_created(tmp_path: Path) -> None:
    with socket.socket() as occupied, SynthWeb(World.plain(hosts=1, pages=1)) as web:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        port = occupied.getsockname()[1]
        crawl = Crawl(web, tmp_path / "data")
        done = crawl.run("--metrics-port", str(port))
        assert (done.code, done.out) == (1, "")
        assert f"127.0.0.1:{port}" in done.err and "--metrics-port" in done.err
        assert not crawl.data.exists()
