"""A process of a fleet: its start, its waits, outages of its servers, and its stop.

It is a real process whose servers are a folder (`fleet_process.py`). The tests cover the code
around the servers, and both kinds of loop.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from tests.runtime.processors import events
from tests.support.commands import clean_environment
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
PROCESS_TIMEOUT = 60.0
UNAVAILABLE = "log or store unavailable: starting again"
pytestmark = pytest.mark.slow
FLEET = {
    "GOSSAMER_KAFKA__SERVERS": "kafka:9092",
    "GOSSAMER_CASSANDRA__HOSTS": '["cassandra"]',
    "GOSSAMER_SERVICE__INSTANCE": "one",
    "GOSSAMER_SERVICE__ADDRESS": "127.0.0.1",
    "GOSSAMER_SERVICE__PORT": "0",
}


class FleetProcess:
    """A process and its log lines."""

    def __init__(self, folder: Path, kind: str, **environment: str) -> None:
        self.folder = folder
        self._stderr = folder / "stderr"
        with self._stderr.open("wb") as stderr:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "tests.runtime.fleet_process", str(folder), kind],
                cwd=ROOT,
                stderr=stderr,
                env=clean_environment(**{**FLEET, **environment}),
            )

    def stderr(self) -> str:
        return self._stderr.read_text()

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return the log lines of *event*, up to the last whole line."""
        whole = self.stderr().rpartition("\n")[0].splitlines()
        return [line for line in map(json.loads, whole) if line["event"] == event]

    def get(self, path: str) -> tuple[int, str]:
        until(lambda: self.lines("service started") or self.popen.poll() is not None, "a port")
        port = self.lines("service started")[0]["port"]
        connection = HTTPConnection("127.0.0.1", port, timeout=PROCESS_TIMEOUT)
        with suppress(ConnectionError):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode().strip()
        return 0, ""

    def await_ready(self, status: int = 200, why: str = "ready") -> None:
        until(lambda: self.get("/readyz") == (status, why), f"{status} {why}: {self.stderr()}")

    def servers(self, answer: str) -> None:
        """Set the answer of the servers."""
        (self.folder / answer).touch()

    def wait(self) -> int:
        return self.popen.wait(PROCESS_TIMEOUT)


Start = Callable[..., FleetProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start processes, and kill them at the end."""
    started: list[FleetProcess] = []

    def start(kind: str = "sequential", **environment: str) -> FleetProcess:
        started.append(FleetProcess(tmp_path, kind, **environment))
        return started[-1]

    yield start
    for process in started:
        process.popen.kill()
        process.popen.wait()


@pytest.mark.parametrize("kind", ["sequential", "concurrent"])
def test_process_works_and_stops_at_sigterm(start: Start, tmp_path: Path, kind: str) -> None:
    process = start(kind)
    process.await_ready()
    database = Database(tmp_path / "fleet.db")
    log = SqliteLog(database)
    log.append([Message("seeds", "k", b"http://a.example/", "k")])
    until(lambda: len(events(log, "urls.discovered")) == 1, "an answer")
    status, metrics = process.get("/metrics")
    assert status == 200 and "gossamer_partitions 4.0" in metrics
    assert 'gossamer_consumer_lag{topic="seeds"} 0.0' in metrics
    process.popen.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    said = [json.loads(line)["event"] for line in process.stderr().splitlines()]
    assert said == [
        "service started",
        "service ready",
        "partitions assigned by a rebalance",
        "service stopped",
    ], "and no line for the event"
    assert {line["service"] for line in process.lines("service started")} == {"test"}
    assert {line["instance"] for line in process.lines("service started")} == {"one"}
    database.close()


def test_process_stops_at_sigint(start: Start) -> None:
    process = start("concurrent")
    process.await_ready()
    process.popen.send_signal(signal.SIGINT)
    assert process.wait() == 0


@pytest.mark.parametrize("kind", ["sequential", "concurrent"])
def test_process_waits_for_unavailable_servers(start: Start, kind: str) -> None:
    process = start(kind)
    process.await_ready()
    why = "nobody answers at kafka:9092"
    for _ in range(2):
        process.servers("absent")
        process.await_ready(503, why)
        assert process.get("/healthz") == (200, "ok"), "no reason to restart it"
        (process.folder / "absent").unlink()
        process.await_ready()
    assert {line["reason"] for line in process.lines(UNAVAILABLE)} == {why}
    assert len(process.lines("service ready")) == 3
    process.servers("absent")
    process.await_ready(503, why)
    process.popen.send_signal(signal.SIGTERM)
    assert process.wait() == 0, "also while it waits"


def test_process_waits_for_servers_at_startup(start: Start, tmp_path: Path) -> None:
    (tmp_path / "absent").touch()
    process = start()
    until(lambda: len(process.lines(UNAVAILABLE)) > 3, "patience")
    waits = [line["seconds"] for line in process.lines(UNAVAILABLE)]
    assert waits[:4] == sorted(waits[:4]) and waits[0] < 1
    assert process.get("/readyz")[0] == 503
    (tmp_path / "absent").unlink()
    process.await_ready()


@pytest.mark.parametrize(("answer", "status"), [("refused", 1), ("bad", 2)])
@pytest.mark.parametrize("when", ["at once", pytest.param("later", marks=pytest.mark.long)])
def test_permanent_error_ends_the_process(
    start: Start, tmp_path: Path, answer: str, status: int, when: str
) -> None:
    if when == "at once":
        (tmp_path / answer).touch()
    process = start()
    if when == "later":
        process.await_ready()
        process.servers(answer)
    assert process.wait() == status
    (said,) = process.lines("service ends after a failure")
    assert said["level"] == "error" and "Traceback" not in process.stderr()
    assert said["reason"] in ("the password is wrong", "settings: there is no such keyspace")


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"GOSSAMER_KAFKA__SERVERS": ""}, "kafka.servers is empty"),
        ({"GOSSAMER_CASSANDRA__HOSTS": "[]"}, "cassandra.hosts is empty"),
        ({"GOSSAMER_KAFKA__SESSION": "1"}, "kafka.session"),
        ({"GOSSAMER_KAFKA__SERVER": "x"}, "GOSSAMER_KAFKA__SERVER"),
        ({"GOSSAMER_CONFIG": "/no/such/file.toml"}, "/no/such/file.toml"),
    ],
)
def test_invalid_settings_end_the_process_with_their_name(
    start: Start, environment: dict[str, str], named: str
) -> None:
    process = start(**environment)
    assert process.wait() == 2
    assert named in process.stderr() and "Traceback" not in process.stderr()


def test_environment_names_the_settings_file_of_a_process(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text('[logs]\nlevel = "error"\n[service]\ninstance = "file"\n')
    process = start(GOSSAMER_CONFIG=str(file))
    (tmp_path / "refused").touch()
    assert process.wait() == 1
    (line,) = map(json.loads, process.stderr().splitlines())
    assert (line["level"], line["instance"]) == ("error", "one"), "the environment wins"


def test_warnings_of_libraries_are_logged_as_json(start: Start, tmp_path: Path) -> None:
    process = start("chatty")
    assert process.wait() == 0
    (line,) = process.lines("a library has something to say")
    assert line["level"] == "warning" and line["logger"] == "asyncio"
    assert line["service"] == "test"
    assert len(process.lines("cannot connect, for the 0th time")) == 1
    assert "1th time" not in process.stderr(), "repeated messages are logged rarely"
