"""Liveness, readiness and metrics of a process, over real HTTP."""

import re
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from importlib.metadata import version

import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable
from gossamer.runtime import health
from gossamer.runtime.health import Health
from gossamer.settings.servers import ServiceSettings

LOOPBACK = "127.0.0.1"
ANY_PORT = ServiceSettings(address=LOOPBACK, port=0)


class HealthEndpoint:
    """A Health that listens, as a probe sees it."""

    def __init__(self) -> None:
        self.health = Health("tester", "one")
        self.port = self.health.listen(ANY_PORT)

    def get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection(LOOPBACK, self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode().strip()
        finally:
            connection.close()

    def metrics(self) -> dict[tuple[str, str], float]:
        status, text = self.get("/metrics")
        assert status == 200
        return {
            (sample.name, sample.labels.get("topic", "")): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@pytest.fixture
def endpoint() -> HealthEndpoint:
    """Return the health of a process that has just started."""
    return HealthEndpoint()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds to add to the steady clock, so that the loop counts as stuck."""
    ahead, steady = [0.0], clock.steady
    monkeypatch.setattr(clock, "steady", lambda: steady() + ahead[0])
    yield ahead


def test_limitation_keeps_process_alive(endpoint: HealthEndpoint) -> None:
    endpoint.health.report_ready()
    endpoint.health.report_limitation("its clock is wrong")
    endpoint.health.report_ready()
    assert endpoint.get("/readyz") == (503, "its clock is wrong")
    assert endpoint.get("/healthz") == (200, "ok")
    endpoint.health.report_limitation("")
    assert endpoint.get("/readyz") == (200, "ready")


def test_note_is_shown_and_logged_once(endpoint: HealthEndpoint) -> None:
    endpoint.health.report_ready()
    with capture_logs() as lines:
        for _ in range(3):
            endpoint.health.note("no crawl is defined")
    assert endpoint.get("/readyz") == (200, "ready; no crawl is defined")
    assert [(line["note"], line["log_level"]) for line in lines] == [
        ("no crawl is defined", "warning")
    ]
    endpoint.health.note("")
    assert endpoint.get("/readyz") == (200, "ready")


def test_note_with_new_figures_is_shown_and_not_logged_again(endpoint: HealthEndpoint) -> None:
    endpoint.health.report_ready()
    with capture_logs() as lines:
        for remaining in (3000, 2000, 1000):
            endpoint.health.note(f"the table is read: {remaining} records to go")
            assert endpoint.get("/readyz")[1].endswith(f"{remaining} records to go")
    assert [line["note"] for line in lines if "note" in line] == [
        "the table is read: 3000 records to go"
    ]


def test_starting_process_is_alive_and_not_ready(endpoint: HealthEndpoint) -> None:
    assert endpoint.get("/healthz")[0] == 200
    assert endpoint.get("/readyz") == (503, "starting")
    endpoint.health.report_waiting("nobody listens on kafka:9092")
    assert endpoint.get("/healthz")[0] == 200
    assert endpoint.get("/readyz") == (503, "nobody listens on kafka:9092")
    endpoint.health.report_ready()
    assert endpoint.get("/readyz") == (200, "ready")
    assert endpoint.get("/readyz?from=probe") == (200, "ready")
    endpoint.health.report_waiting("it went away")
    assert endpoint.get("/readyz") == (503, "it went away")


def test_stuck_loop_is_not_alive_until_it_reports_again(
    endpoint: HealthEndpoint, later: list[float]
) -> None:
    endpoint.health.report_ready()
    later[0] += 59.0
    assert endpoint.get("/healthz")[0] == endpoint.get("/readyz")[0] == 200
    later[0] += 1
    for path in ("/healthz", "/readyz"):
        assert endpoint.get(path) == (503, "the loop has not completed a step for 60 s")
    endpoint.health.beat()
    assert endpoint.get("/healthz")[0] == endpoint.get("/readyz")[0] == 200


def test_unknown_path_is_404(endpoint: HealthEndpoint) -> None:
    for path in ("/", "/healthzz", "/metrics/x", "/%2e%2e/etc/passwd"):
        status, text = endpoint.get(path)
        assert status == 404 and "/readyz" in text


def test_prometheus_parses_served_metrics(endpoint: HealthEndpoint) -> None:
    endpoint.health.report_ready()
    assert endpoint.metrics()["gossamer_ready", ""] == 1
    endpoint.health.report_waiting("a server")
    assert endpoint.metrics()["gossamer_ready", ""] == 0
    build = f'version="{version("gossamer")}"'
    _, text = endpoint.get("/metrics")
    builds = [line for line in text.splitlines() if line.startswith("gossamer_build_info{")]
    # All tests of a process share the registry, so other services may be in it.
    (line,) = [line for line in builds if 'service="tester"' in line]
    assert build in line and 'instance="one"' in line


def test_lag_is_queried_at_each_scrape(endpoint: HealthEndpoint, later: list[float]) -> None:
    endpoint.health.report_ready()
    lags, questions = {"seeds": 3, "urls.discovered": 0}, []

    def ask() -> dict[str, int]:
        questions.append(1)
        return lags

    endpoint.health.watch(ask)
    shown = endpoint.metrics()
    assert shown["gossamer_consumer_lag", "seeds"] == 3
    assert shown["gossamer_consumer_lag", "urls.discovered"] == 0
    endpoint.metrics()
    assert len(questions) == 1, "frequent scrapes do not burden the brokers"
    lags = {"seeds": 5}
    later[0] += 10
    shown = endpoint.metrics()
    assert shown["gossamer_consumer_lag", "seeds"] == 5
    assert ("gossamer_consumer_lag", "urls.discovered") not in shown


def test_failing_lag_query_does_not_delay_probes(
    endpoint: HealthEndpoint, later: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LAG_TIMEOUT", 0.05)
    monkeypatch.setattr(health, "LAG_CACHE_SECONDS", 0.0)
    hung, answers = threading.Event(), {"seeds": 4}
    failing = True

    def ask() -> dict[str, int]:
        if failing:
            raise Unavailable("no broker")
        hung.wait()
        return answers

    endpoint.health.report_ready()
    endpoint.health.watch(ask)
    assert ("gossamer_consumer_lag", "seeds") not in endpoint.metrics()
    assert endpoint.get("/readyz") == (503, "no broker")
    assert endpoint.get("/healthz") == (200, "ok")
    failing = False
    for _ in range(3):
        shown = endpoint.metrics()
        assert ("gossamer_consumer_lag", "seeds") not in shown
        assert ("gossamer_ready", "") in shown
    assert endpoint.get("/readyz") == (503, "no broker"), "until they answer"
    later[0] += 20
    status, why = endpoint.get("/readyz")
    assert status == 503 and re.fullmatch(r"the servers have not answered for \d+ s", why)
    assert sum(thread.name == "asking" for thread in threading.enumerate()) == 1
    hung.set()
    monkeypatch.setattr(health, "LAG_TIMEOUT", 30.0)
    assert endpoint.metrics()["gossamer_consumer_lag", "seeds"] == 4
    assert endpoint.get("/readyz") == (200, "ready")


def test_port_in_use_raises_error(endpoint: HealthEndpoint) -> None:
    with pytest.raises(GossamerError, match=rf"{LOOPBACK}:{endpoint.port} .*service.port"):
        Health("tester", "two").listen(ServiceSettings(address=LOOPBACK, port=endpoint.port))


def test_silent_clients_do_not_block_probes(
    endpoint: HealthEndpoint, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection((LOOPBACK, endpoint.port)) as silent:
        with socket.create_connection((LOOPBACK, endpoint.port)) as rude:
            rude.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert endpoint.get("/healthz")[0] == 200
        silent.sendall(b"\x16\x03\x01 not HTTP\r\n\r\n")
        assert endpoint.get("/healthz")[0] == 200
    assert capfd.readouterr().err == ""


def test_readiness_probe_detects_unavailable_servers(
    endpoint: HealthEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> dict[str, int]:
        raise Unavailable("no broker")

    monkeypatch.setattr(health, "LAG_TIMEOUT", 60.0)
    endpoint.health.report_ready()
    endpoint.health.watch(ask)
    assert endpoint.get("/readyz") == (503, "no broker"), "an idle loop does not notice it"


def test_service_waiting_for_upgrade_is_alive_and_not_ready(endpoint: HealthEndpoint) -> None:
    endpoint.health.report_outdated("upgrade this service")
    endpoint.health.report_ready()
    assert endpoint.get("/readyz") == (503, "upgrade this service")
    assert endpoint.get("/healthz") == (200, "ok")
    endpoint.health.report_outdated("")
    assert endpoint.get("/readyz") == (200, "ready")
