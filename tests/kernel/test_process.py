"""A process of a fleet: how it begins, waits, loses its servers and finds them, and ends.

It is a process of its own whose servers are a folder (`played.py`): what is tested is what stands
around them, and both kinds of loop.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from tests.kernel.machines import events

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
pytestmark = pytest.mark.slow
FLEET = {
    "GOSSAMER_KAFKA__SERVERS": "kafka:9092",
    "GOSSAMER_CASSANDRA__HOSTS": '["cassandra"]',
    "GOSSAMER_SERVICE__INSTANCE": "one",
    "GOSSAMER_SERVICE__ADDRESS": "127.0.0.1",
    "GOSSAMER_SERVICE__PORT": "0",
}


def until(happened: Callable[[], object], what: str) -> None:
    latest = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < latest, f"never came: {what}"
        time.sleep(0.02)


class Played:
    """One process, and what it says."""

    def __init__(self, folder: Path, kind: str, **environment: str) -> None:
        self.folder = folder
        self._said = folder / "said"
        own = {name: it for name, it in os.environ.items() if not name.startswith("GOSSAMER_")}
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.kernel.played", str(folder), kind],
                cwd=ROOT,
                stderr=said,
                env={**own, **FLEET, **environment},
            )

    def said(self) -> str:
        return self._said.read_text()

    def lines(self, event: str) -> list[dict[str, Any]]:
        """What it logged under that name, up to the last whole line."""
        whole = self.said().rpartition("\n")[0].splitlines()
        return [line for line in map(json.loads, whole) if line["event"] == event]

    def get(self, path: str) -> tuple[int, str]:
        until(lambda: self.lines("started") or self.process.poll() is not None, "a port")
        port = self.lines("started")[0]["port"]
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with suppress(ConnectionError):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode().strip()
        return 0, ""

    def await_ready(self, status: int = 200, why: str = "ready") -> None:
        until(lambda: self.get("/readyz") == (status, why), f"{status} {why}: {self.said()}")

    def servers(self, answer: str) -> None:
        """From now on they answer so."""
        (self.folder / answer).touch()

    def wait(self) -> int:
        return self.process.wait(PATIENCE)


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., Played]]:
    """Start processes that are gone at the end."""
    started: list[Played] = []

    def start(kind: str = "machine", **environment: str) -> Played:
        started.append(Played(tmp_path, kind, **environment))
        return started[-1]

    yield start
    for played in started:
        played.process.kill()
        played.process.wait()


@pytest.mark.parametrize("kind", ["machine", "job"])
def test_it_works_and_ends_when_told(
    play: Callable[..., Played], tmp_path: Path, kind: str
) -> None:
    played = play(kind)
    played.await_ready()
    database = Database(tmp_path / "fleet.db")
    log = SqliteLog(database)
    log.append([Message("seeds", "k", b"http://a.example/", "k")])
    until(lambda: len(events(log, "urls.discovered")) == 1, "an answer")
    status, metrics = played.get("/metrics")
    assert status == 200 and "gossamer_partitions 4.0" in metrics
    assert 'gossamer_consumer_lag{topic="seeds"} 0.0' in metrics
    played.process.send_signal(signal.SIGTERM)
    assert played.wait() == 0
    assert played.lines("stopped")
    assert {line["service"] for line in played.lines("started")} == {"played"}
    assert {line["instance"] for line in played.lines("started")} == {"one"}
    database.close()


def test_ctrl_c_is_as_good(play: Callable[..., Played]) -> None:
    played = play("job")
    played.await_ready()
    played.process.send_signal(signal.SIGINT)
    assert played.wait() == 0


@pytest.mark.parametrize("kind", ["machine", "job"])
def test_servers_that_are_absent_are_waited_for(play: Callable[..., Played], kind: str) -> None:
    played = play(kind)
    played.await_ready()
    why = "nobody answers at kafka:9092"
    for _ in range(2):
        played.servers("absent")
        played.await_ready(503, why)
        assert played.get("/healthz") == (200, "ok"), "no reason to restart it"
        (played.folder / "absent").unlink()
        played.await_ready()
    assert {line["why"] for line in played.lines("waiting")} == {why}
    played.servers("absent")
    played.await_ready(503, why)
    played.process.send_signal(signal.SIGTERM)
    assert played.wait() == 0, "also while it waits"


def test_they_may_be_absent_from_the_beginning(play: Callable[..., Played], tmp_path: Path) -> None:
    (tmp_path / "absent").touch()
    played = play()
    until(lambda: len(played.lines("waiting")) > 3, "patience")
    waits = [line["seconds"] for line in played.lines("waiting")]
    assert waits[:4] == sorted(waits[:4]) and waits[0] < 1
    assert played.get("/readyz")[0] == 503
    (tmp_path / "absent").unlink()
    played.await_ready()


@pytest.mark.parametrize(("answer", "status"), [("refused", 1), ("bad", 2)])
@pytest.mark.parametrize("when", ["at once", "later"])
def test_what_waiting_does_not_mend_ends_it(
    play: Callable[..., Played], tmp_path: Path, answer: str, status: int, when: str
) -> None:
    if when == "at once":
        (tmp_path / answer).touch()
    played = play()
    if when == "later":
        played.await_ready()
        played.servers(answer)
    assert played.wait() == status
    (said,) = played.lines("cannot go on")
    assert said["level"] == "error" and "Traceback" not in played.said()
    assert said["why"] in ("the password is wrong", "settings: there is no such keyspace")


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
def test_settings_that_make_no_sense_are_named(
    play: Callable[..., Played], environment: dict[str, str], named: str
) -> None:
    played = play(**environment)
    assert played.wait() == 2
    assert named in played.said() and "Traceback" not in played.said()


def test_a_settings_file_is_named_by_the_environment(
    play: Callable[..., Played], tmp_path: Path
) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text('[logs]\nlevel = "error"\n[service]\ninstance = "file"\n')
    played = play(GOSSAMER_CONFIG=str(file))
    (tmp_path / "refused").touch()
    assert played.wait() == 1
    (line,) = map(json.loads, played.said().splitlines())
    assert (line["level"], line["instance"]) == ("error", "one"), "the environment wins"


def test_what_libraries_warn_of_is_logged_alike(
    play: Callable[..., Played], tmp_path: Path
) -> None:
    played = play("chatty")
    assert played.wait() == 0
    (line,) = played.lines("a library has something to say")
    assert line["level"] == "warning" and line["logger"] == "asyncio"
    assert line["service"] == "played"
    assert len(played.lines("cannot connect, for the 0th time")) == 1
    assert "1th time" not in played.said(), "who has lost a server says so very often"
